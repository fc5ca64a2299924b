// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "measure/own_lines.hpp"
#include "pace/schedule.hpp"

namespace natxy {

/// Marks the time in which frames may be lost because of a pause of the tester. All times are ticks since the trial's
/// start.
///
/// During a pause frames become due, and afterwards they leave as a burst, which may fill the queue of a gateway that
/// keeps up with the rate. Of N frames in the burst, the gateway still holds fewer than N when it ends. A gateway that
/// is at least kMemory / (kMemory + 1) faster than the rate gets rid of them within kMemory times the time in which
/// the N frames were due. A token bucket is full again after the same time.
class PauseMarks {
 public:
  static constexpr std::uint64_t kMemory = 10;
  static constexpr std::uint64_t kMostSlots = std::uint64_t{1} << 14;

  /// Has a single slot.
  PauseMarks() : PauseMarks(0, 1) {}
  /// Divides a trial of so many ticks into slots of a millisecond or, in a long trial, more.
  PauseMarks(std::uint64_t ticks, std::uint64_t ticks_per_second) {
    while (std::uint64_t{1} << shift_ < ticks_per_second / 1000 || ticks >> shift_ >= kMostSlots) ++shift_;
    marked_.resize((ticks >> shift_) + 1, 0);
  }

  /// Marks what a pause from `from` on may have harmed, after which the sender was on schedule again at `until`.
  void mark(std::uint64_t from, std::uint64_t until) {
    const std::uint64_t first = slot(from);
    // A frame that was due just before the pause may have left after it.
    const auto begin = marked_.begin() + static_cast<std::ptrdiff_t>(first > 0 ? first - 1 : 0);
    const std::uint64_t last = slot(until + kMemory * (until - from));
    std::fill(begin, marked_.begin() + static_cast<std::ptrdiff_t>(last) + 1, std::uint8_t{1});
  }

  /// Adds the marks of another sender of the same trial.
  void add(const PauseMarks& other) {
    for (std::size_t i = 0; i < marked_.size(); ++i) marked_[i] |= other.marked_[i];
  }

  [[nodiscard]] bool any() const { return std::ranges::find(marked_, std::uint8_t{1}) != marked_.end(); }
  [[nodiscard]] bool at(std::uint64_t ticks) const { return marked_[slot(ticks)] != 0; }

  /// Returns how many of a schedule's frames from `first` up to `end` are due in marked slots.
  [[nodiscard]] std::uint64_t frames(const Schedule& schedule, std::uint64_t first, std::uint64_t end) const {
    std::uint64_t frames = 0;
    std::uint64_t before = first;
    for (std::uint64_t i = 0; i < marked_.size(); ++i) {
      const bool is_last = i + 1 == marked_.size();
      const std::uint64_t due = is_last ? end : std::clamp(schedule.due(((i + 1) << shift_) - 1), first, end);
      if (marked_[i] != 0) frames += due - before;
      before = due;
    }
    return frames;
  }
  [[nodiscard]] std::uint64_t frames(const Schedule& schedule) const { return frames(schedule, 0, schedule.frames()); }

 private:
  /// Returns the slot of a time. The last slot does not end.
  [[nodiscard]] std::uint64_t slot(std::uint64_t ticks) const {
    return std::min<std::uint64_t>(ticks >> shift_, marked_.size() - 1);
  }

  unsigned shift_ = 0;
  OwnLines<std::uint8_t> marked_;
};

}  // namespace natxy
