// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "form/frame_writer.hpp"

// Test frames of every form, built byte by byte, without the words and sums of FrameWriter.
namespace natxy {

using Bytes = std::vector<std::uint8_t>;

struct FormInFamily {
  Form form;
  Family family;

  [[nodiscard]] Layout layout() const { return layout_of(form, family); }
};

inline std::ostream& operator<<(std::ostream& to, const FormInFamily& each) {
  return to << kFormNames[static_cast<std::size_t>(each.form)] << " over IPv" << static_cast<int>(each.family);
}

/// Lists all forms in the families that have them.
inline std::vector<FormInFamily> all_forms() {
  std::vector<FormInFamily> all;
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    for (std::size_t i = 0; i < kForms; ++i) {
      if (const auto form = static_cast<Form>(i); has_form(family, form)) all.push_back({form, family});
    }
  }
  return all;
}

/// A size in which every form has frames.
constexpr std::size_t kSmallSize = 106;

/// The softwires of RFC 7597, Appendix A, Example 1: 8 bits of address, 8 of PSID, an offset of 6.
constexpr Softwire kSoftwire = {
    .core = uint128{0x2001'0DB8'FFFF'0000} << 64 | 1,
    .subscribers = {.high = 0x2001'0DB8'0000'0000,
                    .address_mask = 0xFF,
                    .address_shift = 16,
                    .psid_mask = 0xFF,
                    .psid_drop = 2,
                    .psid_shift = 8,
                    .identifier = true},
    .hop_limit = 63,
    .traffic_class = 0x12,
    .flow_label = 0x3'4567,
};

/// The same subscribers, and the default mapping rule of RFC 7599, Appendix A, Example 2.
constexpr Mapping kMapping = {
    .subscribers = kSoftwire.subscribers,
    .prefix = {.high = 0x2001'0DB8'FFFF'0000, .low = 0, .after = 32, .shift = 24},
    .traffic_class = 0x21,
    .flow_label = 0x7'6543,
};

constexpr std::uint16_t kRun = 0xABCD;
constexpr std::uint8_t kStream = 3;

/// Returns the Internet checksum of 16-bit words (RFC 1071).
inline std::uint16_t plain_checksum(const Bytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += static_cast<std::uint32_t>(bytes[i] << (i % 2 == 0 ? 8 : 0));
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Puts the IPv6 address of a subscriber, byte by byte, as RFC 7597 draws it (§5.2 and §6).
inline void put_subscriber(Layout layout, std::uint32_t address, std::uint16_t port, Bytes& frame) {
  const auto psid = static_cast<std::uint8_t>(port >> 2);
  const std::array<std::uint8_t, 16> bytes = {0x20,
                                              0x01,
                                              0x0D,
                                              0xB8,
                                              0,
                                              static_cast<std::uint8_t>(address),
                                              psid,
                                              0,
                                              0,
                                              0,
                                              static_cast<std::uint8_t>(address >> 24),
                                              static_cast<std::uint8_t>(address >> 16),
                                              static_cast<std::uint8_t>(address >> 8),
                                              static_cast<std::uint8_t>(address),
                                              0,
                                              psid};
  std::ranges::copy(bytes, &frame[kEthernetBytes + (layout.from_edge() ? 8 : 24)]);
}

/// Puts the IPv6 address of a far host, byte by byte, as RFC 6052 §2.2 draws it.
inline void put_far_host(Layout layout, std::uint32_t address, Bytes& frame) {
  Bytes bytes = {0x20, 0x01, 0x0D, 0xB8, 0xFF, 0xFF, 0, 0};
  bytes.push_back(0);
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(address >> shift));
  bytes.resize(sizeof(uint128));
  std::ranges::copy(bytes, &frame[kEthernetBytes + (layout.from_edge() ? 24 : 8)]);
}

/// Puts the checksums of a frame whose other bytes are complete.
inline void put_checksums(const FormInFamily& of, Bytes& frame) {
  const Layout layout = of.layout();
  if (layout.header_family() == Family::ipv4) {
    const auto ip = frame.begin() + static_cast<std::ptrdiff_t>(layout.ip());
    store_be16(&ip[10], 0);
    store_be16(&ip[10], plain_checksum({ip, ip + kIpv4Bytes}));
  }
  const auto at = [&](std::size_t offset) { return frame.begin() + static_cast<std::ptrdiff_t>(offset); };
  // A datagram ends where the length in the UDP header says.
  const std::size_t rest = frame.size() - layout.transport();
  const bool udp = layout.protocol == Transport::udp;
  const std::size_t length = udp ? std::min<std::size_t>(load_be16(&frame[layout.transport() + 4]), rest) : rest;
  store_be16(&frame[layout.checksum()], 0);
  Bytes covered(at(layout.addresses()), at(layout.extensions()));
  covered.insert(covered.end(), {0, number_of(layout.protocol), static_cast<std::uint8_t>(length >> 8),
                                 static_cast<std::uint8_t>(length)});
  covered.insert(covered.end(), at(layout.transport()), at(layout.transport() + length));
  store_be16(&frame[layout.checksum()], never_zero(plain_checksum(covered)));
}

/// Returns a frame of stream kStream and trial kRun, without the FCS.
template <Family F>
Bytes plain_frame(Form form, std::size_t size, const Tuple<F>& tuple, std::uint64_t sequence, std::uint64_t time) {
  const FormInFamily of{form, F};
  const Layout layout = of.layout();
  Bytes frame(size - kFcsBytes);
  fill(form, F, {.size = size, .stream = kStream, .run_id = kRun, .softwire = kSoftwire, .mapping = kMapping}, frame);
  std::uint8_t* addresses = &frame[layout.addresses()];
  if constexpr (F == Family::ipv4) {
    const auto& sent = layout.from_edge() ? tuple : tuple.swapped();
    if (layout.has_subscriber()) put_subscriber(layout, sent.source, sent.source_port, frame);
    if (layout.mapped == Mapped::none) {
      store_be32(addresses, tuple.source);
      store_be32(addresses + 4, tuple.destination);
    } else {
      put_far_host(layout, sent.destination, frame);
    }
  } else {
    store_be128(addresses, tuple.source);
    store_be128(addresses + 16, tuple.destination);
  }
  store_be16(&frame[layout.transport()], tuple.source_port);
  store_be16(&frame[layout.transport() + 2], tuple.destination_port);
  store_signature(&frame[layout.signature()], {kStream, kRun, sequence, time});
  put_checksums(of, frame);
  return frame;
}

inline Bytes plain_frame(const FormInFamily& of, std::size_t size, std::uint64_t sequence = 5,
                         std::uint64_t time = 0x0102'0304'0506) {
  return of.family == Family::ipv4 ? plain_frame<Family::ipv4>(of.form, size, {1, 2, 3, 4}, sequence, time)
                                   : plain_frame<Family::ipv6>(of.form, size, {1, 2, 3, 4}, sequence, time);
}

}  // namespace natxy
