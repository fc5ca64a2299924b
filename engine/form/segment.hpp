// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"

namespace natxy {

/// Says what the TCP segments of a stream are for (RFC 9293 §3.5). Each carries as much data as all others of its
/// connection, from the first SYN on: the signature is in the data. `ack` completes a handshake, and is also sent over
/// an established connection; `answer` is sent over it by the responder.
enum class Segment : std::uint8_t { syn, syn_ack, ack, answer, count_ };

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Segment::count_)> kSegmentNames = {
    "syn", "syn-ack", "ack", "answer"};

constexpr bool is_of_initiator(Segment segment) { return segment == Segment::syn || segment == Segment::ack; }

/// Writes the TCP header of a segment with `data` bytes behind it, without its ports and its checksum, into zeros.
///
/// Sequence numbers follow the rules of RFC 9293 §3.4, as a gateway that tracks windows asks: a SYN counts as a byte,
/// and nothing is acknowledged that was not sent. All connections begin with the same numbers, and further segments of
/// a connection repeat the data of the first.
inline void fill_segment(Segment segment, std::size_t data, std::uint8_t* header) {
  constexpr std::uint32_t kOfInitiator = 0x1000'0000;
  constexpr std::uint32_t kOfResponder = 0x2000'0000;
  constexpr std::uint8_t kSyn = 0x02;
  constexpr std::uint8_t kPush = 0x08;
  constexpr std::uint8_t kAck = 0x10;
  const auto first = static_cast<std::uint32_t>(1 + data);  // bytes of the first segment of either side
  std::uint32_t sequence = is_of_initiator(segment) ? kOfInitiator : kOfResponder;
  std::uint32_t acknowledged = is_of_initiator(segment) ? kOfResponder + first : kOfInitiator + first;
  std::uint8_t flags = kAck | kPush;
  switch (segment) {
    case Segment::syn:
      acknowledged = 0;
      flags = kSyn;
      break;
    case Segment::syn_ack:
      flags = kSyn | kAck;
      break;
    case Segment::answer:
      acknowledged += static_cast<std::uint32_t>(data);
      [[fallthrough]];
    default:
      sequence += first;
  }
  store_be32(header + 4, sequence);
  store_be32(header + 8, acknowledged);
  header[12] = kTcpBytes / 4 << 4;
  header[13] = flags;
  store_be16(header + 14, 0xFFFF);  // the largest window without scaling
}

}  // namespace natxy
