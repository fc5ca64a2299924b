// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/divisor.hpp"
#include "packet/burst.hpp"

namespace natxy {

/// Says how many bytes each frame of a stream has: frame n has size n of a list that repeats (RFC 6985).
class SizeCycle {
 public:
  /// The maximum number of different sizes.
  static constexpr std::size_t kMostDistinct = 64;

  /// Takes at least one size, and at most kMostDistinct different sizes.
  explicit SizeCycle(std::span<const std::size_t> sizes)
      : distinct_(sizes.begin(), sizes.end()), length_{sizes.size()} {
    std::ranges::sort(distinct_);
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
    for (const std::size_t size : sizes) {
      ranks_.push_back(static_cast<std::uint8_t>(std::ranges::lower_bound(distinct_, size) - distinct_.begin()));
    }
  }

  [[nodiscard]] bool mixed() const { return distinct_.size() > 1; }
  /// Returns the different sizes, the smallest first.
  [[nodiscard]] const std::vector<std::size_t>& distinct() const { return distinct_; }
  [[nodiscard]] std::size_t smallest() const { return distinct_.front(); }
  [[nodiscard]] std::size_t largest() const { return distinct_.back(); }

  /// Returns the size of one frame.
  [[nodiscard]] std::size_t of(std::uint64_t sequence) const { return distinct_[ranks_[sequence % ranks_.size()]]; }
  /// Sets `ranks` to the places in `distinct()` of the sizes of frames `sequences`, at most kBurst and below 2^49.
  void rank(std::span<const std::uint64_t> sequences, Lanes<std::uint8_t>& ranks) const {
    Lanes<std::uint64_t> cycles;
    Lanes<std::uint32_t> places;
    std::ranges::copy(sequences, cycles.begin());
    length_.divide(std::span(cycles).first(sequences.size()), places, std::uint64_t{1} << 49);
    for (std::size_t i = 0; i < sequences.size(); ++i) ranks[i] = ranks_[places[i]];
  }

 private:
  std::vector<std::size_t> distinct_;
  std::vector<std::uint8_t> ranks_;  // of the sizes in their order, in `distinct_`
  Divisor length_;
};

}  // namespace natxy
