// SPDX-License-Identifier: Apache-2.0
#include "state/source_spread.hpp"

#include <algorithm>
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

}  // namespace

template <Family F>
std::optional<SourceSpread> spread_of_sources(const StateTable<F>& table) {
  const std::uint64_t step = (table.size() + kMostLookedAt - 1) / kMostLookedAt;
  std::unordered_map<Address<F>, std::uint64_t, Hash<F>> counts;
  SourceSpread spread;
  for (std::uint64_t i = 0; i < table.size(); i += step) {
    if (!table.is_established(i)) continue;
    ++counts[table.at(i).source];
    ++spread.connections;
    if (counts.size() > kMostSources) return std::nullopt;
  }
  if (counts.empty()) return std::nullopt;
  const auto [fewest, most] =
      std::ranges::minmax_element(counts, {}, [](const auto& counted) { return counted.second; });
  spread.addresses = counts.size();
  spread.fewest = fewest->second;
  spread.most = most->second;
  const auto [lowest, highest] =
      std::ranges::minmax_element(counts, {}, [](const auto& counted) { return counted.first; });
  spread.lowest = {F, lowest->first};
  spread.highest = {F, highest->first};
  return spread;
}

std::optional<SourceSpread> joined(const std::optional<SourceSpread>& one, const std::optional<SourceSpread>& other) {
  if (!one || !other) return std::nullopt;
  return SourceSpread{one->connections + other->connections,
                      one->addresses + other->addresses,
                      std::min(one->fewest, other->fewest),
                      std::max(one->most, other->most),
                      std::ranges::min(one->lowest, other->lowest, {}, &AnyAddress::value),
                      std::ranges::max(one->highest, other->highest, {}, &AnyAddress::value)};
}

template std::optional<SourceSpread> spread_of_sources(const StateTable<Family::ipv4>&);
template std::optional<SourceSpread> spread_of_sources(const StateTable<Family::ipv6>&);

}  // namespace natxy
