// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "form/subscriber_rule.hpp"
#include "packet/address.hpp"

namespace natxy {

/// Puts an IPv4 address behind a prefix (RFC 6052 §2.2). Its bits leave out bits 64 to 71 of the IPv6 address, so that
/// some of them may stand before these bits, and the rest after.
struct EmbeddingPrefix {
  static constexpr std::array<unsigned, 6> kLengths = {32, 40, 48, 56, 64, 96};

  std::uint64_t high = 0;
  std::uint64_t low = 0;
  unsigned after = 32;  // how many bits stand after bits 64 to 71
  unsigned shift = 0;   // of these, in `low`

  /// Returns whether a prefix is one that an IPv4 address can follow.
  static bool fits(const Prefix& prefix) {
    const bool reserved_are_zero = (prefix.network.value >> 56 & 0xFF) == 0;
    return prefix.network.family == Family::ipv6 && reserved_are_zero &&
           std::ranges::find(kLengths, prefix.length) != kLengths.end();
  }
  /// `prefix` must fit.
  static EmbeddingPrefix of(const Prefix& prefix) {
    const unsigned after = std::min(32U, prefix.length - 32);
    return {static_cast<std::uint64_t>(prefix.network.value >> 64), static_cast<std::uint64_t>(prefix.network.value),
            after, prefix.length == 96 ? 0 : 56 - after};
  }

  /// Returns the first half of the address for one IPv4 address, or for a vector of them.
  template <class Word>
  [[nodiscard]] Word high_of(const Word& address) const {
    return high + (address >> after);
  }
  template <class Word>
  [[nodiscard]] Word low_of(const Word& address) const {
    return low + ((address & bits_after()) << shift);
  }
  /// Returns the places of the IPv4 address's bytes in the IPv6 address.
  [[nodiscard]] std::array<std::uint8_t, 4> places() const {
    const unsigned before = 4 - after / 8;
    const unsigned rest = 16 - (after + shift) / 8;
    std::array<std::uint8_t, 4> places{};
    for (unsigned i = 0; i < places.size(); ++i) {
      places[i] = static_cast<std::uint8_t>(i < before ? 8 - before + i : rest + i - before);
    }
    return places;
  }

  /// Returns what an address adds to the sum of a checksum besides `base_sum`, as SubscriberRule's does.
  template <class Word>
  [[nodiscard]] Word sum_of(const Word& address) const {
    return (address >> after) + ((address & bits_after()) << shift % 16);
  }
  [[nodiscard]] std::uint64_t base_sum() const { return halves_of(high) + halves_of(low); }

  /// Returns the bits in which the halves of the addresses of all IPv4 hosts agree.
  [[nodiscard]] std::uint64_t high_bits() const { return ~(std::uint64_t{0xFFFF'FFFF} >> after); }
  [[nodiscard]] std::uint64_t low_bits() const { return ~(bits_after() << shift); }

 private:
  [[nodiscard]] std::uint64_t bits_after() const { return (std::uint64_t{1} << after) - 1; }
};

/// Describes how the IPv4 addresses of a stream are mapped to IPv6: those of subscribers by a rule, those of far hosts
/// behind a prefix (RFC 7599 §5). The other fields are those of the header of frames that are sent.
struct Mapping {
  SubscriberRule subscribers;
  EmbeddingPrefix prefix;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
};

}  // namespace natxy
