// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace natxy {

/// Tells distinct frames from duplicates by their sequence numbers, in constant memory.
///
/// It remembers the last `width` numbers below the highest one seen. What arrives later than that can't be told from a
/// duplicate: it is counted apart and never as a distinct frame, so that a duplicate never hides a loss.
class SequenceWindow {
 public:
  enum class Arrival : std::uint8_t { distinct, distinct_reordered, duplicate, beyond_window };

  /// `frames`: how many a stream sends; a window never needs more.
  explicit SequenceWindow(std::uint64_t frames)
      : width_{std::bit_ceil(std::clamp<std::uint64_t>(frames, 64, kWidest))}, seen_(width_ / 64, 0) {}

  Arrival arrive(std::uint64_t sequence) {
    if (sequence >= next_) {
      forget(next_, sequence);
      next_ = sequence + 1;
      set(sequence);
      return Arrival::distinct;
    }
    if (next_ - sequence > width_) return Arrival::beyond_window;
    if (test(sequence)) return Arrival::duplicate;
    set(sequence);
    return Arrival::distinct_reordered;
  }

 private:
  static constexpr std::uint64_t kWidest = std::uint64_t{1} << 24;

  [[nodiscard]] std::uint64_t& word(std::uint64_t sequence) { return seen_[(sequence & (width_ - 1)) / 64]; }
  static std::uint64_t bit(std::uint64_t sequence) { return std::uint64_t{1} << (sequence % 64); }
  bool test(std::uint64_t sequence) { return (word(sequence) & bit(sequence)) != 0; }
  void set(std::uint64_t sequence) { word(sequence) |= bit(sequence); }

  /// Frees the places that numbers `from` to `to` take over from earlier ones.
  void forget(std::uint64_t from, std::uint64_t to) {
    if (to - from >= width_) {
      std::ranges::fill(seen_, 0);
      return;
    }
    for (std::uint64_t sequence = from; sequence <= to; ++sequence) {
      if (sequence % 64 == 0 && to - sequence >= 63) {
        word(sequence) = 0;
        sequence += 63;
      } else {
        word(sequence) &= ~bit(sequence);
      }
    }
  }

  std::uint64_t width_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t next_ = 0;
};

}  // namespace natxy
