// SPDX-License-Identifier: Apache-2.0
#include "packet/test_frame/test_frame_form.hpp"

namespace natxy {

TestFrameForm::TestFrameForm(Family family, std::size_t payload_bytes, std::uint16_t run_id, std::uint8_t stream)
    : family_{family}, udp_at_{kEthernetBytes + ip_bytes(family)}, bytes_{udp_at_ + kUdpBytes + payload_bytes} {
  const std::size_t addresses = kEthernetBytes + (family == Family::ipv4 ? 12 : 8);
  last_at_ = addresses + (bytes_ - addresses - 1) / 8 * 8;
  last_shift_ = static_cast<unsigned>(8 * (last_at_ + 8 - bytes_));
  const auto datagram = static_cast<std::uint16_t>(kUdpBytes + payload_bytes);
  pseudo_header_ = std::uint64_t{__builtin_bswap16(kProtocolUdp)} + __builtin_bswap16(datagram);

  std::array<std::uint8_t, kEthernetBytes + kIpv6Bytes + kUdpBytes + kSignatureBytes> value{};
  auto known = value;
  const auto byte = [&](std::size_t at, std::uint8_t is, std::uint8_t mask = 0xFF) {
    value.at(at) = is;
    known.at(at) = mask;
  };
  const auto two_bytes = [&](std::size_t at, std::uint16_t is, std::uint16_t mask = 0xFFFF) {
    byte(at, static_cast<std::uint8_t>(is >> 8), static_cast<std::uint8_t>(mask >> 8));
    byte(at + 1, static_cast<std::uint8_t>(is), static_cast<std::uint8_t>(mask));
  };
  // Routers and translators may change all other fields of the IP header.
  constexpr std::size_t kIp = kEthernetBytes;
  if (family == Family::ipv4) {
    two_bytes(kHeadersAt, kEtherTypeIpv4);
    byte(kIp, 0x45);
    two_bytes(kIp + 2, static_cast<std::uint16_t>(kIpv4Bytes + datagram));
    two_bytes(kIp + 6, 0, 0x3FFF);  // not a fragment
    byte(kIp + 9, kProtocolUdp);
  } else {
    two_bytes(kHeadersAt, kEtherTypeIpv6);
    byte(kIp, 6 << 4, 0xF0);
    two_bytes(kIp + 4, datagram);
    byte(kIp + 6, kProtocolUdp);
  }
  two_bytes(udp_at_ + 4, datagram);
  std::array<std::uint8_t, kSignatureBytes> signature{};
  store_signature(signature.data(), {stream, run_id, 0, 0});
  for (std::size_t i = 0; i < kSequenceOffset; ++i) byte(udp_at_ + kUdpBytes + i, signature.at(i));

  const auto stretch = [&](std::size_t at) {
    return Stretch{load_raw<TwoWords>(known.data() + at), load_raw<TwoWords>(value.data() + at)};
  };
  headers_ = stretch(kHeadersAt);
  datagram_ = stretch(udp_at_);
}

}  // namespace natxy
