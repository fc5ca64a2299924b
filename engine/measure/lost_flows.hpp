// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/address.hpp"

namespace natxy {

enum class FlowField : std::uint8_t { source_address, destination_address, source_port, destination_port, frame_size };

/// Holds what is known of a frame that was sent: its four-tuple and its size in bytes.
template <Family F>
struct SentFrame {
  Tuple<F> tuple;
  std::uint64_t size = 0;
};

/// Describes how the frames of a stream, and the lost ones of them, are spread over the values of one field. `sent` and
/// `lost` count those that were looked at, in equal parts of the values from `lowest` to `highest`.
struct FieldLosses {
  static constexpr std::size_t kParts = 64;

  FlowField field = FlowField::source_address;
  uint128 lowest = 0;
  uint128 highest = 0;
  uint128 lost_lowest = 0;
  uint128 lost_highest = 0;
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> lost;
};

/// Describes which flows of a stream lost frames.
///
/// `marks` are the smallest hashes of the lost frames' four-tuples, each once. Two trials that lose the same flows have
/// the same marks, and the share that two trials have in common estimates the share of flows that both lost (Broder
/// 1997). There are none if a part of the lost frames was left out.
struct LostFlows {
  static constexpr std::size_t kMarks = 32;

  Family family = Family::ipv4;
  std::vector<FieldLosses> fields;  // that have several values
  std::optional<std::vector<std::uint64_t>> marks;
};

/// Returns which flows lost frames, from frames that were sent and frames that were lost; neither is empty. `all` says
/// that these are all the lost frames.
template <Family F>
LostFlows lost_flows(std::span<const SentFrame<F>> sent, std::span<const SentFrame<F>> lost, bool all);

extern template LostFlows lost_flows(std::span<const SentFrame<Family::ipv4>>, std::span<const SentFrame<Family::ipv4>>,
                                     bool);
extern template LostFlows lost_flows(std::span<const SentFrame<Family::ipv6>>, std::span<const SentFrame<Family::ipv6>>,
                                     bool);

}  // namespace natxy
