// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/address.hpp"
#include "state/state_table.hpp"

namespace natxy {

/// Says that each port of a range is the source of so many connections.
struct PortUse {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  std::uint64_t connections = 0;

  bool operator==(const PortUse&) const = default;
};

/// Describes how the connections of a state table are spread over the source addresses with which they arrived: behind
/// a gateway that hides the initiator's addresses, over its public ones.
struct SourceSpread {
  std::uint64_t connections = 0;  // that were looked at
  std::uint64_t addresses = 0;    // that they have
  std::uint64_t fewest = 0;       // connections of one address
  std::uint64_t most = 0;
  AnyAddress lowest;
  AnyAddress highest;
  /// The number of pairs of address and port; none if there are more than kMostWithPorts addresses.
  std::optional<std::uint64_t> endpoints;
  std::uint16_t lowest_port = 0;
  std::uint16_t highest_port = 0;
  /// The source ports in order, those of all addresses together; none if nobody asked.
  std::optional<std::vector<PortUse>> ports;

  bool operator==(const SourceSpread&) const = default;
};

/// Tables with more connections than this are looked at in equal steps, so that it takes less than a second.
inline constexpr std::uint64_t kMostLookedAt = 1 << 22;
inline constexpr std::uint64_t kMostSources = 1 << 16;
/// The ports of an address take 8 kB.
inline constexpr std::uint64_t kMostWithPorts = 1 << 10;

/// Returns the spread of the established connections, or nothing if there are none, or more than kMostSources
/// addresses. With `list_ports`, its ports are listed. Call it only after recording has ended.
template <Family F>
std::optional<SourceSpread> spread_of_sources(const StateTable<F>& table, bool list_ports = false);

/// Returns the spread over two sets of addresses that have none in common, without a list of ports, or nothing if one
/// of them is unknown.
std::optional<SourceSpread> joined(const std::optional<SourceSpread>& one, const std::optional<SourceSpread>& other);

extern template std::optional<SourceSpread> spread_of_sources(const StateTable<Family::ipv4>&, bool);
extern template std::optional<SourceSpread> spread_of_sources(const StateTable<Family::ipv6>&, bool);

}  // namespace natxy
