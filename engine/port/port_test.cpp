// SPDX-License-Identifier: Apache-2.0
#include "port/port.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

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

}  // namespace
}  // namespace natxy
