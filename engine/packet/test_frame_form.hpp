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
#include "packet/transpose.hpp"

namespace natxy {

/// The form in which nearly all test frames of a stream arrive: intact, of its length and its trial, without options or
/// extension headers. Telling them from all others takes a fraction of what `classify` does, which judges the others.
class TestFrameForm {
 public:
  using Frame = std::span<const std::uint8_t>;

  TestFrameForm(Family family, std::size_t payload_bytes, std::uint16_t run_id, std::uint8_t stream);

  /// How many of `frames`, from the first on, are of this form: `classify` says of them that they are test frames. It
  /// may say so of others too.
  [[nodiscard]] std::size_t leading(std::span<const Frame> frames) const {
    return family_ == Family::ipv4 ? leading<Family::ipv4>(frames) : leading<Family::ipv6>(frames);
  }

  /// What a frame of this form carries.
  [[nodiscard]] Datagram datagram(Frame frame) const { return {frame.data() + kEthernetBytes, frame.data() + udp_at_}; }

 private:
  /// Sixteen bytes as they stand in a frame, of which some are known.
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
    // Stores elsewhere don't make the compiler read a copy again.
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
    // UDP's checksum is of what follows from the addresses on.
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
  std::size_t last_at_;              // where the last, whole or partial, of the words from the addresses on begins
  unsigned last_shift_;              // bits of the frame's last eight bytes that are not that word's
  std::uint64_t pseudo_header_ = 0;  // the sum of what is not addresses
  Stretch headers_;
  Stretch datagram_;  // UDP's header, and the signature's begin
};

}  // namespace natxy
