// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

// Preloaded into a testpmd that sends on a port which loops its frames back, like net_ring's. It fetches these frames
// on another core. DRAIN_PORT names the port, DRAIN_CPU the core.
namespace natxy {
namespace {

bool is_up(std::uint16_t port) {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void drain(const std::string& name, unsigned cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
  std::uint16_t port = 0;
  while (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0 || !is_up(port)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // A registered thread returns buffers through a cache, as other receivers do.
  static_cast<void>(rte_thread_register());
  std::array<rte_mbuf*, 64> frames;
  while (true) {
    const std::uint16_t count = rte_eth_rx_burst(port, 0, frames.data(), frames.size());
    if (count > 0) {
      rte_pktmbuf_free_bulk(frames.data(), count);
    } else if (!is_up(port)) {
      return;
    }
  }
}

[[gnu::constructor]] void start() {
  const char* name = std::getenv("DRAIN_PORT");
  const char* cpu = std::getenv("DRAIN_CPU");
  if (name != nullptr && cpu != nullptr) std::thread(drain, name, static_cast<unsigned>(std::stoul(cpu))).detach();
}

}  // namespace
}  // namespace natxy
