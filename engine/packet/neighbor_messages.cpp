// SPDX-License-Identifier: Apache-2.0
#include "packet/neighbor_messages.hpp"

#include <algorithm>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"

namespace natxy {

namespace {

constexpr MacAddress kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr std::size_t kArpBytes = 28;
constexpr std::uint16_t kArpRequest = 1;
constexpr std::uint16_t kArpReply = 2;
constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kSourceLinkAddress = 1;
constexpr std::uint8_t kTargetLinkAddress = 2;
constexpr std::size_t kNdpBytes = 24;   // ICMPv6 header and target
constexpr std::size_t kLinkOption = 8;  // type, length, MAC address

void put_ethernet(NeighborFrame& frame, const MacAddress& to, const MacAddress& from, std::uint16_t type) {
  std::ranges::copy(to, frame.data());
  std::ranges::copy(from, frame.data() + 6);
  store_be16(frame.data() + 12, type);
}

MacAddress mac_at(const std::uint8_t* bytes) {
  MacAddress mac{};
  std::copy_n(bytes, mac.size(), mac.begin());
  return mac;
}

NeighborFrame make_arp(std::uint16_t operation, const AnyAddress& sender, const MacAddress& sender_mac,
                       const AnyAddress& target, const MacAddress& target_mac) {
  NeighborFrame frame(kMinFrameBytes - kFcsBytes);
  put_ethernet(frame, operation == kArpRequest ? kBroadcast : target_mac, sender_mac, kEtherTypeArp);
  std::uint8_t* arp = frame.data() + kEthernetBytes;
  store_be16(arp, 1);
  store_be16(arp + 2, kEtherTypeIpv4);
  arp[4] = 6;
  arp[5] = 4;
  store_be16(arp + 6, operation);
  std::ranges::copy(sender_mac, arp + 8);
  store_be32(arp + 14, static_cast<std::uint32_t>(sender.value));
  if (operation == kArpReply) std::ranges::copy(target_mac, arp + 18);
  store_be32(arp + 24, static_cast<std::uint32_t>(target.value));
  return frame;
}

struct NdpMessage {
  std::uint8_t type;
  std::uint8_t flags;
  uint128 source;
  uint128 destination;
  uint128 target;
  MacAddress source_mac;
  MacAddress destination_mac;
};

NeighborFrame make_ndp(const NdpMessage& message) {
  constexpr std::size_t icmp_length = kNdpBytes + kLinkOption;
  NeighborFrame frame(kEthernetBytes + kIpv6Bytes + icmp_length);
  put_ethernet(frame, message.destination_mac, message.source_mac, kEtherTypeIpv6);
  std::uint8_t* ip = frame.data() + kEthernetBytes;
  ip[0] = 0x60;
  store_be16(ip + 4, icmp_length);
  ip[6] = kProtocolIcmpv6;
  ip[7] = 255;  // receivers drop anything less (RFC 4861 §7.1)
  store_be128(ip + 8, message.source);
  store_be128(ip + 24, message.destination);
  std::uint8_t* icmp = ip + kIpv6Bytes;
  icmp[0] = message.type;
  icmp[4] = message.flags;
  store_be128(icmp + 8, message.target);
  icmp[kNdpBytes] = message.type == kSolicitation ? kSourceLinkAddress : kTargetLinkAddress;
  icmp[kNdpBytes + 1] = 1;
  std::ranges::copy(message.source_mac, icmp + kNdpBytes + 2);
  const std::uint64_t pseudo_header =
      checksum_of(ip + 8, 32) + __builtin_bswap16(icmp_length) + __builtin_bswap16(kProtocolIcmpv6);
  store_raw(icmp + 2, udp_checksum(pseudo_header + checksum_of(icmp, icmp_length)));
  return frame;
}

std::optional<NeighborMessage> parse_arp(std::span<const std::uint8_t> arp) {
  if (arp.size() < kArpBytes || load_be16(arp.data()) != 1 || load_be16(arp.data() + 2) != kEtherTypeIpv4 ||
      arp[4] != 6 || arp[5] != 4) {
    return std::nullopt;
  }
  const std::uint16_t operation = load_be16(arp.data() + 6);
  const AnyAddress sender{Family::ipv4, load_be32(arp.data() + 14)};
  const MacAddress sender_mac = mac_at(arp.data() + 8);
  if (operation == kArpRequest) {
    return NeighborMessage{true, sender, sender_mac, {Family::ipv4, load_be32(arp.data() + 24)}};
  }
  if (operation == kArpReply) return NeighborMessage{false, sender, sender_mac, sender};
  return std::nullopt;
}

std::optional<NeighborMessage> parse_ndp(std::span<const std::uint8_t> packet, const MacAddress& link_source) {
  if (packet.size() < kIpv6Bytes + kNdpBytes || packet[6] != kProtocolIcmpv6 || packet[7] != 255) return std::nullopt;
  const std::size_t length = load_be16(packet.data() + 4);
  if (length < kNdpBytes || length > packet.size() - kIpv6Bytes) return std::nullopt;
  const auto icmp = packet.subspan(kIpv6Bytes, length);
  const bool request = icmp[0] == kSolicitation;
  if (!request && icmp[0] != kAdvertisement) return std::nullopt;

  MacAddress mac = link_source;
  const std::uint8_t wanted = request ? kSourceLinkAddress : kTargetLinkAddress;
  for (auto options = icmp.subspan(kNdpBytes); options.size() >= kLinkOption;) {
    const std::size_t option_length = std::size_t{options[1]} * 8;
    if (option_length == 0 || option_length > options.size()) break;
    if (options[0] == wanted) mac = mac_at(options.data() + 2);
    options = options.subspan(option_length);
  }
  return NeighborMessage{
      request, {Family::ipv6, load_be128(packet.data() + 8)}, mac, {Family::ipv6, load_be128(icmp.data() + 8)}};
}

}  // namespace

std::optional<NeighborMessage> parse_neighbor_message(std::span<const std::uint8_t> frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  const auto packet = frame.subspan(kEthernetBytes);
  switch (load_be16(frame.data() + 12)) {
    case kEtherTypeArp:
      return parse_arp(packet);
    case kEtherTypeIpv6:
      return parse_ndp(packet, mac_at(frame.data() + 6));
    default:
      return std::nullopt;
  }
}

NeighborFrame make_neighbor_request(const AnyAddress& sender, const MacAddress& sender_mac, const AnyAddress& target) {
  if (target.family == Family::ipv4) return make_arp(kArpRequest, sender, sender_mac, target, {});
  // Solicited-node multicast, RFC 4291 §2.7.1, and its Ethernet address, RFC 2464 §7.
  const auto low = static_cast<std::uint32_t>(target.value & 0xFFFFFF);
  const uint128 group = (uint128{0xFF02} << 112) | (uint128{0x1FF} << 24) | low;
  const MacAddress group_mac = {0x33,
                                0x33,
                                0xFF,
                                static_cast<std::uint8_t>(low >> 16),
                                static_cast<std::uint8_t>(low >> 8),
                                static_cast<std::uint8_t>(low)};
  return make_ndp({kSolicitation, 0, sender.value, group, target.value, sender_mac, group_mac});
}

NeighborFrame make_neighbor_answer(const NeighborMessage& request, const MacAddress& mac) {
  if (request.target.family == Family::ipv4) {
    return make_arp(kArpReply, request.target, mac, request.sender, request.sender_mac);
  }
  constexpr std::uint8_t override_flag = 0x20;
  constexpr std::uint8_t solicited_flag = 0x40;
  // Duplicate address detection has no sender address, so the answer goes to all nodes (RFC 4861 §7.2.4).
  if (request.sender.value == 0) {
    const uint128 all_nodes = (uint128{0xFF02} << 112) | 1;
    return make_ndp({kAdvertisement, override_flag, request.target.value, all_nodes, request.target.value, mac,
                     MacAddress{0x33, 0x33, 0, 0, 0, 1}});
  }
  return make_ndp({kAdvertisement, solicited_flag | override_flag, request.target.value, request.sender.value,
                   request.target.value, mac, request.sender_mac});
}

}  // namespace natxy
