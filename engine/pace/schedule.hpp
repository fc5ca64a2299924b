// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/address.hpp"

namespace natxy {

/// When each of `frames` frames is due: frame i at start + i / rate, in clock ticks, exact for any length of trial.
class Schedule {
 public:
  Schedule(std::uint64_t start_ticks, std::uint64_t frames, double rate_fps, std::uint64_t ticks_per_second)
      : start_{start_ticks},
        frames_{frames},
        ticks_per_frame_q32_{
            static_cast<uint128>(static_cast<long double>(ticks_per_second) / rate_fps * 4294967296.0L)},
        frames_per_tick_q64_{
            static_cast<uint128>(rate_fps / static_cast<long double>(ticks_per_second) * 18446744073709551616.0L)} {}

  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

  /// Frames due at or before `now`.
  [[nodiscard]] std::uint64_t due(std::uint64_t now) const {
    if (now < start_) return 0;
    const uint128 due = (uint128{now - start_} * frames_per_tick_q64_ >> 64) + 1;
    return due < frames_ ? static_cast<std::uint64_t>(due) : frames_;
  }

  /// When frame `index` is due.
  [[nodiscard]] std::uint64_t due_at(std::uint64_t index) const {
    return start_ + static_cast<std::uint64_t>(uint128{index} * ticks_per_frame_q32_ >> 32);
  }

  /// When the slot of the last frame ends.
  [[nodiscard]] std::uint64_t end() const { return due_at(frames_); }

 private:
  std::uint64_t start_;
  std::uint64_t frames_;
  uint128 ticks_per_frame_q32_;
  uint128 frames_per_tick_q64_;
};

}  // namespace natxy
