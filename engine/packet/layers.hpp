// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"

// The walk over the headers of untrusted bytes. Whatever classifies, forwards or looks into frames stands on it.
namespace natxy {

/// Says where the parts of an IP packet lie.
struct IpLayer {
  using Bytes = std::span<const std::uint8_t>;

  Family family = Family::ipv4;
  Bytes header;               // IPv4's with its options; IPv6's without its extension headers
  std::uint8_t protocol = 0;  // of the payload
  bool fragment = false;      // whether the payload is a part of a larger one, or begins with IPv6's fragment header
  Bytes payload;              // up to the end that the packet's own length gives: Ethernet pads short frames
};

/// Reads an IPv4 packet at the start of `bytes`, or returns nothing if its header contradicts itself or `bytes`.
inline std::optional<IpLayer> read_ipv4(IpLayer::Bytes bytes) {
  if (bytes.size() < kIpv4Bytes || bytes[0] >> 4 != 4) return std::nullopt;
  const std::size_t header = std::size_t{bytes[0] & 0x0FU} * 4;
  const std::size_t total = load_be16(bytes.data() + 2);
  if (header < kIpv4Bytes || total < header || total > bytes.size()) return std::nullopt;
  const bool fragment = (load_be16(bytes.data() + 6) & kIpv4FragmentMask) != 0;
  return IpLayer{Family::ipv4, bytes.first(header), bytes[9], fragment, bytes.subspan(header, total - header)};
}

/// Reads an IPv6 packet at the start of `bytes`, or returns nothing if a header contradicts itself or `bytes`. A
/// hop-by-hop header elsewhere than first is no extension header (RFC 8200 §4.1), and a fragment header ends the walk.
inline std::optional<IpLayer> read_ipv6(IpLayer::Bytes bytes) {
  if (bytes.size() < kIpv6Bytes || bytes[0] >> 4 != 6) return std::nullopt;
  const std::size_t length = load_be16(bytes.data() + 4);
  if (length > bytes.size() - kIpv6Bytes) return std::nullopt;
  const IpLayer::Bytes behind = bytes.subspan(kIpv6Bytes, length);
  std::uint8_t protocol = bytes[6];
  std::size_t walked = 0;
  while ((protocol == kProtocolHopByHop && walked == 0) || protocol == kProtocolRouting ||
         protocol == kProtocolDestinationOptions) {
    const IpLayer::Bytes left = behind.subspan(walked);
    if (left.size() < kExtensionUnitBytes) return std::nullopt;
    const std::size_t extension = kExtensionUnitBytes * (1 + std::size_t{left[1]});
    if (extension > left.size()) return std::nullopt;
    protocol = left[0];
    walked += extension;
  }
  return IpLayer{Family::ipv6, bytes.first(kIpv6Bytes), protocol, protocol == kProtocolFragment,
                 behind.subspan(walked)};
}

/// Reads the IP packet behind an Ethernet header. `ether_type` must be that of a family of IP.
inline std::optional<IpLayer> read_ip(std::uint16_t ether_type, IpLayer::Bytes packet) {
  return ether_type == kEtherTypeIpv4 ? read_ipv4(packet) : read_ipv6(packet);
}

}  // namespace natxy
