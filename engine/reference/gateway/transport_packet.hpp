// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "form/layout.hpp"
#include "packet/address.hpp"
#include "packet/headers.hpp"
#include "reference/gateway/connection_table.hpp"

namespace natxy::reference {

/// The most bytes by which a frame grows: an IPv6 header, and headers of a fragment and of options. It needs as much
/// free room before it.
inline constexpr std::size_t kGrowth = kIpv6Bytes + 2 * kExtensionUnitBytes;

/// Points to a frame without its FCS. The buffer has at least kGrowth free bytes before it.
struct Frame {
  std::uint8_t* data = nullptr;
  std::size_t length = 0;
};

/// Reads and changes an unfragmented UDP datagram or TCP segment in a frame, in place. Every change updates the
/// checksums incrementally (RFC 1624).
class TransportPacket {
 public:
  enum class Kind : std::uint8_t { plain, foreign, malformed };

  /// Parses an untrusted frame. The other members may be used only if its kind is `plain`.
  explicit TransportPacket(const Frame& frame);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const Frame& frame() const { return frame_; }
  [[nodiscard]] Family family() const { return family_; }
  /// Returns the flags of a TCP segment (RFC 9293 §3.1); 0 for a UDP datagram.
  [[nodiscard]] std::uint8_t tcp_flags() const;
  [[nodiscard]] std::uint8_t hop_limit() const;
  [[nodiscard]] Endpoint source() const;
  [[nodiscard]] Endpoint destination() const;

  void decrement_hop_limit();
  /// Replaces the endpoints by others of the same family.
  void rewrite(const Endpoint& source, const Endpoint& destination);
  /// Translates the packet to the other family, with endpoints of that family (RFC 7915 §4.1, §5.1). `frame()` changes.
  void translate(const Endpoint& source, const Endpoint& destination);
  /// Adds one to the sequence number of a TCP segment.
  void shift_sequence();
  /// Replaces a SYN by the RST with which a host refuses it, back to its sender (RFC 9293 §3.5.2). `frame()` changes.
  void refuse();
  /// Makes the checksum of the datagram or segment wrong.
  void spoil_checksum();
  /// Makes that checksum 0, which means for UDP over IPv4 that there is none, and otherwise is wrong.
  void remove_checksum();

 private:
  [[nodiscard]] bool lacks_checksum() const;
  [[nodiscard]] std::uint64_t pseudo_sum() const;
  /// Returns the sum of what the checksum covers besides the addresses, ports, and the bytes behind the ports.
  [[nodiscard]] std::uint64_t length_sum() const;
  void put_endpoints(const Endpoint& source, const Endpoint& destination);
  void update_checksum(std::uint64_t sum_before);
  [[nodiscard]] std::uint8_t* checksum() const { return transport_ + checksum_at(protocol_); }

  Frame frame_;
  Kind kind_ = Kind::foreign;
  Family family_ = Family::ipv4;
  std::uint8_t* ip_ = nullptr;
  Transport protocol_ = Transport::udp;
  std::uint8_t* transport_ = nullptr;
  std::uint16_t transport_bytes_ = 0;
};

}  // namespace natxy::reference
