// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace natxy {

/// Holds a part of a stream that begins and ends with a lost frame: `lost` of the frames from `first` to `last`.
struct LostBurst {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t lost = 0;

  bool operator==(const LostBurst&) const = default;
};

/// Gathers a stream's lost frames into bursts, which are at least `apart` frames from each other. It keeps the first
/// kMost of them.
class LostBursts {
 public:
  static constexpr std::size_t kMost = 64;

  explicit LostBursts(std::uint64_t apart) : apart_{apart} {}

  /// Adds the lost frames from `first` up to `end`, which come after all that were added before.
  void add(std::uint64_t first, std::uint64_t end) {
    if (!bursts_.empty() && first - bursts_.back().last < apart_) {
      bursts_.back().last = end - 1;
      bursts_.back().lost += end - first;
    } else {
      bursts_.push_back({first, end - 1, end - first});
    }
    // The burst after the last one that is kept shows that this one has ended.
    if (bursts_.size() > kMost) full_ = true;
  }

  /// Returns true if more lost frames would change nothing.
  [[nodiscard]] bool full() const { return full_; }

  /// Returns the first bursts.
  [[nodiscard]] std::vector<LostBurst> take() && {
    if (full_) bursts_.pop_back();
    return std::move(bursts_);
  }

 private:
  std::uint64_t apart_;
  std::vector<LostBurst> bursts_;
  bool full_ = false;
};

}  // namespace natxy
