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
  known_ = pseudo_header_ + checksum_of(signature.data(), kSequenceOffset);
  for (std::size_t i = 0; i < kSequenceOffset; ++i) byte(udp_at_ + kUdpBytes + i, signature.at(i));

  const auto known_at = [&]<class Bytes>(Known<Bytes>& here, std::size_t at) {
    here = {load_raw<Bytes>(known.data() + at), load_raw<Bytes>(value.data() + at)};
  };
  known_at(headers_, kHeadersAt);
  known_at(datagram_, udp_at_);
  known_at(start_, kHeadersAt);
  known_at(stream_, udp_at_ + kUdpBytes);
  const auto words_at = [&](std::size_t first, const auto& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      Known<std::uint64_t> word;
      known_at(word, first + 8 * places[i]);
      words_[i] = {FourWords{} + word.bits, FourWords{} + word.value};
    }
  };
  if (family == Family::ipv4) {
    words_at(Words<Family::ipv4>::kFirst, Words<Family::ipv4>::kKnown);
  } else {
    words_at(Words<Family::ipv6>::kFirst, Words<Family::ipv6>::kKnown);
  }
}

}  // namespace natxy
