// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace natxy {

/// Divides many numbers by one, exactly and without a division: by multiplication with the reciprocal in floating
/// point, which vector units do for many at once, unlike 64-bit integer division or products of 128 bits.
class Divisor {
 public:
  /// `value` from 1 to 2^32.
  explicit Divisor(std::uint64_t value)
      : value_{static_cast<std::int64_t>(value)}, reciprocal_{(1 - 0x1p-50) / static_cast<double>(value)} {}

  [[nodiscard]] std::uint64_t value() const { return static_cast<std::uint64_t>(value_); }

  /// Replaces each of `dividends`, all below 2^62, by its quotient; `remainders` are as many.
  void divide(std::span<std::uint64_t> dividends, std::span<std::uint32_t> remainders) const {
    for (std::size_t i = 0; i < dividends.size(); ++i) {
      // The reciprocal is a little too small, by more than all roundings: no step takes away too much. The first leaves
      // less than two divisors and 2^13, the second less than two divisors.
      auto rest = static_cast<std::int64_t>(dividends[i]);
      std::int64_t quotient = take(rest);
      quotient += take(rest);
      const bool once_more = rest >= value_;
      dividends[i] = static_cast<std::uint64_t>(quotient + (once_more ? 1 : 0));
      remainders[i] = static_cast<std::uint32_t>(rest - (once_more ? value_ : 0));
    }
  }

 private:
  /// Takes a number of divisors from `rest`: all that fit, or nearly.
  [[nodiscard]] std::int64_t take(std::int64_t& rest) const {
    const auto times = static_cast<std::int64_t>(static_cast<double>(rest) * reciprocal_);
    rest -= times * value_;
    return times;
  }

  std::int64_t value_;
  double reciprocal_;
};

}  // namespace natxy
