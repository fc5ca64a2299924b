// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_ring.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "bench/joined_ports.hpp"
#include "trial/runner/ring_bed.hpp"

// Measures the time before the first frame and the memory that a phase 1 with very many connections takes. It runs real
// trials from one port to the other over a ring and prints a line of JSON for each family.
namespace natxy {
namespace {

constexpr std::uint64_t kFew = 1'000;
constexpr std::uint64_t kMany = 100'000'000;
constexpr std::uint64_t kWarmUp = 1'000'000;
constexpr double kRate_fps = 10e6;
constexpr auto kLook = std::chrono::microseconds(20);

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Neighbors known_gateway(Family family) {
  LinkNeighbor link;
  link.gateway = *parse_address(family == Family::ipv4 ? "198.18.0.1" : "2001:2::1");
  link.gateway_mac = kGatewayMac;
  return Neighbors({link});
}

/// Measures when the worker began to poll and when the first frame was on the wire, by looking every kLook.
class Witness {
 public:
  Witness(const rte_ring& wire, unsigned worker)
      : thread_([this, &wire, worker, before = wire.prod.head](const std::stop_token& stop) {
          const auto wait_while = [&stop](const auto& condition) {
            while (!stop.stop_requested() && condition()) std::this_thread::sleep_for(kLook);
            return now_ticks();
          };
          polls_at_ = wait_while([&] { return rte_eal_get_lcore_state(worker) != RUNNING; });
          leaves_at_ = wait_while([&] { return wire.prod.head == before; });
        }) {}

  struct Seen {
    std::uint64_t polls_at;   // ticks
    std::uint64_t leaves_at;  // ticks
  };
  /// Stops measuring and returns the times. Call it after the trial.
  [[nodiscard]] Seen seen() {
    thread_.request_stop();
    thread_.join();
    return {polls_at_, leaves_at_};
  }

 private:
  std::uint64_t polls_at_ = 0;
  std::uint64_t leaves_at_ = 0;
  std::jthread thread_;
};

struct Cost {
  double prepared_ms = 0;     // from the request until the worker polls
  double first_frame_ms = 0;  // from the request until the first frame has left
  std::uint64_t established = 0;
  std::uint64_t delays = 0;  // number of delays recorded
  std::uint64_t bytes = 0;   // growth of the process's resident memory
};

Cost phase1_cost(Family family, std::uint64_t connections, std::span<const std::unique_ptr<Port>> ports,
                 const Wires& wires, const Eal& environment) {
  TrialSpec spec = phase1(family, connections);
  spec.streams.front().flows = flows(family, 50'000, 2'000);
  spec.streams.front().rate_fps = kRate_fps;
  const Neighbors neighbors = known_gateway(family);
  const Clock clock{rte_get_tsc_hz()};
  Connections table;
  const std::uint64_t before = resident_bytes();
  const std::uint64_t asked = now_ticks();
  Witness witness(*wires.back(), environment.workers().front());
  const auto report = run_trial(spec, {ports, neighbors, environment.workers(), true, clock}, {&table, 1},
                                [](const TrialProgress&) { return true; });
  const Witness::Seen seen = witness.seen();
  Cost cost;
  cost.prepared_ms = 1e3 * clock.seconds(seen.polls_at - asked);
  cost.first_frame_ms = 1e3 * clock.seconds(seen.leaves_at - asked);
  cost.bytes = resident_bytes() - before;
  cost.established = report.established;
  cost.delays = report.streams.front().delay.count();
  return cost;
}

}  // namespace
}  // namespace natxy

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: phase1_bench CPU CONTROL-CPU\n");
    return 2;
  }
  natxy::EalOptions options;
  options.worker_cores = {static_cast<unsigned>(std::stoul(argv[1]))};
  options.main_core = static_cast<unsigned>(std::stoul(argv[2]));
  const natxy::Eal environment(options);
  natxy::Wires wires = natxy::new_wires();
  const auto ports = natxy::joined_ports(wires);
  for (const natxy::Family family : {natxy::Family::ipv4, natxy::Family::ipv6}) {
    const auto cost = [&](std::uint64_t connections) {
      return natxy::phase1_cost(family, connections, ports, wires, environment);
    };
    cost(natxy::kWarmUp);  // brings the ports' buffers into memory
    const natxy::Cost few = cost(natxy::kFew);
    const natxy::Cost many = cost(natxy::kMany);
    fmt::print(R"({{"name": "{}", "connections": {}, "prepared_ms": {:.1f}, "first_frame_ms": {:.1f}, )",
               family == natxy::Family::ipv4 ? "IPv4" : "IPv6", many.established, many.prepared_ms,
               many.first_frame_ms);
    fmt::print(R"("prepared_of_few_ms": {:.1f}, "first_frame_of_few_ms": {:.1f}, )", few.prepared_ms,
               few.first_frame_ms);
    fmt::print("{}\n", fmt::format(R"("delays": {}, "bytes_per_connection": {:.2f}}})", many.delays,
                                   static_cast<double>(many.bytes) / static_cast<double>(many.established)));
  }
  return 0;
}
