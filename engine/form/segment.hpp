// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "form/layout.hpp"
#include "packet/bytes.hpp"
#include "packet/headers.hpp"

namespace natxy {

inline constexpr std::uint8_t kTcpFin = 0x01;
inline constexpr std::uint8_t kTcpSyn = 0x02;
inline constexpr std::uint8_t kTcpReset = 0x04;
inline constexpr std::uint8_t kTcpPush = 0x08;
inline constexpr std::uint8_t kTcpAck = 0x10;

/// Says what the TCP header of a stream's segments has besides ports and checksum. Sequence numbers are counted from
/// the first number of their side, so that a connection needs no state (RFC 9293 §3.4).
struct Segment {
  bool of_initiator = true;
  std::uint8_t flags = kTcpSyn;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;  // with the flag ACK
  std::uint16_t largest = 1220;    // the data of a segment that its side receives; with the flag SYN, in an option
};

/// Writes the TCP header of a segment, without its ports and its checksum, into zeros. All connections begin with the
/// same numbers. If `layout` has options, a SYN states the largest segment that its side receives (RFC 9293 §3.7.1),
/// and the signature that follows is data of an option for experiments (RFC 6994).
inline void fill_segment(const Segment& segment, const Layout& layout, std::uint8_t* header) {
  constexpr std::uint32_t kOfInitiator = 0x1000'0000;
  constexpr std::uint32_t kOfResponder = 0x2000'0000;
  store_be32(header + 4, (segment.of_initiator ? kOfInitiator : kOfResponder) + segment.sequence);
  if ((segment.flags & kTcpAck) != 0) {
    store_be32(header + 8, (segment.of_initiator ? kOfResponder : kOfInitiator) + segment.acknowledged);
  }
  header[12] = static_cast<std::uint8_t>(layout.tcp_header_bytes() / 4 << 4);
  header[13] = segment.flags;
  store_be16(header + 14, 0xFFFF);  // the largest window without scaling
  if (layout.option_bytes == 0) return;
  constexpr std::uint32_t kNoOperations = 0x0101'0101;
  constexpr std::uint32_t kLargestSegment = 0x0204'0000;
  std::uint8_t* options = header + kTcpBytes;
  store_be32(options, (segment.flags & kTcpSyn) != 0 ? kLargestSegment | segment.largest : kNoOperations);
  store_be16(options + 4, static_cast<std::uint16_t>(kNoOperations));
  options[6] = kExperimentOption;
  options[7] = kExperimentBytes + kSignatureBytes;
  store_be16(options + 8, kExperimentId);
}

}  // namespace natxy
