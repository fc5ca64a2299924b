// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace natxy {

/// Divides many numbers by the same divisor, exactly. It multiplies by the reciprocal in floating point, which vector
/// units do for many numbers at once, unlike 64-bit integer divisions or 128-bit products.
class Divisor {
 public:
  /// Takes a divisor from 1 to 2^32.
  explicit Divisor(std::uint64_t value)
      : value_{static_cast<std::int64_t>(value)},
        reciprocal_below_{(1 - 0x1p-50) / static_cast<double>(value)},
        reciprocal_above_{(1 + 0x1p-51) / static_cast<double>(value)} {}

  [[nodiscard]] std::uint64_t value() const { return static_cast<std::uint64_t>(value_); }

  /// Replaces each dividend by its quotient and stores its remainder. All dividends must be below `bound`, which is at
  /// most 2^62, and `remainders` must be at least as long as `dividends`.
  void divide(std::span<std::uint64_t> dividends, std::span<std::uint32_t> remainders, std::uint64_t bound) const {
    if (bound <= kExactBelow) {
      for (std::size_t i = 0; i < dividends.size(); ++i) {
        auto rest = static_cast<std::int64_t>(dividends[i]);
        dividends[i] = static_cast<std::uint64_t>(take(rest, reciprocal_above_));
        remainders[i] = static_cast<std::uint32_t>(rest);
      }
      return;
    }
    for (std::size_t i = 0; i < dividends.size(); ++i) {
      // The lower reciprocal is too low by more than all rounding errors, so the first step never subtracts too much.
      // It leaves less than two divisors plus 2^13.
      auto rest = static_cast<std::int64_t>(dividends[i]);
      const std::int64_t most = take(rest, reciprocal_below_);
      dividends[i] = static_cast<std::uint64_t>(most + take(rest, reciprocal_above_));
      remainders[i] = static_cast<std::uint32_t>(rest);
    }
  }

 private:
  // Below this bound, the upper reciprocal alone gives exact quotients. With all rounding errors a product is too high,
  // but by less than 2^-50 of itself, which is less than the distance of a fractional quotient to the next integer.
  static constexpr std::uint64_t kExactBelow = std::uint64_t{1} << 50;

  /// Subtracts multiples of the divisor from `rest`, all that fit or nearly all, and returns their number.
  [[nodiscard]] std::int64_t take(std::int64_t& rest, double reciprocal) const {
    const auto times = static_cast<std::int64_t>(static_cast<double>(rest) * reciprocal);
    rest -= times * value_;
    return times;
  }

  std::int64_t value_;
  double reciprocal_below_;
  double reciprocal_above_;
};

}  // namespace natxy
