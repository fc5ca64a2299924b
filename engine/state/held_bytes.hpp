// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/address.hpp"

namespace natxy {

/// Selects the four bytes of an IPv6 address that entries of the state table hold. The other bytes of a connection's
/// addresses are those of all or nearly all connections.
class HeldBytes {
 public:
  static constexpr std::size_t kCount = 4;

  /// Selects the last four of the bytes with bits of `varying`. If there are fewer, the last of the other bytes, too.
  explicit HeldBytes(uint128 varying = 0) {
    std::size_t found = 0;
    for (const bool varies : {true, false}) {
      for (unsigned byte = 0; byte < sizeof varying && found < kCount; ++byte) {
        if (((varying >> 8 * byte & 0xFF) != 0) == varies) bytes_[found++] = byte;
      }
    }
  }

  /// Returns the bytes held of `address`.
  [[nodiscard]] std::uint32_t of(uint128 address) const {
    std::uint32_t held = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      held |= static_cast<std::uint32_t>(address >> 8 * bytes_[i] & 0xFF) << 8 * i;
    return held;
  }
  /// Returns an address that has these bytes and no others.
  [[nodiscard]] uint128 placed(std::uint32_t held) const {
    uint128 address = 0;
    for (std::size_t i = 0; i < kCount; ++i) address |= uint128{held >> 8 * i & 0xFF} << 8 * bytes_[i];
    return address;
  }
  /// Returns the bits of the bytes that are not held.
  [[nodiscard]] uint128 others() const { return ~placed(0xFFFF'FFFF); }

  /// Returns the places of the bytes held, counted from the address's last byte: the byte held first is the lowest.
  [[nodiscard]] const std::array<unsigned, kCount>& places() const { return bytes_; }

 private:
  std::array<unsigned, kCount> bytes_{};
};

}  // namespace natxy
