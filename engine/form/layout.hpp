// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "form/signature.hpp"
#include "packet/headers.hpp"

namespace natxy {

/// Says which end of a softwire sends a frame, an IPv4 packet in an IPv6 packet, and so which outer address follows
/// from the inner ones. `none`: the frame is in no softwire.
enum class Outer : std::uint8_t { none, from_edge, from_core };

/// Says which side sends an IPv6 frame whose addresses stand for those of IPv4 hosts, a subscriber's and a far host's.
/// `none`: the addresses are the frame's own.
enum class Mapped : std::uint8_t { none, from_edge, from_core };

/// Says which header precedes the signature.
enum class Transport : std::uint8_t { udp, tcp };

constexpr std::uint8_t number_of(Transport transport) {
  return transport == Transport::udp ? kProtocolUdp : kProtocolTcp;
}
constexpr std::size_t bytes_of(Transport transport) { return transport == Transport::udp ? kUdpBytes : kTcpBytes; }
/// Returns where the checksum is in a header.
constexpr std::size_t checksum_at(Transport transport) { return transport == Transport::udp ? 6 : 16; }

/// The signature of a segment without data is in an option for experiments (RFC 6994 §3).
inline constexpr std::uint8_t kExperimentOption = 253;
inline constexpr std::uint16_t kExperimentId = 0x4E58;  // "NX"
inline constexpr std::size_t kExperimentBytes = 4;      // before the option's data
/// Four bytes for the size of segments, two to align, and the option's start precede the signature there.
inline constexpr std::size_t kOptionBytes = 4 + 2 + kExperimentBytes;

/// Names a field of 16 bits with the number of bytes from some place on to the end of the frame.
struct LengthField {
  std::size_t at;
  std::size_t from;
};

/// Says where the fields of a test frame lie, in bytes from its start. Writers and readers are made for a layout, so
/// that every offset is a constant.
struct Layout {
  Family family;                    // of the four-tuples
  std::size_t extension_bytes = 0;  // between the IP header and the transport header, a multiple of 8
  Outer outer = Outer::none;
  Mapped mapped = Mapped::none;
  Transport protocol = Transport::udp;
  std::size_t option_bytes = 0;  // between the TCP header and the signature, which is an option, too; 0: it is data

  /// Returns the family of the IP header that has the addresses.
  [[nodiscard]] constexpr Family header_family() const { return mapped == Mapped::none ? family : Family::ipv6; }
  /// Returns whether one address is a subscriber's, which follows from its IPv4 address and port.
  [[nodiscard]] constexpr bool has_subscriber() const { return outer != Outer::none || mapped != Mapped::none; }
  /// Returns whether a subscriber sends the frames, if one does or receives them.
  [[nodiscard]] constexpr bool from_edge() const { return outer == Outer::from_edge || mapped == Mapped::from_edge; }
  [[nodiscard]] constexpr std::size_t outer_bytes() const { return outer == Outer::none ? 0 : kIpv6Bytes; }
  /// Returns the family of the packets on the link.
  [[nodiscard]] constexpr Family link_family() const { return outer == Outer::none ? header_family() : Family::ipv6; }
  [[nodiscard]] constexpr std::size_t ip() const { return kEthernetBytes + outer_bytes(); }
  [[nodiscard]] constexpr std::size_t addresses() const { return ip() + (header_family() == Family::ipv4 ? 12 : 8); }
  [[nodiscard]] constexpr std::size_t extensions() const { return ip() + ip_bytes(header_family()); }
  [[nodiscard]] constexpr std::size_t transport() const { return extensions() + extension_bytes; }
  [[nodiscard]] constexpr std::size_t checksum() const { return transport() + checksum_at(protocol); }
  [[nodiscard]] constexpr std::size_t signature() const { return transport() + bytes_of(protocol) + option_bytes; }
  /// Returns the length of the TCP header with its options.
  [[nodiscard]] constexpr std::size_t tcp_header_bytes() const {
    return kTcpBytes + (option_bytes == 0 ? 0 : option_bytes + kSignatureBytes);
  }
  /// Returns the end of the signature, behind which a frame has zeros.
  [[nodiscard]] constexpr std::size_t end() const { return signature() + kSignatureBytes; }
  /// Returns the size of the smallest frame, FCS included: 64 for UDP over IPv4, 84 over IPv6, 104 in a softwire; 76
  /// for TCP over IPv4, 96 over IPv6, and without data 86 and 106.
  [[nodiscard]] constexpr std::size_t smallest_frame() const { return std::max(kMinFrameBytes, end() + kFcsBytes); }
  /// Returns the fields that depend on the frame's length: of the outer header, of the IP header, of the UDP header.
  /// Without an outer header, the first field is the second, and without UDP the last one.
  [[nodiscard]] constexpr std::array<LengthField, 3> length_fields() const {
    const LengthField of_ip =
        header_family() == Family::ipv4 ? LengthField{ip() + 2, ip()} : LengthField{ip() + 4, extensions()};
    const LengthField of_outer = outer == Outer::none ? of_ip : LengthField{kEthernetBytes + 4, ip()};
    return {of_outer, of_ip, protocol == Transport::udp ? LengthField{transport() + 4, transport()} : of_ip};
  }
  /// Returns how many bytes a frame of `size` bytes, FCS included, has from the signature on.
  [[nodiscard]] constexpr std::size_t payload_bytes(std::size_t size) const { return size - kFcsBytes - signature(); }
};

inline constexpr Layout kUdpIpv4{Family::ipv4};
inline constexpr Layout kUdpIpv6{Family::ipv6};
inline constexpr Layout kTcpIpv4{.family = Family::ipv4, .protocol = Transport::tcp};
inline constexpr Layout kTcpIpv6{.family = Family::ipv6, .protocol = Transport::tcp};
inline constexpr Layout kTcpOptionIpv4{
    .family = Family::ipv4, .protocol = Transport::tcp, .option_bytes = kOptionBytes};
inline constexpr Layout kTcpOptionIpv6{
    .family = Family::ipv6, .protocol = Transport::tcp, .option_bytes = kOptionBytes};

}  // namespace natxy
