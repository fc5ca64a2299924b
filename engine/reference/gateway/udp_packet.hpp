// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

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

/// Reads and changes an unfragmented UDP datagram in a frame, in place. Every change updates the checksums
/// incrementally (RFC 1624).
class UdpPacket {
 public:
  enum class Kind : std::uint8_t { udp, foreign, malformed };

  /// Parses an untrusted frame. The other members may be used only if its kind is `udp`.
  explicit UdpPacket(const Frame& frame);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const Frame& frame() const { return frame_; }
  [[nodiscard]] Family family() const { return family_; }
  [[nodiscard]] std::uint8_t hop_limit() const;
  [[nodiscard]] Endpoint source() const;
  [[nodiscard]] Endpoint destination() const;

  void decrement_hop_limit();
  /// Replaces the endpoints by others of the same family.
  void rewrite(const Endpoint& source, const Endpoint& destination);
  /// Translates the packet to the other family, with endpoints of that family (RFC 7915 §4.1, §5.1). `frame()` changes.
  void translate(const Endpoint& source, const Endpoint& destination);
  /// Makes the UDP checksum wrong.
  void spoil_checksum();
  /// Makes the UDP checksum 0, which means over IPv4 that there is none, and is wrong over IPv6.
  void remove_checksum();

 private:
  [[nodiscard]] std::uint64_t pseudo_sum() const;
  void put_endpoints(const Endpoint& source, const Endpoint& destination);
  void update_udp_checksum(std::uint64_t sum_before);

  Frame frame_;
  Kind kind_ = Kind::foreign;
  Family family_ = Family::ipv4;
  std::uint8_t* ip_ = nullptr;
  std::uint8_t* udp_ = nullptr;
  std::uint16_t udp_bytes_ = 0;
};

}  // namespace natxy::reference
