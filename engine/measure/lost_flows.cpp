// SPDX-License-Identifier: Apache-2.0
#include "measure/lost_flows.hpp"

#include <algorithm>
#include <set>

#include "flow/mix.hpp"

namespace natxy {

namespace {

template <Family F>
uint128 value_of(const Tuple<F>& tuple, TupleField field) {
  switch (field) {
    case TupleField::source_address:
      return tuple.source;
    case TupleField::destination_address:
      return tuple.destination;
    case TupleField::source_port:
      return tuple.source_port;
    case TupleField::destination_port:
      break;
  }
  return tuple.destination_port;
}

template <Family F>
FieldLosses losses_of(TupleField field, std::span<const Tuple<F>> sent, std::span<const Tuple<F>> lost) {
  const auto value = [field](const Tuple<F>& tuple) { return value_of<F>(tuple, field); };
  const auto [first, last] = std::ranges::minmax(lost, {}, value);
  const auto [lowest, highest] = std::ranges::minmax(sent, {}, value);
  FieldLosses losses{field,
                     std::min(value(first), value(lowest)),
                     std::max(value(last), value(highest)),
                     value(first),
                     value(last),
                     {},
                     {}};
  if (losses.lowest == losses.highest) return losses;
  const uint128 width = (losses.highest - losses.lowest) / FieldLosses::kParts + 1;
  const auto parts = static_cast<std::size_t>((losses.highest - losses.lowest) / width + 1);
  const auto counted = [&](std::span<const Tuple<F>> tuples) {
    std::vector<std::uint64_t> counts(parts);
    for (const auto& tuple : tuples) ++counts[static_cast<std::size_t>((value(tuple) - losses.lowest) / width)];
    return counts;
  };
  losses.sent = counted(sent);
  losses.lost = counted(lost);
  return losses;
}

/// Returns a hash that JSON's numbers hold without loss.
template <Family F>
std::uint64_t mark_of(const Tuple<F>& tuple) {
  std::uint64_t hash = 0;
  for (const uint128 word : {uint128{tuple.source}, uint128{tuple.destination}}) {
    hash = mix(hash + static_cast<std::uint64_t>(word) + kRandomStep);
    hash = mix(hash + static_cast<std::uint64_t>(word >> 64) + kRandomStep);
  }
  hash = mix(hash + ((std::uint64_t{tuple.source_port} << 16) | tuple.destination_port));
  return hash >> 11;
}

template <Family F>
std::vector<std::uint64_t> marks_of(std::span<const Tuple<F>> lost) {
  std::set<std::uint64_t> smallest;
  for (const auto& tuple : lost) {
    const std::uint64_t mark = mark_of<F>(tuple);
    if (smallest.size() == LostFlows::kMarks && mark >= *smallest.rbegin()) continue;
    smallest.insert(mark);
    if (smallest.size() > LostFlows::kMarks) smallest.erase(std::prev(smallest.end()));
  }
  return {smallest.begin(), smallest.end()};
}

}  // namespace

template <Family F>
LostFlows lost_flows(std::span<const Tuple<F>> sent, std::span<const Tuple<F>> lost, bool all) {
  LostFlows flows{F, {}, {}};
  for (const TupleField field : {TupleField::source_address, TupleField::destination_address, TupleField::source_port,
                                 TupleField::destination_port}) {
    FieldLosses losses = losses_of<F>(field, sent, lost);
    if (!losses.sent.empty()) flows.fields.push_back(std::move(losses));
  }
  if (all) flows.marks = marks_of<F>(lost);
  return flows;
}

template LostFlows lost_flows(std::span<const Tuple<Family::ipv4>>, std::span<const Tuple<Family::ipv4>>, bool);
template LostFlows lost_flows(std::span<const Tuple<Family::ipv6>>, std::span<const Tuple<Family::ipv6>>, bool);

}  // namespace natxy
