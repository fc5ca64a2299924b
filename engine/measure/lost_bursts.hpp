// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
    // A further burst shows that the last kept burst has ended.
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

/// Finds the distance at which single frames of a stream are lost, if it is always the same.
class LostStride {
 public:
  static constexpr std::uint64_t kFewest = 6;

  /// Adds the lost frames from `first` up to `end`, which come after all that were added before.
  void add(std::uint64_t first, std::uint64_t end) {
    if (end - first > 1) even_ = false;
    if (frames_ == 1) stride_ = first - last_;
    if (frames_ > 1 && first - last_ != stride_) even_ = false;
    last_ = end - 1;
    ++frames_;
  }

  /// Returns the distance; nothing if frames beside each other are lost, or fewer than kFewest, or at other distances.
  [[nodiscard]] std::optional<std::uint64_t> take() const {
    return even_ && frames_ >= kFewest && stride_ > 1 ? std::optional{stride_} : std::nullopt;
  }

 private:
  std::uint64_t frames_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t stride_ = 0;
  bool even_ = true;
};

}  // namespace natxy
