// SPDX-License-Identifier: Apache-2.0
#include "dns/datagram.hpp"

#include <algorithm>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/layers.hpp"

namespace natxy::dns {

namespace {

/// Returns the sum over the addresses of a packet, its protocol, and a datagram (RFC 768, RFC 8200 §8.1).
std::uint64_t sum_of(const IpLayer& ip) {
  const std::size_t addresses = ip.family == Family::ipv4 ? 8 : 32;
  const auto length = static_cast<std::uint16_t>(ip.payload.size());
  return checksum_of(ip.header.data() + (ip.family == Family::ipv4 ? 12 : 8), addresses) +
         __builtin_bswap16(kProtocolUdp) + __builtin_bswap16(length) +
         checksum_of(ip.payload.data(), ip.payload.size());
}

/// Returns whether a UDP header says the length that the packet has, and a checksum that it has or, of IPv4, none.
bool is_intact_udp(const IpLayer& ip) {
  if (ip.payload.size() < kUdpBytes || load_be16(ip.payload.data() + 4) != ip.payload.size()) return false;
  if (ip.family == Family::ipv4 && load_be16(ip.payload.data() + 6) == 0) return true;
  return is_intact(sum_of(ip));
}

}  // namespace

std::optional<Datagram> read_datagram(std::span<const std::uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  const std::uint16_t ether_type = load_be16(frame.data() + 12);
  if (ether_type != kEtherTypeIpv4 && ether_type != kEtherTypeIpv6) return std::nullopt;
  const auto ip = read_ip(ether_type, frame.subspan(kEthernetBytes));
  if (!ip || ip->protocol != kProtocolUdp || ip->fragment || !is_intact_udp(*ip)) return std::nullopt;
  Datagram datagram;
  std::copy_n(frame.data(), 6, datagram.way.destination_mac.begin());
  std::copy_n(frame.data() + 6, 6, datagram.way.source_mac.begin());
  datagram.way.family = ip->family;
  const std::uint8_t* header = ip->header.data();
  if (ip->family == Family::ipv4) {
    datagram.way.source = load_be32(header + 12);
    datagram.way.destination = load_be32(header + 16);
  } else {
    datagram.way.source = load_be128(header + 8);
    datagram.way.destination = load_be128(header + 24);
  }
  datagram.way.source_port = load_be16(ip->payload.data());
  datagram.way.destination_port = load_be16(ip->payload.data() + 2);
  datagram.message = ip->payload.subspan(kUdpBytes);
  return datagram;
}

void write_headers(std::span<std::uint8_t> frame, const Way& way, std::uint8_t ttl) {
  std::ranges::copy(way.destination_mac, frame.begin());
  std::ranges::copy(way.source_mac, frame.begin() + 6);
  std::uint8_t* header = frame.data() + kEthernetBytes;
  const std::size_t header_bytes = ip_bytes(way.family);
  const auto udp_length = static_cast<std::uint16_t>(frame.size() - kEthernetBytes - header_bytes);
  if (way.family == Family::ipv4) {
    store_be16(frame.data() + 12, kEtherTypeIpv4);
    store_be32(header, 0x4500'0000 | static_cast<std::uint32_t>(header_bytes + udp_length));
    store_be32(header + 4, kIpv4DontFragment);
    store_be32(header + 8, std::uint32_t{ttl} << 24 | std::uint32_t{kProtocolUdp} << 16);
    store_be32(header + 12, static_cast<std::uint32_t>(way.source));
    store_be32(header + 16, static_cast<std::uint32_t>(way.destination));
    store_raw(header + 10, ip_checksum(checksum_of(header, header_bytes)));
  } else {
    store_be16(frame.data() + 12, kEtherTypeIpv6);
    store_be32(header, 0x6000'0000);
    store_be32(header + 4, std::uint32_t{udp_length} << 16 | std::uint32_t{kProtocolUdp} << 8 | ttl);
    store_be128(header + 8, way.source);
    store_be128(header + 24, way.destination);
  }
  std::uint8_t* udp = header + header_bytes;
  store_be16(udp, way.source_port);
  store_be16(udp + 2, way.destination_port);
  store_be16(udp + 4, udp_length);
  store_be16(udp + 6, 0);
  const IpLayer ip{way.family, {header, header_bytes}, kProtocolUdp, false, {udp, udp_length}};
  store_raw(udp + 6, udp_checksum(sum_of(ip)));
}

}  // namespace natxy::dns
