// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"

namespace natxy {

/// Says what the TCP segments of a stream are for (RFC 9293 §3.5, §3.6). Each carries as much data as all others of its
/// connection, from the first SYN on: the signature is in the data. `ack` completes a handshake, and is also sent over
/// an established connection; `answer` is sent over it by the responder, and `initiator_ack` acknowledges the answer.
/// After an `ack` and an `answer`, one side closes with a FIN, the other side answers with a FIN, and the first side
/// acknowledges the second FIN; or the initiator resets.
enum class Segment : std::uint8_t {
  syn,
  syn_ack,
  ack,
  answer,
  initiator_ack,
  initiator_fin,
  responder_fin_ack,
  initiator_last_ack,
  responder_fin,
  initiator_fin_ack,
  responder_last_ack,
  reset,
  count_
};

/// Says what a TCP header has besides ports and checksum. Sequence numbers are counted from the first one of their
/// side, in flags, of which SYN and FIN count as a byte, and in segments of data.
struct SegmentFields {
  struct Number {
    std::uint32_t flags;
    std::uint32_t segments;
  };

  std::string_view name;
  bool of_initiator;
  std::uint8_t flags;
  Number sequence;
  Number acknowledged;
};

inline constexpr std::uint8_t kTcpFin = 0x01;
inline constexpr std::uint8_t kTcpSyn = 0x02;
inline constexpr std::uint8_t kTcpReset = 0x04;
inline constexpr std::uint8_t kTcpPush = 0x08;
inline constexpr std::uint8_t kTcpAck = 0x10;

/// The numbers follow the rules of RFC 9293 §3.4, as a gateway that tracks windows asks: nothing is acknowledged that
/// was not sent. Further segments over an established connection repeat the data of the first, and an acknowledgment
/// repeats the data that its side has sent last, because no new data may follow a FIN.
inline constexpr std::array<SegmentFields, static_cast<std::size_t>(Segment::count_)> kSegments = {{
    {"syn", true, kTcpSyn, {0, 0}, {0, 0}},
    {"syn-ack", false, kTcpSyn | kTcpAck, {0, 0}, {1, 1}},
    {"ack", true, kTcpAck | kTcpPush, {1, 1}, {1, 1}},
    {"answer", false, kTcpAck | kTcpPush, {1, 1}, {1, 2}},
    {"initiator-ack", true, kTcpAck, {1, 1}, {1, 2}},
    {"initiator-fin", true, kTcpFin | kTcpAck, {1, 2}, {1, 2}},
    {"responder-fin-ack", false, kTcpFin | kTcpAck, {1, 2}, {2, 3}},
    {"initiator-last-ack", true, kTcpAck, {1, 2}, {2, 3}},
    {"responder-fin", false, kTcpFin | kTcpAck, {1, 2}, {1, 2}},
    {"initiator-fin-ack", true, kTcpFin | kTcpAck, {1, 2}, {2, 3}},
    {"responder-last-ack", false, kTcpAck, {1, 2}, {2, 3}},
    {"reset", true, kTcpReset | kTcpAck, {1, 2}, {1, 2}},
}};

constexpr const SegmentFields& fields_of(Segment segment) { return kSegments.at(static_cast<std::size_t>(segment)); }

/// Writes the TCP header of a segment with `data` bytes behind it, without its ports and its checksum, into zeros. All
/// connections begin with the same numbers.
inline void fill_segment(Segment segment, std::size_t data, std::uint8_t* header) {
  constexpr std::uint32_t kOfInitiator = 0x1000'0000;
  constexpr std::uint32_t kOfResponder = 0x2000'0000;
  const SegmentFields& fields = fields_of(segment);
  const auto after = [&](std::uint32_t first, const SegmentFields::Number& number) {
    return first + number.flags + number.segments * static_cast<std::uint32_t>(data);
  };
  store_be32(header + 4, after(fields.of_initiator ? kOfInitiator : kOfResponder, fields.sequence));
  if ((fields.flags & kTcpAck) != 0) {
    store_be32(header + 8, after(fields.of_initiator ? kOfResponder : kOfInitiator, fields.acknowledged));
  }
  header[12] = kTcpBytes / 4 << 4;
  header[13] = fields.flags;
  store_be16(header + 14, 0xFFFF);  // the largest window without scaling
}

}  // namespace natxy
