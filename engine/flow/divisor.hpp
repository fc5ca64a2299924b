// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "packet/address.hpp"

namespace natxy {

/// Divides by one number again and again, by multiplication: several times as fast as the machine's own division, and
/// exact (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994).
class Divisor {
 public:
  /// `value` from 1 to 2^62.
  explicit Divisor(std::uint64_t value)
      : value_{value},
        shift_{static_cast<unsigned>(std::bit_width(value - 1))},
        reciprocal_{static_cast<std::uint64_t>((uint128{1} << (62 + shift_)) / value + 1)} {}

  [[nodiscard]] std::uint64_t value() const { return value_; }

  /// `dividend` below 2^62.
  [[nodiscard]] std::uint64_t quotient(std::uint64_t dividend) const {
    return static_cast<std::uint64_t>(uint128{dividend << 2} * reciprocal_ >> 64) >> shift_;
  }

 private:
  std::uint64_t value_;
  unsigned shift_;
  std::uint64_t reciprocal_;
};

}  // namespace natxy
