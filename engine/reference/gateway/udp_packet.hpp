// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "packet/address.hpp"
#include "reference/gateway/connection_table.hpp"

namespace natxy::reference {

/// Bytes that a header grows by from IPv4 to IPv6: a frame needs as many free ones before it.
inline constexpr std::size_t kGrowth = 20;

/// A frame without its FCS, with at least kGrowth bytes of its buffer before it.
struct Frame {
  std::uint8_t* data = nullptr;
  std::size_t length = 0;
};

/// An unfragmented UDP datagram in a frame; changes it in place. Every change keeps all checksums, incrementally (RFC
/// 1624).
class UdpPacket {
 public:
  enum class Kind : std::uint8_t { udp, foreign, malformed };

  /// Takes a frame that anybody may have sent; of kind `udp` the other members may be used.
  explicit UdpPacket(const Frame& frame);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const Frame& frame() const { return frame_; }
  [[nodiscard]] Family family() const { return family_; }
  [[nodiscard]] std::uint8_t hop_limit() const;
  [[nodiscard]] Endpoint source() const;
  [[nodiscard]] Endpoint destination() const;

  void decrement_hop_limit();
  /// Addresses of the packet's own family.
  void rewrite(const Endpoint& source, const Endpoint& destination);
  /// To the other family, addresses being of that one (RFC 7915 §4.1, §5.1). The frame is another one afterwards.
  void translate(const Endpoint& source, const Endpoint& destination);
  void spoil_checksum();

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
