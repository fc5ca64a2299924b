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
      : prefix_{translation.prefix}, mappings_{translation.mappings} {}

  /// Returns the address in the other family that represents `address`: by a mapping (RFC 7757), or else by the prefix
  /// (RFC 6052). Returns nothing if neither covers it.
  [[nodiscard]] std::optional<uint128> across(Family from, uint128 address) const {
    for (const AddressMapping& mapping : mappings_) {
      const Prefix& near = from == Family::ipv4 ? mapping.ipv4 : mapping.ipv6;
      const Prefix& far = from == Family::ipv4 ? mapping.ipv6 : mapping.ipv4;
      if (near.contains({from, address})) return far.network.value + (address - near.network.value);
    }
    if (!prefix_) return std::nullopt;
    if (from == Family::ipv4) return prefix_->network.value | address;
    if (!prefix_->contains({from, address})) return std::nullopt;
    return address & 0xFFFFFFFF;
  }

 private:
  std::optional<Prefix> prefix_;
  std::vector<AddressMapping> mappings_;
};

}  // namespace natxy::reference
