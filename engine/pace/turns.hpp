// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <numeric>

namespace natxy {

/// Divides the slots of one schedule between two streams in proportion to their frames (the traffic shares of RFC 8219
/// §5.3). Any `cycle` consecutive slots have the same number of slots of the second stream, spread as evenly as
/// possible.
class Turns {
 public:
  struct Turn {
    bool second = false;
    std::uint64_t sequence = 0;  // within the stream whose turn it is
  };

  /// The maximum number of slots after which the pattern must repeat.
  static constexpr std::uint64_t kLongestCycle = 1000;

  /// Takes the number of frames of each stream. `cycle` must not exceed kLongestCycle. If `second` is 0, every slot
  /// belongs to the first stream.
  Turns(std::uint64_t first, std::uint64_t second)
      : second_{second / std::gcd(first, second)}, cycle_{(first + second) / std::gcd(first, second)} {}

  [[nodiscard]] std::uint64_t cycle() const { return cycle_; }

  /// Returns the stream and the sequence number of a slot. Slots count from 0 and are below 2^49.
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
