// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "packet/address.hpp"
#include "reference/gateway/settings.hpp"

namespace natxy::reference {

/// Translates addresses between IPv4 and IPv6, statelessly.
class AddressTranslation {
 public:
  explicit AddressTranslation(const Translation& translation)
      : prefix_{translation.prefix}, mappings_{translation.mappings} {
    if (!prefix_ || prefix_->length == kLongest) return;
    bits_after_ = prefix_->length - kIpv4Bits;
    ones_after_ = (uint128{1} << bits_after_) - 1;
    lowest_after_ = 56 - bits_after_;
  }

  /// Returns the address in the other family that represents `address`: by a mapping (RFC 7757), or else by the prefix
  /// (RFC 6052). Returns nothing if neither covers it.
  [[nodiscard]] std::optional<uint128> across(Family from, uint128 address) const {
    for (const AddressMapping& mapping : mappings_) {
      const Prefix& near = from == Family::ipv4 ? mapping.ipv4 : mapping.ipv6;
      const Prefix& far = from == Family::ipv4 ? mapping.ipv6 : mapping.ipv4;
      if (near.contains({from, address})) return far.network.value + (address - near.network.value);
    }
    if (!prefix_) return std::nullopt;
    if (from == Family::ipv4) {
      return prefix_->network.value | (address >> bits_after_ << 64) | ((address & ones_after_) << lowest_after_);
    }
    if (!prefix_->contains({from, address})) return std::nullopt;
    const uint128 before = address >> 64 & ((uint128{1} << (kIpv4Bits - bits_after_)) - 1);
    return before << bits_after_ | (address >> lowest_after_ & ones_after_);
  }

 private:
  static constexpr unsigned kIpv4Bits = 32;
  static constexpr unsigned kLongest = 96;

  std::optional<Prefix> prefix_;
  std::vector<AddressMapping> mappings_;
  // An IPv4 address follows the prefix and leaves out bits 64 to 71 (RFC 6052 §2.2): so many of its bits come after.
  unsigned bits_after_ = kIpv4Bits;
  uint128 ones_after_ = 0xFFFFFFFF;
  unsigned lowest_after_ = 0;
};

}  // namespace natxy::reference
