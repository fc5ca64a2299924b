// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "pace/clock.hpp"
#include "pace/suspension.hpp"
#include "port/neighbors.hpp"
#include "port/port.hpp"

namespace natxy {

/// Refers to the parts of the engine that a trial uses: ports, neighbours, worker cores and clock.
struct TrialResources {
  std::span<const std::unique_ptr<Port>> ports;
  const Neighbors& neighbors;
  std::span<const unsigned> workers;  // DPDK's lcore ids
  bool workers_apart;                 // from the calling thread, so that they may have the highest priority
  Clock clock;
  std::span<const unsigned> dut_cores;  // cores of this machine that do the DUT's work
  std::function<Moment()> moment = read_clocks;

  /// Returns the workers that send on a port, as indices of `workers`. Queue i belongs to the one whose place is
  /// i modulo their number.
  [[nodiscard]] std::vector<std::size_t> senders_of(std::size_t port) const {
    return spread(port, ports[port]->options().senders);
  }
  /// Returns the workers that receive on a port, in the same way.
  [[nodiscard]] std::vector<std::size_t> receivers_of(std::size_t port) const {
    return spread(port, ports[port]->options().receivers);
  }

  /// Returns the next hop of frames from `source`: the DUT or, in a loop without a DUT, the other port. Returns nothing
  /// if the DUT's address is not resolved.
  [[nodiscard]] std::optional<MacAddress> destination_mac(Place source, Family family) const {
    if (const auto gateway = neighbors.gateway_mac(source, family)) return gateway;
    for (const auto& port : ports) {
      if (port->options().medium == Medium::loop && port->options().place() == opposite(source)) return port->mac();
    }
    return std::nullopt;
  }

 private:
  /// Returns the workers for a port's queues: those that were `chosen`, or else a share of all. The queues share as few
  /// workers as possible: what one worker receives, it can put in order.
  [[nodiscard]] std::vector<std::size_t> spread(std::size_t port, std::vector<std::size_t> chosen) const {
    // Ports on one device have its queues together, and a queue has one worker: that of the first of them.
    if (ports[port]->is_carried()) {
      const auto same = [&](const auto& other) { return other->options().device == ports[port]->options().device; };
      port = static_cast<std::size_t>(std::ranges::find_if(ports, same) - ports.begin());
    }
    const std::size_t queues = ports[port]->options().queues;
    if (chosen.empty()) {
      if (workers.size() < ports.size()) return {port % workers.size()};
      const std::size_t first = port * workers.size() / ports.size();
      chosen.resize((port + 1) * workers.size() / ports.size() - first);
      std::iota(chosen.begin(), chosen.end(), first);
    }
    chosen.resize(std::min(chosen.size(), queues));
    return chosen;
  }
};

}  // namespace natxy
