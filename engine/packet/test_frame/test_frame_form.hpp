// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/address.hpp"
#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/classifier.hpp"
#include "packet/headers.hpp"
#include "packet/signature.hpp"
#include "packet/test_frame/transpose.hpp"

namespace natxy {

/// Recognises the form in which nearly all test frames of a stream arrive: intact, with the stream's length and the
/// trial's run id, without options or extension headers. This takes a fraction of the time of `classify`, which handles
/// all other frames.
class TestFrameForm {
 public:
  using Frame = std::span<const std::uint8_t>;

  TestFrameForm(Family family, std::size_t payload_bytes, std::uint16_t run_id, std::uint8_t stream);

  /// Returns how many of `frames`, from the first on, have this form. `classify` classifies all of them as test frames,
  /// and maybe others, too.
  [[nodiscard]] std::size_t leading(std::span<const Frame> frames) const {
    return family_ == Family::ipv4 ? leading<Family::ipv4>(frames) : leading<Family::ipv6>(frames);
  }

  /// Returns the datagram in a frame of this form.
  [[nodiscard]] Datagram datagram(Frame frame) const { return {frame.data() + kEthernetBytes, frame.data() + udp_at_}; }

 private:
  /// Holds the known bits of sixteen consecutive bytes of a frame.
  struct Stretch {
    TwoWords known{};
    TwoWords value{};

    [[nodiscard]] TwoWords differences(const std::uint8_t* bytes) const {
      return (load_raw<TwoWords>(bytes) ^ value) & known;
    }
  };

  static constexpr std::size_t kHeadersAt = 12;  // from the EtherType on

  template <Family F>
  [[nodiscard]] std::size_t leading(std::span<const Frame> frames) const {
    // The compiler does not have to reload a local copy after other stores.
    const TestFrameForm form = *this;
    std::size_t count = 0;
    while (count < frames.size() && form.has<F>(frames[count])) ++count;
    return count;
  }

  template <Family F>
  [[nodiscard]] bool has(Frame frame) const {
    constexpr std::size_t kUdp = kEthernetBytes + ip_bytes(F);
    if (frame.size() < bytes_) return false;
    const std::uint8_t* bytes = frame.data();
    const TwoWords differences = headers_.differences(bytes + kHeadersAt) | datagram_.differences(bytes + kUdp);
    if ((differences[0] | differences[1]) != 0 || load_raw<std::uint16_t>(bytes + kUdp + 6) == 0) return false;
    // The UDP checksum covers everything from the addresses on.
    constexpr std::size_t kAddresses = kEthernetBytes + (F == Family::ipv4 ? 12 : 8);
    constexpr std::size_t kLeast = kUdp + kUdpBytes + kSignatureBytes;
    OnesSum sum{pseudo_header_};
    std::size_t at = kAddresses;
    for (; at < kLeast - 8; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    for (; at < last_at_; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    sum.add(load_raw<std::uint64_t>(bytes + bytes_ - 8) >> last_shift_);
    if constexpr (F == Family::ipv4) {
      OnesSum header{load_raw<std::uint32_t>(bytes + kEthernetBytes + 16)};
      header.add(load_raw<std::uint64_t>(bytes + kEthernetBytes));
      header.add(load_raw<std::uint64_t>(bytes + kEthernetBytes + 8));
      return is_intact(sum.value) && is_intact(header.value);
    } else {
      return is_intact(sum.value);
    }
  }

  Family family_;
  std::size_t udp_at_;
  std::size_t bytes_;
  std::size_t last_at_;              // offset of the last word, whole or partial, counting words from the addresses on
  unsigned last_shift_;              // bits of the frame's last eight bytes that do not belong to that word
  std::uint64_t pseudo_header_ = 0;  // its sum without the addresses
  Stretch headers_;
  Stretch datagram_;  // the UDP header and the start of the signature
};

}  // namespace natxy
