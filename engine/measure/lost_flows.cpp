// SPDX-License-Identifier: Apache-2.0
#include "measure/lost_flows.hpp"

#include <algorithm>
#include <set>

#include "flow/mix.hpp"

namespace natxy {

namespace {

template <Family F>
uint128 value_of(const SentFrame<F>& frame, FlowField field) {
  switch (field) {
    case FlowField::source_address:
      return frame.tuple.source;
    case FlowField::destination_address:
      return frame.tuple.destination;
    case FlowField::source_port:
      return frame.tuple.source_port;
    case FlowField::destination_port:
      return frame.tuple.destination_port;
    case FlowField::frame_size:
      break;
  }
  return frame.size;
}

template <Family F>
FieldLosses losses_of(FlowField field, std::span<const SentFrame<F>> sent, std::span<const SentFrame<F>> lost) {
  const auto value = [field](const SentFrame<F>& frame) { return value_of<F>(frame, field); };
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
  const auto counted = [&](std::span<const SentFrame<F>> frames) {
    std::vector<std::uint64_t> counts(parts);
    for (const auto& frame : frames) ++counts[static_cast<std::size_t>((value(frame) - losses.lowest) / width)];
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
std::vector<std::uint64_t> marks_of(std::span<const SentFrame<F>> lost) {
  std::set<std::uint64_t> smallest;
  for (const auto& frame : lost) {
    const std::uint64_t mark = mark_of<F>(frame.tuple);
    if (smallest.size() == LostFlows::kMarks && mark >= *smallest.rbegin()) continue;
    smallest.insert(mark);
    if (smallest.size() > LostFlows::kMarks) smallest.erase(std::prev(smallest.end()));
  }
  return {smallest.begin(), smallest.end()};
}

}  // namespace

template <Family F>
LostFlows lost_flows(std::span<const SentFrame<F>> sent, std::span<const SentFrame<F>> lost, bool all) {
  LostFlows flows{F, {}, {}};
  for (const FlowField field : {FlowField::source_address, FlowField::destination_address, FlowField::source_port,
                                FlowField::destination_port, FlowField::frame_size}) {
    FieldLosses losses = losses_of<F>(field, sent, lost);
    if (!losses.sent.empty()) flows.fields.push_back(std::move(losses));
  }
  if (all) flows.marks = marks_of<F>(lost);
  return flows;
}

template LostFlows lost_flows(std::span<const SentFrame<Family::ipv4>>, std::span<const SentFrame<Family::ipv4>>, bool);
template LostFlows lost_flows(std::span<const SentFrame<Family::ipv6>>, std::span<const SentFrame<Family::ipv6>>, bool);

}  // namespace natxy
