// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/transport_packet.hpp"

#include <algorithm>
#include <array>

#include "form/segment.hpp"
#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/layers.hpp"

namespace natxy::reference {

namespace {

// Longer packets must not be fragmented on the IPv4 side (RFC 7915 §5.1).
constexpr std::size_t kMayFragment = 1260;

/// Returns the checksum after a change: HC' = ~(~HC + ~m + m') (RFC 1624). `before` and `after` are the sums of the
/// words that change.
std::uint16_t updated(std::uint16_t checksum, std::uint64_t before, std::uint64_t after) {
  const auto inverse = [](std::uint16_t word) { return static_cast<std::uint16_t>(~word); };
  return inverse(fold(std::uint64_t{inverse(checksum)} + inverse(fold(before)) + after));
}

}  // namespace

TransportPacket::TransportPacket(const Frame& frame) : frame_{frame} {
  if (frame.length < kEthernetBytes) {
    kind_ = Kind::malformed;
    return;
  }
  const std::uint16_t type = load_be16(frame.data + 12);
  if (type != kEtherTypeIpv4 && type != kEtherTypeIpv6) return;
  const auto packet = read_ip(type, std::span(frame.data, frame.length).subspan(kEthernetBytes));
  kind_ = Kind::malformed;
  if (!packet) return;
  family_ = packet->family;
  if (family_ == Family::ipv4 && !is_intact(checksum_of(packet->header.data(), packet->header.size()))) return;
  const bool udp = packet->protocol == kProtocolUdp;
  if ((!udp && packet->protocol != kProtocolTcp) || packet->fragment) {
    kind_ = Kind::foreign;
    return;
  }
  protocol_ = udp ? Transport::udp : Transport::tcp;
  if (packet->payload.size() < bytes_of(protocol_)) return;
  if (udp && load_be16(packet->payload.data() + 4) != packet->payload.size()) return;
  ip_ = frame.data + kEthernetBytes;
  transport_ = frame.data + (packet->payload.data() - frame.data);
  transport_bytes_ = static_cast<std::uint16_t>(packet->payload.size());
  kind_ = Kind::plain;
}

std::uint8_t TransportPacket::tcp_flags() const {
  return protocol_ == Transport::tcp ? transport_[13] : std::uint8_t{0};
}

std::uint8_t TransportPacket::hop_limit() const { return family_ == Family::ipv4 ? ip_[8] : ip_[7]; }

Endpoint TransportPacket::source() const {
  return {family_ == Family::ipv4 ? load_be32(ip_ + 12) : load_be128(ip_ + 8), load_be16(transport_)};
}

Endpoint TransportPacket::destination() const {
  return {family_ == Family::ipv4 ? load_be32(ip_ + 16) : load_be128(ip_ + 24), load_be16(transport_ + 2)};
}

void TransportPacket::decrement_hop_limit() {
  if (family_ == Family::ipv6) {
    --ip_[7];
    return;
  }
  const std::uint64_t before = checksum_of(ip_ + 8, 2);
  --ip_[8];
  store_raw(ip_ + 10, updated(load_raw<std::uint16_t>(ip_ + 10), before, checksum_of(ip_ + 8, 2)));
}

void TransportPacket::rewrite(const Endpoint& source, const Endpoint& destination) {
  const std::uint64_t before = pseudo_sum();
  if (family_ == Family::ipv4) {
    const std::uint64_t addresses = checksum_of(ip_ + 12, 8);
    put_endpoints(source, destination);
    store_raw(ip_ + 10, updated(load_raw<std::uint16_t>(ip_ + 10), addresses, checksum_of(ip_ + 12, 8)));
  } else {
    put_endpoints(source, destination);
  }
  update_checksum(before);
}

void TransportPacket::translate(const Endpoint& source, const Endpoint& destination) {
  const std::uint64_t before = pseudo_sum();
  std::array<std::uint8_t, kEthernetBytes> ethernet{};
  std::copy_n(frame_.data, ethernet.size(), ethernet.begin());
  const std::uint8_t hops = hop_limit();
  // The traffic class or type of service is copied (RFC 7915 §4.1, §5.1).
  const std::uint8_t service = family_ == Family::ipv4 ? ip_[1] : static_cast<std::uint8_t>(load_be16(ip_) >> 4 & 0xFF);
  const bool unsummed = lacks_checksum();

  family_ = family_ == Family::ipv4 ? Family::ipv6 : Family::ipv4;
  ip_ = transport_ - ip_bytes(family_);
  frame_ = {ip_ - kEthernetBytes, kEthernetBytes + ip_bytes(family_) + transport_bytes_};
  std::ranges::copy(ethernet, frame_.data);
  std::fill_n(ip_, ip_bytes(family_), std::uint8_t{0});
  if (family_ == Family::ipv4) {
    const std::size_t total = kIpv4Bytes + transport_bytes_;
    store_be16(frame_.data + 12, kEtherTypeIpv4);
    ip_[0] = 0x45;
    ip_[1] = service;
    store_be16(ip_ + 2, static_cast<std::uint16_t>(total));
    if (total > kMayFragment) store_be16(ip_ + 6, kIpv4DontFragment);
    ip_[8] = hops;
    ip_[9] = number_of(protocol_);
  } else {
    store_be16(frame_.data + 12, kEtherTypeIpv6);
    store_be32(ip_, (6U << 28) | (std::uint32_t{service} << 20));
    store_be16(ip_ + 4, transport_bytes_);
    ip_[6] = number_of(protocol_);
    ip_[7] = hops;
  }
  put_endpoints(source, destination);
  if (family_ == Family::ipv4) store_raw(ip_ + 10, ip_checksum(checksum_of(ip_, kIpv4Bytes)));
  if (unsummed) {
    // IPv6 requires the checksum that was optional in IPv4 (RFC 7915 §4.5).
    const std::uint64_t pseudo = pseudo_sum() - checksum_of(transport_, 4) + length_sum();
    store_raw(checksum(), udp_checksum(pseudo + checksum_of(transport_, transport_bytes_)));
  } else {
    update_checksum(before);
  }
}

void TransportPacket::shift_sequence() {
  std::uint8_t* sequence = transport_ + 4;
  const std::uint64_t before = checksum_of(sequence, 4);
  store_be32(sequence, load_be32(sequence) + 1);
  store_raw(checksum(), updated(load_raw<std::uint16_t>(checksum()), before, checksum_of(sequence, 4)));
}

void TransportPacket::refuse() {
  const Endpoint sender = source();
  const std::uint32_t next = load_be32(transport_ + 4) + 1;
  put_endpoints(destination(), sender);
  std::fill_n(transport_ + 4, kTcpBytes - 4, std::uint8_t{0});
  store_be32(transport_ + 8, next);
  transport_[12] = kTcpBytes / 4 << 4;
  transport_[13] = kTcpReset | kTcpAck;
  transport_bytes_ = kTcpBytes;
  frame_.length = static_cast<std::size_t>(transport_ - frame_.data) + kTcpBytes;
  if (family_ == Family::ipv4) {
    store_be16(ip_ + 2, static_cast<std::uint16_t>(frame_.length - kEthernetBytes));
    store_be16(ip_ + 10, 0);
    store_raw(ip_ + 10, ip_checksum(checksum_of(ip_, kIpv4Bytes)));
  } else {
    store_be16(ip_ + 4, static_cast<std::uint16_t>(frame_.length - kEthernetBytes - kIpv6Bytes));
  }
  const std::uint64_t pseudo = pseudo_sum() - checksum_of(transport_, 4) + length_sum();
  store_raw(checksum(), ip_checksum(pseudo + checksum_of(transport_, transport_bytes_)));
}

void TransportPacket::spoil_checksum() {
  const std::uint16_t right = load_raw<std::uint16_t>(checksum());
  // 0 would mean no checksum.
  const auto wrong = static_cast<std::uint16_t>(right ^ 0x0101);
  store_raw(checksum(), wrong == 0 ? std::uint16_t{0x0202} : wrong);
}

void TransportPacket::remove_checksum() { store_raw(checksum(), std::uint16_t{0}); }

/// Returns whether a UDP datagram has no checksum (RFC 768).
bool TransportPacket::lacks_checksum() const {
  return protocol_ == Transport::udp && load_raw<std::uint16_t>(checksum()) == 0;
}

/// Returns the sum of the addresses and ports, which the checksum of the datagram or segment covers.
std::uint64_t TransportPacket::pseudo_sum() const {
  const std::uint64_t addresses = family_ == Family::ipv4 ? checksum_of(ip_ + 12, 8) : checksum_of(ip_ + 8, 32);
  return addresses + checksum_of(transport_, 4);
}

std::uint64_t TransportPacket::length_sum() const {
  return std::uint64_t{__builtin_bswap16(transport_bytes_)} + __builtin_bswap16(std::uint16_t{number_of(protocol_)});
}

void TransportPacket::put_endpoints(const Endpoint& source, const Endpoint& destination) {
  if (family_ == Family::ipv4) {
    store_be32(ip_ + 12, static_cast<std::uint32_t>(source.address));
    store_be32(ip_ + 16, static_cast<std::uint32_t>(destination.address));
  } else {
    store_be128(ip_ + 8, source.address);
    store_be128(ip_ + 24, destination.address);
  }
  store_be16(transport_, source.port);
  store_be16(transport_ + 2, destination.port);
}

void TransportPacket::update_checksum(std::uint64_t sum_before) {
  if (lacks_checksum()) return;
  const std::uint16_t right = updated(load_raw<std::uint16_t>(checksum()), sum_before, pseudo_sum());
  store_raw(checksum(), protocol_ == Transport::udp ? never_zero(right) : right);
}

}  // namespace natxy::reference
