// SPDX-License-Identifier: Apache-2.0
#include "form/classifier.hpp"

#include <array>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/layers.hpp"

namespace natxy {

namespace {

constexpr std::array<std::string_view, kFrameKinds> kNames = {
    "test",
    "corrupt_test",
    "arp",
    "neighbor_solicitation",
    "neighbor_advertisement",
    "router_solicitation",
    "router_advertisement",
    "mld",
    "igmp",
    "lldp",
    "icmp_echo",
    "icmp_unreachable",
    "icmp_fragmentation_needed",
    "icmp_time_exceeded",
    "icmp_other",
    "icmpv6_echo",
    "icmpv6_unreachable",
    "icmpv6_packet_too_big",
    "icmpv6_time_exceeded",
    "icmpv6_other",
    "ipv4_fragment",
    "ipv6_fragment",
    "udp",
    "tcp",
    "other_ipv4",
    "other_ipv6",
    "other_ethertype",
    "malformed",
    "not_in_softwire",
    "in_softwire",
    "wrong_softwire",
    "headers_in_softwire",
    "not_mapped",
    "wrong_mapping",
    "outside_port_set",
    "spent_hop_limit",
    "other_vlan",
};

using Bytes = std::span<const std::uint8_t>;

FrameKind icmp_kind(Bytes message) {
  if (message.size() < 4) return FrameKind::malformed;
  switch (message[0]) {
    case 0:
    case 8:
      return FrameKind::icmp_echo;
    case 3:
      return message[1] == 4 ? FrameKind::icmp_fragmentation_needed : FrameKind::icmp_unreachable;
    case 11:
      return FrameKind::icmp_time_exceeded;
    default:
      return FrameKind::icmp_other;
  }
}

FrameKind icmpv6_kind(Bytes message) {
  if (message.size() < 4) return FrameKind::malformed;
  switch (message[0]) {
    case 1:
      return FrameKind::icmpv6_unreachable;
    case 2:
      return FrameKind::icmpv6_packet_too_big;
    case 3:
      return FrameKind::icmpv6_time_exceeded;
    case 128:
    case 129:
      return FrameKind::icmpv6_echo;
    case 130:
    case 131:
    case 132:
    case 143:
      return FrameKind::mld;
    case 133:
      return FrameKind::router_solicitation;
    case 134:
      return FrameKind::router_advertisement;
    case 135:
      return FrameKind::neighbor_solicitation;
    case 136:
      return FrameKind::neighbor_advertisement;
    default:
      return FrameKind::icmpv6_other;
  }
}

/// Judges the datagram that a packet carries, whose signature is said to begin after `header_bytes`.
template <Family F>
void classify_datagram(const IpLayer& packet, Transport protocol, std::size_t header_bytes, Classified& result) {
  const Bytes bytes = packet.payload;
  if (bytes.size() < header_bytes + kSignatureBytes || !has_signature(bytes.data() + header_bytes)) return;
  result.protocol = protocol;
  result.datagram = {packet.header.data(), bytes.data()};
  result.payload = bytes.subspan(header_bytes);
  constexpr std::size_t kAddressesAt = F == Family::ipv4 ? 12 : 8;
  const std::uint64_t pseudo_header = checksum_of(packet.header.data() + kAddressesAt, ip_bytes(F) - kAddressesAt) +
                                      __builtin_bswap16(std::uint16_t{number_of(protocol)}) +
                                      __builtin_bswap16(static_cast<std::uint16_t>(bytes.size()));
  const bool header_intact = F == Family::ipv6 || is_intact(checksum_of(packet.header.data(), packet.header.size()));
  const bool udp = protocol == Transport::udp;
  // Over IPv4, 0 means that there is no checksum, and hosts accept the datagram (RFC 768). Translators that do not
  // replace a computed 0 send it, too. Over IPv6, hosts must drop the datagram (RFC 8200 §8.1).
  const bool checksum_good = udp && result.lacks_checksum()
                                 ? F == Family::ipv4
                                 : is_intact(pseudo_header + checksum_of(bytes.data(), bytes.size()));
  const bool length_good = !udp || load_be16(bytes.data() + 4) == bytes.size();
  result.kind = header_intact && length_good && checksum_good ? FrameKind::test : FrameKind::corrupt_test;
}

template <Family F>
void classify_udp(const IpLayer& packet, Classified& result) {
  result.kind = FrameKind::udp;
  classify_datagram<F>(packet, Transport::udp, kUdpBytes, result);
}

template <Family F>
void classify_tcp(const IpLayer& packet, Classified& result) {
  result.kind = FrameKind::tcp;
  if (packet.payload.size() < kTcpBytes) return;
  // The header's length in units of four bytes.
  const std::size_t header_bytes = packet.payload[12] / 16 * std::size_t{4};
  if (header_bytes < kTcpBytes) return;
  const bool as_option = header_bytes == kTcpOptionIpv4.tcp_header_bytes() && packet.payload.size() >= header_bytes &&
                         packet.payload[kTcpBytes + kOptionBytes - kExperimentBytes] == kExperimentOption;
  classify_datagram<F>(packet, Transport::tcp, as_option ? kTcpBytes + kOptionBytes : header_bytes, result);
}

void classify_ipv4(Bytes bytes, Classified& result) {
  result.family = Family::ipv4;
  const auto packet = read_ipv4(bytes);
  if (!packet) return;
  if (packet->fragment) {
    result.kind = FrameKind::ipv4_fragment;
    return;
  }
  switch (packet->protocol) {
    case kProtocolUdp:
      classify_udp<Family::ipv4>(*packet, result);
      return;
    case kProtocolIcmp:
      result.kind = icmp_kind(packet->payload);
      return;
    case kProtocolIgmp:
      result.kind = FrameKind::igmp;
      return;
    case kProtocolTcp:
      classify_tcp<Family::ipv4>(*packet, result);
      return;
    default:
      result.kind = FrameKind::other_ipv4;
  }
}

/// Judges what is in a softwire, of which the kind is that of a packet in none.
void classify_inner(Classified& result) {
  switch (result.kind) {
    case FrameKind::test:
    case FrameKind::corrupt_test:
    case FrameKind::ipv4_fragment:
      return;
    default:
      // An address request or an error within a softwire is not meant for the tester.
      result.kind = FrameKind::in_softwire;
  }
}

void classify_ipv6(Bytes bytes, Classified& result) {
  result.family = Family::ipv6;
  const auto packet = read_ipv6(bytes);
  if (!packet) return;
  switch (packet->protocol) {
    case kProtocolUdp:
      classify_udp<Family::ipv6>(*packet, result);
      return;
    case kProtocolFragment:
      result.kind = FrameKind::ipv6_fragment;
      return;
    case kProtocolIcmpv6:
      result.kind = icmpv6_kind(packet->payload);
      return;
    case kProtocolIpv4:
      result.outer = packet->header.data();
      result.between = static_cast<std::size_t>(packet->payload.data() - packet->header.data()) - kIpv6Bytes;
      classify_ipv4(packet->payload, result);
      classify_inner(result);
      return;
    case kProtocolTcp:
      classify_tcp<Family::ipv6>(*packet, result);
      return;
    default:
      result.kind = FrameKind::other_ipv6;
  }
}

}  // namespace

std::string_view name_of(FrameKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

Classified classify(Bytes frame) {
  Classified result;
  if (frame.size() < kEthernetBytes) return result;
  const Bytes packet = frame.subspan(kEthernetBytes);
  switch (load_be16(frame.data() + 12)) {
    case kEtherTypeIpv4:
      classify_ipv4(packet, result);
      break;
    case kEtherTypeIpv6:
      classify_ipv6(packet, result);
      break;
    case kEtherTypeArp:
      result.kind = FrameKind::arp;
      break;
    case kEtherTypeLldp:
      result.kind = FrameKind::lldp;
      break;
    default:
      result.kind = FrameKind::other_ethertype;
  }
  return result;
}

}  // namespace natxy
