// SPDX-License-Identifier: Apache-2.0
#include "port/port.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "packet/burst.hpp"
#include "port/buffer_pool.hpp"
#include "port/eal.hpp"

namespace natxy {
namespace {

constexpr int kTimes = 40;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr long kMebibyte = 1 << 20;

class Ports : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const Eal eal([] {
      EalOptions options;
      options.worker_cores = {0};
      return options;
    }());
  }

  void open(const std::string& left, const std::string& right) {
    for (const auto& [side, device] : {std::pair{Side::left, left}, std::pair{Side::right, right}}) {
      PortOptions options;
      options.side = side;
      options.device = device;
      options.medium = Medium::loop;
      ports.push_back(std::make_unique<Port>(options));
    }
  }

  std::vector<std::unique_ptr<Port>> ports;
};

/// Returns the physical memory of this process in bytes.
long resident() {
  long all = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(Ports, TakeNoMoreMemoryWhenTheyAreOpenedAgain) {
  open("net_null0", "net_null1");
  const long before = resident();
  for (int i = 0; i < kTimes; ++i) {
    ports.clear();
    open("net_null0", "net_null1");
  }
  // The buffers of one port take 37 MiB. AddressSanitizer keeps a few MiB of what was freed.
  EXPECT_LT(resident() - before, 16 * kMebibyte);
}

TEST_F(Ports, MayBeTheTwoEndsOfAMemifAndBeOpenedAgain) {
  std::string folder = std::filesystem::temp_directory_path() / "natxy-port-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string socket = ",id=0,socket=" + folder + "/memif.sock,socket-abstract=no";
  for (int i = 0; i < kTimes; ++i) {
    open("net_memif0,role=server" + socket, "net_memif1,role=client" + socket);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!(ports[0]->link_up() && ports[1]->link_up()) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(ports[0]->link_up() && ports[1]->link_up());
    ports.clear();
  }
  std::filesystem::remove_all(folder);
}

/// Returns whether a buffer is as DPDK keeps it in a pool.
bool is_fresh(const rte_mbuf* buffer) {
  return rte_mbuf_refcnt_read(buffer) == 1 && buffer->nb_segs == 1 && buffer->next == nullptr &&
         (buffer->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0;
}

TEST_F(Ports, AllocateBuffersWhoseFramesBeginWhereDpdkSays) {
  open("net_null0", "net_null1");
  for (int round = 0; round < 3; ++round) {
    std::array<rte_mbuf*, kBurst> buffers{};
    ASSERT_TRUE(ports.front()->allocate(buffers, 60));
    for (rte_mbuf* buffer : buffers) {
      EXPECT_EQ(Port::frame_of(buffer), rte_pktmbuf_mtod(buffer, std::uint8_t*));
      // As a port with a VLAN returns it.
      rte_pktmbuf_prepend(buffer, kVlanTagBytes);
    }
    rte_pktmbuf_free_bulk(buffers.data(), kBurst);
  }
}

TEST_F(Ports, GetBackBuffersOfAnyKind) {
  constexpr unsigned kBuffers = 512;
  std::array<rte_mempool*, 2> pools{};
  for (std::size_t i = 0; i < pools.size(); ++i) {
    pools.at(i) = create_buffer_pool("back" + std::to_string(i), kBuffers, 2048, SOCKET_ID_ANY, false);
    ASSERT_NE(pools.at(i), nullptr);
  }
  std::mt19937_64 random(7);
  for (int round = 0; round < 10'000; ++round) {
    std::vector<rte_mbuf*> burst;
    std::vector<rte_mbuf*> held;
    const bool all_plain = random() % 2 == 0;
    for (std::size_t left = 1 + random() % 64; left > 0; --left) {
      rte_mbuf* buffer = rte_pktmbuf_alloc(pools[0]);
      burst.push_back(buffer);
      buffer->port = static_cast<std::uint16_t>(random());
      buffer->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
      if (all_plain || random() % 16 != 0) continue;
      switch (random() % 4) {
        case 0:
          rte_pktmbuf_free(buffer);
          burst.back() = rte_pktmbuf_alloc(pools[1]);
          break;
        case 1:
          rte_mbuf_refcnt_update(buffer, 1);
          held.push_back(buffer);
          break;
        case 2:
          rte_pktmbuf_chain(buffer, rte_pktmbuf_alloc(pools[0]));
          break;
        default:
          held.push_back(rte_pktmbuf_alloc(pools[1]));
          rte_pktmbuf_attach(buffer, held.back());
      }
    }
    BufferReturn buffer_return(*burst.front());
    for (const rte_mbuf* buffer : burst) buffer_return.look_at(*buffer);
    buffer_return.give_back(burst);
    for (rte_mbuf* buffer : held) {
      ASSERT_EQ(rte_mbuf_refcnt_read(buffer), 1) << round;
      rte_pktmbuf_free(buffer);
    }
    for (const rte_mempool* pool : pools) ASSERT_EQ(rte_mempool_avail_count(pool), kBuffers) << round;
  }
  for (rte_mempool* pool : pools) {
    std::array<rte_mbuf*, kBuffers> all{};
    ASSERT_EQ(rte_mempool_get_bulk(pool, reinterpret_cast<void**>(all.data()), kBuffers), 0);
    EXPECT_TRUE(std::ranges::all_of(all, is_fresh));
    rte_mempool_put_bulk(pool, reinterpret_cast<void**>(all.data()), kBuffers);
    rte_mempool_free(pool);
  }
}

}  // namespace
}  // namespace natxy
