// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <array>
#include <memory>
#include <vector>

#include "port/port.hpp"

// Two ports for benchmarks, each of which receives what the other one sends.
namespace natxy {

/// Holds the rings that carry the frames of each port to the other: from the right port, and from the left.
using Wires = std::array<rte_ring*, 2>;

inline Wires new_wires() {
  Wires wires{};
  for (std::size_t i = 0; i < wires.size(); ++i) {
    wires.at(i) = rte_ring_create(fmt::format("wire{}", i).c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  }
  return wires;
}

inline std::vector<std::unique_ptr<Port>> joined_ports(Wires& wires) {
  std::vector<std::unique_ptr<Port>> ports;
  for (const Side side : {Side::left, Side::right}) {
    const auto i = static_cast<std::size_t>(side);
    rte_eth_from_rings(fmt::format("end{}", i).c_str(), &wires.at(i), 1, &wires.at(1 - i), 1, 0);
    PortOptions options;
    options.side = side;
    options.device = fmt::format("net_ring_end{}", i);
    options.medium = Medium::loop;
    ports.push_back(std::make_unique<Port>(options));
  }
  return ports;
}

}  // namespace natxy
