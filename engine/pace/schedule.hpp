// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "packet/address.hpp"

namespace natxy {

/// Computes when each of `frames` frames is due, in clock ticks and exactly for any length of trial: frame i is due at
/// start + i / rate. With bursts, all frames of a burst are due with its first frame (RFC 2544 §21).
class Schedule {
 public:
  Schedule(std::uint64_t start_ticks, std::uint64_t frames, double rate_fps, std::uint64_t ticks_per_second,
           std::uint64_t burst = 1)
      : start_{start_ticks},
        frames_{frames},
        burst_{burst},
        ticks_per_burst_q48_{static_cast<uint128>(static_cast<long double>(ticks_per_second) / rate_fps *
                                                  static_cast<long double>(burst) * 281474976710656.0L)},
        bursts_per_tick_q64_{static_cast<uint128>(rate_fps / static_cast<long double>(burst) /
                                                  static_cast<long double>(ticks_per_second) *
                                                  18446744073709551616.0L)} {}

  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

  /// Makes every frame due `ticks` later.
  void postpone(std::uint64_t ticks) { start_ += ticks; }

  /// Returns the number of frames due at or before `now`.
  [[nodiscard]] std::uint64_t due(std::uint64_t now) const {
    if (now < start_) return 0;
    const uint128 due = ((uint128{now - start_} * bursts_per_tick_q64_ >> 64) + 1) * burst_;
    return due < frames_ ? static_cast<std::uint64_t>(due) : frames_;
  }

  /// Returns the tick at which frame `index` is due.
  [[nodiscard]] std::uint64_t due_at(std::uint64_t index) const {
    return start_ + static_cast<std::uint64_t>(uint128{index / burst_} * ticks_per_burst_q48_ >> 48);
  }

  /// Returns the tick after which frame `index` is late. A port takes some time to send a burst: it may take as long as
  /// the frames would take one by one at the same rate.
  [[nodiscard]] std::uint64_t late_at(std::uint64_t index) const {
    return start_ + static_cast<std::uint64_t>(uint128{index} * ticks_per_burst_q48_ / burst_ >> 48);
  }

  /// Returns the tick at which the slot of the last burst ends.
  [[nodiscard]] std::uint64_t end() const { return due_at(frames_ + burst_ - 1); }

 private:
  std::uint64_t start_;
  std::uint64_t frames_;
  std::uint64_t burst_;
  uint128 ticks_per_burst_q48_;
  uint128 bursts_per_tick_q64_;
};

}  // namespace natxy
