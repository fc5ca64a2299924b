// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>

namespace natxy {

/// Whose turn it is where two streams share one schedule: of any `cycle` slots in a row the second stream has as many
/// as of any others, spread as evenly as can be (RFC 8219 §5.3's shares of traffic).
class Turns {
 public:
  struct Turn {
    bool second = false;
    std::uint64_t sequence = 0;  // in the stream whose turn it is
  };

  /// The most slots that the pattern may have before it comes again.
  static constexpr std::uint64_t kLongestCycle = 1000;

  /// `first` and `second` frames in all; `cycle` must not exceed kLongestCycle. Without a second stream every turn is
  /// the first one's.
  Turns(std::uint64_t first, std::uint64_t second)
      : second_{second / std::gcd(first, second)}, cycle_{(first + second) / std::gcd(first, second)} {}

  [[nodiscard]] std::uint64_t cycle() const { return cycle_; }

  /// Slots from 0, below 2^49.
  [[nodiscard]] Turn at(std::uint64_t slot) const {
    const std::uint64_t before = slot * second_ / cycle_;
    const bool second = (slot + 1) * second_ / cycle_ > before;
    return {second, second ? before : slot - before};
  }

 private:
  std::uint64_t second_;
  std::uint64_t cycle_;
};

}  // namespace natxy
