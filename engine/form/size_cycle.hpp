// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "packet/burst.hpp"

namespace natxy {

/// Says how many bytes each frame of a stream has: frame n has size n of a list that repeats (RFC 6985).
class SizeCycle {
 public:
  /// Takes at least one size, all below 2^16.
  explicit SizeCycle(std::span<const std::size_t> sizes)
      : length_{sizes.size()}, smallest_{std::ranges::min(sizes)}, largest_{std::ranges::max(sizes)} {
    for (std::size_t i = 0; i < length_ + kBurst; ++i) sizes_.push_back(static_cast<std::uint16_t>(sizes[i % length_]));
  }

  [[nodiscard]] bool mixed() const { return smallest_ != largest_; }
  [[nodiscard]] std::size_t smallest() const { return smallest_; }
  [[nodiscard]] std::size_t largest() const { return largest_; }

  /// Returns the size of one frame.
  [[nodiscard]] std::size_t of(std::uint64_t sequence) const { return sizes_[sequence % length_]; }
  /// Returns the sizes of the burst of consecutive frames that begins with this one.
  [[nodiscard]] std::span<const std::uint16_t> from(std::uint64_t sequence) const {
    return std::span(sizes_).subspan(sequence % length_, kBurst);
  }

 private:
  std::vector<std::uint16_t> sizes_;  // repeated until a burst can begin with each of the list
  std::size_t length_;                // of the list
  std::size_t smallest_;
  std::size_t largest_;
};

}  // namespace natxy
