// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/softwire_end.hpp"

#include <algorithm>
#include <array>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/layers.hpp"
#include "reference/gateway/subscribers.hpp"

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

// More fragments follow, in the fragment header of IPv6 (RFC 8200 §4.5) and in the header of IPv4 (RFC 791).
constexpr std::uint16_t kMoreIpv6 = 1;
constexpr std::uint16_t kMoreIpv4 = 0x2000;

/// Returns how many bytes the first of two fragments has of a packet's payload: about half, a multiple of 8.
std::size_t first_part(std::size_t bytes) { return (bytes / 2 + 7) / 8 * 8; }

/// Returns a copy of a frame, with kGrowth free bytes before it.
std::vector<std::uint8_t> copy_of(const Frame& frame) {
  std::vector<std::uint8_t> copy(kGrowth + frame.length);
  std::copy_n(frame.data, frame.length, copy.begin() + kGrowth);
  return copy;
}

/// Cuts the bytes from `from` to `to` out of a frame.
void cut(Frame& frame, std::size_t from, std::size_t to) {
  std::copy(frame.data + to, frame.data + frame.length, frame.data + from);
  frame.length -= to - from;
}

/// Makes a frame of an IPv4 packet its first fragment and `second` the other one. Both of them have a part of the
/// payload.
void fragment_ipv4(Frame& first, Frame& second) {
  const std::size_t payload_at = kEthernetBytes + std::size_t{first.data[kEthernetBytes] & 0x0FU} * 4;
  const std::size_t part = first_part(first.length - payload_at);
  first.length = payload_at + part;
  cut(second, payload_at, payload_at + part);
  const auto put = [](const Frame& frame, std::size_t behind_at, std::uint16_t fragment) {
    std::uint8_t* ip = frame.data + kEthernetBytes;
    store_be16(ip + 2, static_cast<std::uint16_t>(frame.length - kEthernetBytes));
    store_be16(ip + 6, fragment);
    store_be16(ip + 10, 0);
    store_raw(ip + 10, ip_checksum(checksum_of(ip, behind_at - kEthernetBytes)));
  };
  put(first, payload_at, kMoreIpv4);
  put(second, payload_at, static_cast<std::uint16_t>(part / 8));
}

/// Makes a frame of an IPv6 packet its first fragment and `second` the other one.
void fragment_ipv6(Frame& first, Frame& second) {
  constexpr std::size_t kPayloadAt = kEthernetBytes + kIpv6Bytes;
  const std::size_t part = first_part(first.length - kPayloadAt);
  const std::uint8_t protocol = first.data[kEthernetBytes + 6];
  first.length = kPayloadAt + part;
  cut(second, kPayloadAt, kPayloadAt + part);
  const auto put = [&](Frame& frame, std::uint16_t fragment) {
    const std::uint8_t* before = frame.data;
    frame = {frame.data - kExtensionUnitBytes, frame.length + kExtensionUnitBytes};
    std::copy(before, before + kPayloadAt, frame.data);
    std::uint8_t* ip = frame.data + kEthernetBytes;
    store_be16(ip + 4, static_cast<std::uint16_t>(frame.length - kPayloadAt));
    ip[6] = kProtocolFragment;
    std::uint8_t* header = frame.data + kPayloadAt;
    header[0] = protocol;
    header[1] = 0;
    store_be16(header + 2, fragment);
    store_be32(header + 4, 1);
  };
  put(first, kMoreIpv6);
  put(second, static_cast<std::uint16_t>(part));
}

}  // namespace

SoftwireEnd::SoftwireEnd(const SoftwireSettings& settings, uint128 interface_address)
    : settings_{settings},
      interface_address_{interface_address},
      wrong_subscriber_{settings.wrong_subscriber_every},
      option_{settings.option_every},
      leak_{settings.leak_every},
      interface_source_{settings.interface_source_every},
      stale_{settings.stale_binding},
      low_hop_limit_{settings.hop_limit_every},
      inner_fragments_{settings.inner_fragments_every},
      outer_fragments_{settings.outer_fragments_every} {}

std::optional<Drop> SoftwireEnd::open(Frame& frame, uint128& subscriber) const {
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
  const TransportPacket opened(frame);
  if (opened.kind() != TransportPacket::Kind::plain) return std::nullopt;
  const bool at_core = side() == Side::left;
  const uint128 core = at_core ? destination : source;
  if (core != settings_.softwire.core) return Drop::wrong_softwire;
  subscriber = at_core ? source : destination;
  const Endpoint own = at_core ? opened.source() : opened.destination();
  const bool passes = settings_.accepts_any_subscriber || is_bound(subscriber, own);
  return passes ? std::nullopt : std::optional{Drop::wrong_softwire};
}

/// Returns whether a packet of the endpoint `own` belongs to the softwire of a subscriber.
bool SoftwireEnd::is_bound(uint128 subscriber, Endpoint own) const {
  const Softwire& softwire = settings_.softwire;
  if (softwire.inner_address) {
    if (own.address != *softwire.inner_address) return false;
    // All homes have this address. An address of their own is only in their end of the softwire.
    own.address = SubscriberRule::address_in(static_cast<std::uint64_t>(subscriber));
  }
  return subscriber == subscriber_of(softwire.subscribers, own);
}

Frame SoftwireEnd::close(const TransportPacket& packet, uint128 subscriber, Counters& counters,
                         std::vector<std::uint8_t>& second) {
  const Turn turn = next_turn();
  Frame first = packet.frame();
  if (turn.leak) {
    ++counters.leaked;
    return first;
  }
  const Header header = header_of(packet, subscriber, turn);
  counters.stale_binding += turn.stale ? 1 : 0;
  counters.wrong_subscriber += turn.wrong_subscriber && !turn.stale ? 1 : 0;
  counters.interface_source += turn.interface_source ? 1 : 0;
  counters.low_hop_limit += turn.low_hop_limit ? 1 : 0;
  counters.with_option += turn.option ? 1 : 0;
  // Ethernet may have padded the packet.
  first.length = kEthernetBytes + load_be16(first.data + kEthernetBytes + 2);
  const auto with_second = [&](auto fragment) {
    second = copy_of(first);
    Frame rest{second.data() + kGrowth, first.length};
    fragment(first, rest);
    return rest;
  };
  const auto keep = [&](const Frame& rest) {
    second.erase(second.begin(), second.begin() + (rest.data - second.data()));
    second.resize(rest.length);
  };
  if (turn.inner_fragments) {
    ++counters.inner_fragmented;
    keep(encapsulate(with_second(fragment_ipv4), header));
    return encapsulate(first, header);
  }
  first = encapsulate(first, header);
  if (turn.outer_fragments) {
    ++counters.outer_fragmented;
    keep(with_second(fragment_ipv6));
  }
  return first;
}

/// Advances all sequences, as every frame must.
SoftwireEnd::Turn SoftwireEnd::next_turn() {
  return {.leak = leak_.next(),
          .inner_fragments = inner_fragments_.next(),
          .outer_fragments = outer_fragments_.next(),
          .stale = stale_.next(),
          .wrong_subscriber = wrong_subscriber_.next(),
          .interface_source = interface_source_.next(),
          .low_hop_limit = low_hop_limit_.next(),
          .option = option_.next()};
}

SoftwireEnd::Header SoftwireEnd::header_of(const TransportPacket& packet, uint128 subscriber, const Turn& turn) const {
  const bool from_edge = settings_.sends == Outer::from_edge;
  const Softwire& softwire = settings_.softwire;
  const Endpoint own = from_edge ? packet.source() : packet.destination();
  uint128 end = subscriber != 0 ? subscriber : subscriber_of(softwire.subscribers, own);
  if (turn.stale) {
    end = stale_of(end);
  } else if (turn.wrong_subscriber) {
    end = subscriber != 0 ? subscriber ^ 1 : neighbor_of(softwire.subscribers, own);
  }
  const uint128 source = from_edge ? end : softwire.core;
  return {.source = turn.interface_source ? interface_address_ : source,
          .destination = from_edge ? softwire.core : end,
          .hop_limit = turn.low_hop_limit ? std::uint8_t{1} : softwire.hop_limit,
          .optioned = turn.option};
}

Frame SoftwireEnd::encapsulate(const Frame& frame, const Header& header) const {
  std::uint8_t* inner = frame.data + kEthernetBytes;
  const std::size_t between = header.optioned ? kExtensionUnitBytes : 0;
  const std::size_t carried = between + load_be16(inner + 2);
  std::uint8_t* outer = inner - between - kIpv6Bytes;
  const Frame moved = with_ethernet(frame, outer, kIpv6Bytes + carried, kEtherTypeIpv6);
  const Softwire& softwire = settings_.softwire;
  store_be32(outer, 6U << 28 | std::uint32_t{softwire.traffic_class} << 20 | softwire.flow_label);
  store_be16(outer + 4, static_cast<std::uint16_t>(carried));
  outer[6] = header.optioned ? kProtocolDestinationOptions : kProtocolIpv4;
  outer[7] = header.hop_limit;
  store_be128(outer + 8, header.source);
  store_be128(outer + 24, header.destination);
  if (header.optioned) put_limit(outer + kIpv6Bytes);
  return moved;
}

}  // namespace natxy::reference
