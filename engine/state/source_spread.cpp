// SPDX-License-Identifier: Apache-2.0
#include "state/source_spread.hpp"

#include <algorithm>
#include <bitset>
#include <limits>
#include <memory>
#include <unordered_map>

namespace natxy {

namespace {

template <Family F>
struct Hash {
  std::size_t operator()(const Address<F>& address) const {
    const auto wide = static_cast<uint128>(address);
    return (static_cast<std::uint64_t>(wide >> 64) * 31 + static_cast<std::uint64_t>(wide)) * 0x9E3779B97F4A7C15;
  }
};

using Ports = std::bitset<std::size_t{1} << 16>;

/// Holds what the connections of one address have.
struct Use {
  std::uint64_t connections = 0;
  std::unique_ptr<Ports> ports;
};

/// Returns the ports that have connections, those beside each other that have as many as one entry.
std::vector<PortUse> port_uses(const std::vector<std::uint64_t>& connections) {
  std::vector<PortUse> uses;
  for (std::size_t port = 0; port < connections.size(); ++port) {
    if (connections[port] == 0) continue;
    const auto own = static_cast<std::uint16_t>(port);
    if (!uses.empty() && uses.back().last + 1 == own && uses.back().connections == connections[port]) {
      uses.back().last = own;
    } else {
      uses.push_back({own, own, connections[port]});
    }
  }
  return uses;
}

}  // namespace

template <Family F>
std::optional<SourceSpread> spread_of_sources(const StateTable<F>& table, bool list_ports) {
  const std::uint64_t step = (table.size() + kMostLookedAt - 1) / kMostLookedAt;
  std::unordered_map<Address<F>, Use, Hash<F>> uses;
  SourceSpread spread;
  std::vector<std::uint64_t> of_ports(list_ports ? std::size_t{1} << 16 : 0);
  spread.lowest_port = std::numeric_limits<std::uint16_t>::max();
  for (std::uint64_t i = 0; i < table.size(); i += step) {
    if (!table.is_established(i)) continue;
    const Tuple<F> seen = table.at(i);
    Use& use = uses[seen.source];
    if (use.connections == 0 && uses.size() <= kMostWithPorts) use.ports = std::make_unique<Ports>();
    ++use.connections;
    if (use.ports) use.ports->set(seen.source_port);
    spread.lowest_port = std::min(spread.lowest_port, seen.source_port);
    spread.highest_port = std::max(spread.highest_port, seen.source_port);
    if (list_ports) ++of_ports[seen.source_port];
    ++spread.connections;
    if (uses.size() > kMostSources) return std::nullopt;
  }
  if (uses.empty()) return std::nullopt;
  const auto [fewest, most] =
      std::ranges::minmax_element(uses, {}, [](const auto& used) { return used.second.connections; });
  spread.addresses = uses.size();
  spread.fewest = fewest->second.connections;
  spread.most = most->second.connections;
  if (uses.size() <= kMostWithPorts) {
    spread.endpoints = 0;
    for (const auto& [address, use] : uses) *spread.endpoints += use.ports->count();
  }
  const auto [lowest, highest] = std::ranges::minmax_element(uses, {}, [](const auto& used) { return used.first; });
  spread.lowest = {F, lowest->first};
  spread.highest = {F, highest->first};
  if (list_ports) spread.ports = port_uses(of_ports);
  return spread;
}

std::optional<SourceSpread> joined(const std::optional<SourceSpread>& one, const std::optional<SourceSpread>& other) {
  if (!one || !other) return std::nullopt;
  return SourceSpread{
      one->connections + other->connections,
      one->addresses + other->addresses,
      std::min(one->fewest, other->fewest),
      std::max(one->most, other->most),
      std::ranges::min(one->lowest, other->lowest, {}, &AnyAddress::value),
      std::ranges::max(one->highest, other->highest, {}, &AnyAddress::value),
      one->endpoints && other->endpoints ? std::optional{*one->endpoints + *other->endpoints} : std::nullopt,
      std::min(one->lowest_port, other->lowest_port),
      std::max(one->highest_port, other->highest_port),
      std::nullopt};
}

template std::optional<SourceSpread> spread_of_sources(const StateTable<Family::ipv4>&, bool);
template std::optional<SourceSpread> spread_of_sources(const StateTable<Family::ipv6>&, bool);

}  // namespace natxy
