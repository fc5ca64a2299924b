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
  std::vector<FormInFamily> all = {{Form::udp, Family::ipv4}};
  for (std::size_t i = 0; i < kForms; ++i) all.push_back({static_cast<Form>(i), Family::ipv6});
  return all;
}

constexpr std::uint16_t kRun = 0xABCD;
constexpr std::uint8_t kStream = 3;

/// Returns the Internet checksum of 16-bit words (RFC 1071).
inline std::uint16_t plain_checksum(const Bytes& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += static_cast<std::uint32_t>(bytes[i] << (i % 2 == 0 ? 8 : 0));
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Puts the checksums of a frame whose other bytes are complete.
inline void put_checksums(const FormInFamily& of, Bytes& frame) {
  const Layout layout = of.layout();
  if (of.family == Family::ipv4) {
    store_be16(&frame[Layout::ip() + 10], 0);
    store_be16(&frame[Layout::ip() + 10],
               plain_checksum({frame.begin() + Layout::ip(), frame.begin() + Layout::ip() + kIpv4Bytes}));
  }
  const auto at = [&](std::size_t offset) { return frame.begin() + static_cast<std::ptrdiff_t>(offset); };
  const std::size_t length = std::min<std::size_t>(load_be16(&frame[layout.udp() + 4]), frame.size() - layout.udp());
  store_be16(&frame[layout.udp() + 6], 0);
  Bytes covered(at(layout.addresses()), at(layout.extensions()));
  covered.insert(covered.end(),
                 {0, kProtocolUdp, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)});
  covered.insert(covered.end(), at(layout.udp()), at(layout.udp() + length));
  store_be16(&frame[layout.udp() + 6], never_zero(plain_checksum(covered)));
}

/// Returns a frame of stream kStream and trial kRun, without the FCS.
template <Family F>
Bytes plain_frame(Form form, std::size_t size, const Tuple<F>& tuple, std::uint64_t sequence, std::uint64_t time) {
  const FormInFamily of{form, F};
  const Layout layout = of.layout();
  Bytes frame(size - kFcsBytes);
  fill(form, F, {.size = size, .stream = kStream, .run_id = kRun}, frame);
  std::uint8_t* addresses = &frame[layout.addresses()];
  if constexpr (F == Family::ipv4) {
    store_be32(addresses, tuple.source);
    store_be32(addresses + 4, tuple.destination);
  } else {
    store_be128(addresses, tuple.source);
    store_be128(addresses + 16, tuple.destination);
  }
  store_be16(&frame[layout.udp()], tuple.source_port);
  store_be16(&frame[layout.udp() + 2], tuple.destination_port);
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
