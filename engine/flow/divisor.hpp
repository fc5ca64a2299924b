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
      : value_{static_cast<std::int64_t>(value)},
        reciprocal_below_{(1 - 0x1p-50) / static_cast<double>(value)},
        reciprocal_above_{(1 + 0x1p-51) / static_cast<double>(value)} {}

  [[nodiscard]] std::uint64_t value() const { return static_cast<std::uint64_t>(value_); }

  /// Replaces each of `dividends`, all below `bound`, which is at most 2^62, by its quotient; `remainders` are as many.
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
      // The smaller reciprocal is too small by more than all roundings, so that it never takes too much. It leaves less
      // than two divisors and 2^13.
      auto rest = static_cast<std::int64_t>(dividends[i]);
      const std::int64_t most = take(rest, reciprocal_below_);
      dividends[i] = static_cast<std::uint64_t>(most + take(rest, reciprocal_above_));
      remainders[i] = static_cast<std::uint32_t>(rest);
    }
  }

 private:
  // Up to here the greater reciprocal's quotients are exact: with all roundings they are too great, but by less than
  // 2^-50 of themselves, which is less than what a quotient that isn't whole lacks to the next whole one.
  static constexpr std::uint64_t kExactBelow = std::uint64_t{1} << 50;

  /// Takes a number of divisors from `rest`: all that fit, or nearly.
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
