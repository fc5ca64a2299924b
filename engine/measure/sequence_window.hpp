// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace natxy {

/// The first and the last of the lost frames' sequence numbers.
struct LostRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  bool operator==(const LostRange&) const = default;
};

/// Tells distinct frames from duplicates by their sequence numbers, in constant memory.
///
/// It remembers the last `width` numbers up to the highest one seen. What arrives later than that can't be told from a
/// duplicate: it is counted apart and never as a distinct frame, so that a duplicate never hides a loss.
class SequenceWindow {
 public:
  enum class Arrival : std::uint8_t { distinct, distinct_reordered, duplicate, beyond_window };

  /// `frames`: how many a stream sends; a window never needs more.
  explicit SequenceWindow(std::uint64_t frames)
      : width_{std::bit_ceil(std::clamp<std::uint64_t>(frames, 64, kWidest))}, seen_(width_ / 64, 0) {}

  Arrival arrive(std::uint64_t sequence) {
    if (sequence >= next_) {
      advance(sequence + 1);
      set(sequence);
      return Arrival::distinct;
    }
    if (sequence < base_) return Arrival::beyond_window;
    if (test(sequence)) return Arrival::duplicate;
    set(sequence);
    return Arrival::distinct_reordered;
  }

  /// Of the numbers below `frames` that have not arrived; none if all have.
  [[nodiscard]] std::optional<LostRange> lost(std::uint64_t frames) const {
    std::optional<LostRange> range = forgotten_;
    for (std::uint64_t sequence = base_; sequence < std::min(next_, frames); ++sequence) {
      if (!test(sequence)) note_lost(range, sequence, sequence);
    }
    if (next_ < frames) note_lost(range, next_, frames - 1);
    return range;
  }

 private:
  static constexpr std::uint64_t kWidest = std::uint64_t{1} << 24;

  [[nodiscard]] std::size_t word(std::uint64_t sequence) const { return (sequence & (width_ - 1)) / 64; }
  static std::uint64_t bit(std::uint64_t sequence) { return std::uint64_t{1} << (sequence % 64); }
  [[nodiscard]] bool test(std::uint64_t sequence) const { return (seen_[word(sequence)] & bit(sequence)) != 0; }
  void set(std::uint64_t sequence) { seen_[word(sequence)] |= bit(sequence); }

  static void note_lost(std::optional<LostRange>& range, std::uint64_t first, std::uint64_t last) {
    if (!range) range = LostRange{first, last};
    range->last = std::max(range->last, last);
  }

  /// Makes `next` the first number above the window; numbers that leave it without having arrived are lost.
  void advance(std::uint64_t next) {
    const std::uint64_t base = next > width_ ? next - width_ : 0;
    const std::uint64_t known = std::min(base, next_);  // numbers from there on have no bit in the window yet
    for (std::uint64_t sequence = base_; sequence < known; ++sequence) {
      const std::uint64_t bits = seen_[word(sequence)];
      if (sequence % 64 == 0 && known - sequence >= 64 && (bits == 0 || bits == ~std::uint64_t{0})) {
        if (bits == 0) note_lost(forgotten_, sequence, sequence + 63);
        seen_[word(sequence)] = 0;
        sequence += 63;
        continue;
      }
      if ((bits & bit(sequence)) == 0) note_lost(forgotten_, sequence, sequence);
      seen_[word(sequence)] &= ~bit(sequence);
    }
    if (known < base) note_lost(forgotten_, known, base - 1);
    base_ = std::max(base_, base);
    next_ = next;
  }

  std::uint64_t width_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t base_ = 0;  // lowest number in the window
  std::uint64_t next_ = 0;  // first number above it
  std::optional<LostRange> forgotten_;
};

}  // namespace natxy
