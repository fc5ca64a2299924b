// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "packet/address.hpp"
#include "reference/gateway/settings.hpp"

namespace natxy::reference {

/// The address that stands for another one in the other family: by the mappings (RFC 7757), else by the prefix (RFC
/// 6052); none where neither has one.
class AddressTranslation {
 public:
  explicit AddressTranslation(const Translation& translation)
      : prefix_{translation.prefix}, mappings_{translation.mappings} {}

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
