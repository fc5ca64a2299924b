// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/softwire_end.hpp"

#include <algorithm>
#include <array>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"
#include "packet/layers.hpp"

namespace natxy::reference {

namespace {

/// Moves the Ethernet header of a frame to where its packet begins now, with another type.
Frame with_ethernet(const Frame& frame, std::uint8_t* packet, std::size_t packet_bytes, std::uint16_t type) {
  std::array<std::uint8_t, kEthernetBytes> ethernet{};
  std::copy_n(frame.data, ethernet.size(), ethernet.begin());
  const Frame moved{packet - kEthernetBytes, kEthernetBytes + packet_bytes};
  std::ranges::copy(ethernet, moved.data);
  store_be16(moved.data + 12, type);
  return moved;
}

/// Writes the tunnel encapsulation limit as Linux does (RFC 2473 §5.1): a header of destination options.
void put_limit(std::uint8_t* to) {
  constexpr std::array<std::uint8_t, kExtensionUnitBytes> kLimit = {kProtocolIpv4, 0, 4, 1, 4, 1, 1, 0};
  std::ranges::copy(kLimit, to);
}

}  // namespace

SoftwireEnd::SoftwireEnd(const SoftwireSettings& settings)
    : settings_{settings},
      wrong_subscriber_{settings.wrong_subscriber_every},
      option_{settings.option_every},
      leak_{settings.leak_every} {}

std::optional<Drop> SoftwireEnd::open(Frame& frame) const {
  if (frame.length < kEthernetBytes) return Drop::malformed;
  if (load_be16(frame.data + 12) != kEtherTypeIpv6) return Drop::foreign;
  const auto outer = read_ipv6({frame.data + kEthernetBytes, frame.length - kEthernetBytes});
  if (!outer) return Drop::malformed;
  if (outer->protocol != kProtocolIpv4) return std::nullopt;
  const auto inner = read_ipv4(outer->payload);
  if (!inner) return Drop::malformed;
  const uint128 source = load_be128(outer->header.data() + 8);
  const uint128 destination = load_be128(outer->header.data() + 24);
  std::uint8_t* packet = frame.data + (outer->payload.data() - frame.data);
  frame = with_ethernet(frame, packet, inner->header.size() + inner->payload.size(), kEtherTypeIpv4);
  const UdpPacket opened(frame);
  if (opened.kind() != UdpPacket::Kind::udp) return std::nullopt;
  const bool at_core = side() == Side::left;
  const uint128 core = at_core ? destination : source;
  const uint128 edge = at_core ? source : destination;
  if (core != settings_.softwire.core) return Drop::wrong_softwire;
  const bool bound = edge == subscriber(at_core ? opened.source() : opened.destination());
  return bound || settings_.accepts_any_subscriber ? std::nullopt : std::optional{Drop::wrong_softwire};
}

Frame SoftwireEnd::close(const UdpPacket& packet, Counters& counters) {
  // All sequences must advance with every frame.
  const bool wrong = wrong_subscriber_.next();
  const bool optioned = option_.next();
  if (leak_.next()) {
    ++counters.leaked;
    return packet.frame();
  }
  const bool from_edge = settings_.sends == Outer::from_edge;
  const Softwire& softwire = settings_.softwire;
  std::uint8_t* inner = packet.frame().data + kEthernetBytes;
  const std::size_t between = optioned ? kExtensionUnitBytes : 0;
  const std::size_t carried = between + load_be16(inner + 2);
  std::uint8_t* outer = inner - between - kIpv6Bytes;
  const Frame frame = with_ethernet(packet.frame(), outer, kIpv6Bytes + carried, kEtherTypeIpv6);
  store_be32(outer, 6U << 28 | std::uint32_t{softwire.traffic_class} << 20 | softwire.flow_label);
  store_be16(outer + 4, static_cast<std::uint16_t>(carried));
  outer[6] = optioned ? kProtocolDestinationOptions : kProtocolIpv4;
  outer[7] = softwire.hop_limit;
  const Endpoint own = from_edge ? packet.source() : packet.destination();
  const uint128 end = wrong ? neighbor(own) : subscriber(own);
  store_be128(outer + 8, from_edge ? end : softwire.core);
  store_be128(outer + 24, from_edge ? softwire.core : end);
  if (optioned) put_limit(outer + kIpv6Bytes);
  counters.wrong_subscriber += wrong ? 1 : 0;
  counters.with_option += optioned ? 1 : 0;
  return frame;
}

uint128 SoftwireEnd::subscriber(const Endpoint& own) const {
  const SubscriberRule& rule = settings_.softwire.subscribers;
  const auto address = static_cast<std::uint64_t>(own.address);
  const std::uint64_t port = own.port;
  return uint128{rule.high_of(address, port)} << 64 | rule.low_of(address, port);
}

uint128 SoftwireEnd::neighbor(const Endpoint& own) const {
  const SubscriberRule& rule = settings_.softwire.subscribers;
  Endpoint other = own;
  if (rule.psid_mask != 0) {
    other.port ^= static_cast<std::uint16_t>(1U << rule.psid_drop);
  } else if (rule.address_mask != 0) {
    other.address ^= 1;
  } else {
    return subscriber(own) ^ 1;
  }
  return subscriber(other);
}

}  // namespace natxy::reference
