// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "measure/own_lines.hpp"

namespace natxy {

/// Holds the first and the last sequence number of some of a stream's frames.
struct SequenceRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  bool operator==(const SequenceRange&) const = default;
};

/// Distinguishes distinct frames from duplicates by their sequence numbers, in constant memory.
///
/// It remembers the last `width` numbers up to the highest one seen. A frame with a lower number may be a duplicate. It
/// is counted separately and never as a distinct frame, so that a duplicate never hides a loss.
class SequenceWindow {
 public:
  static constexpr std::uint64_t kWidest = std::uint64_t{1} << 24;

  enum class Arrival : std::uint8_t { distinct, duplicate, beyond_window };

  /// Makes a window for a stream of `frames` frames, no wider than the stream is long. `widest` is a power of two.
  explicit SequenceWindow(std::uint64_t frames, std::uint64_t widest = kWidest)
      : width_{std::bit_ceil(std::clamp<std::uint64_t>(frames, 64, widest))}, seen_(width_ / 64, 0) {}

  /// Records and classifies a frame.
  Arrival arrive(std::uint64_t sequence) {
    if (sequence >= next_) {
      if (next_ == 0) first_ = sequence;
      advance(sequence + 1);
      set(sequence);
      return Arrival::distinct;
    }
    if (sequence < base_) return Arrival::beyond_window;
    if (test(sequence)) return Arrival::duplicate;
    set(sequence);
    return Arrival::distinct;
  }

  /// Records `count` numbers from `first` on, at most 64, if all are above every number seen and thus distinct.
  /// Otherwise it records nothing and returns false.
  bool arrive_in_order(std::uint64_t first, std::uint64_t count) {
    if (first < next_) return false;
    if (next_ == 0) first_ = first;
    advance(first + count);
    for_words(first, first + count,
              [this](std::uint64_t sequence, std::uint64_t bits) { seen_[word(sequence)] |= bits; });
    return true;
  }

  /// Returns the first number above all that have arrived.
  [[nodiscard]] std::uint64_t next() const { return next_; }

  /// Adds the numbers that arrived in another window of the same stream. Returns how many had arrived in both. Both
  /// windows must be as wide as the stream is long.
  std::uint64_t merge(const SequenceWindow& other) {
    std::uint64_t both = 0;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      both += static_cast<unsigned>(std::popcount(seen_[i] & other.seen_[i]));
      seen_[i] |= other.seen_[i];
    }
    if (other.next_ != 0) first_ = next_ == 0 ? other.first_ : std::min(first_, other.first_);
    next_ = std::max(next_, other.next_);
    return both;
  }

  /// Returns the number that arrived first and the highest one, or nothing if none has arrived.
  [[nodiscard]] std::optional<SequenceRange> arrived() const {
    return next_ == 0 ? std::nullopt : std::optional{SequenceRange{first_, next_ - 1}};
  }

  /// Returns the range of the numbers below `frames` that have not arrived, or nothing if all have.
  [[nodiscard]] std::optional<SequenceRange> lost(std::uint64_t frames) const {
    std::optional<SequenceRange> range = forgotten_;
    for_each_lost(frames, [&](std::uint64_t first, std::uint64_t end) { note_lost(range, first, end - 1); });
    return range;
  }

  /// Calls `use(first, end)` for ranges of the numbers below `frames` that have not arrived, in order, except those
  /// that left the window.
  template <class Use>
  void for_each_lost(std::uint64_t frames, Use use) const {
    for_words(base_, std::min(next_, frames), [&](std::uint64_t sequence, std::uint64_t bits) {
      const std::uint64_t word_start = sequence - sequence % 64;
      for (std::uint64_t missing = bits & ~seen_[word(sequence)]; missing != 0; missing &= missing - 1) {
        const std::uint64_t lost = word_start + static_cast<unsigned>(std::countr_zero(missing));
        use(lost, lost + 1);
      }
    });
    if (next_ < frames) use(next_, frames);
  }

  /// Returns the lowest number of which the window still knows whether it has arrived.
  [[nodiscard]] std::uint64_t lowest_known() const { return base_; }

  /// Returns how many numbers left the window before they arrived.
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_frames_; }

 private:
  [[nodiscard]] std::size_t word(std::uint64_t sequence) const { return (sequence & (width_ - 1)) / 64; }
  static std::uint64_t bit(std::uint64_t sequence) { return std::uint64_t{1} << (sequence % 64); }
  [[nodiscard]] bool test(std::uint64_t sequence) const { return (seen_[word(sequence)] & bit(sequence)) != 0; }
  void set(std::uint64_t sequence) { seen_[word(sequence)] |= bit(sequence); }

  /// Calls `use(sequence, bits)` for each word that holds numbers from `begin` up to `end`, with the first of these
  /// numbers and the bits of all of them.
  template <class Use>
  static void for_words(std::uint64_t begin, std::uint64_t end, Use use) {
    for (std::uint64_t sequence = begin; sequence < end;) {
      const std::uint64_t offset = sequence % 64;
      const std::uint64_t count = std::min(64 - offset, end - sequence);
      use(sequence, (~std::uint64_t{0} >> (64 - count)) << offset);
      sequence += count;
    }
  }

  static void note_lost(std::optional<SequenceRange>& range, std::uint64_t first, std::uint64_t last) {
    if (!range) range = SequenceRange{first, last};
    range->last = std::max(range->last, last);
  }

  /// Makes `next` the first number above the window. Numbers that leave the window before they arrive are lost.
  void advance(std::uint64_t next) {
    const std::uint64_t base = next > width_ ? next - width_ : 0;
    const std::uint64_t known = std::min(base, next_);  // numbers from here on have no bit in the window yet
    for_words(base_, known, [this](std::uint64_t sequence, std::uint64_t bits) {
      std::uint64_t& seen = seen_[word(sequence)];
      if (const std::uint64_t missing = bits & ~seen; missing != 0) {
        const std::uint64_t word_start = sequence - sequence % 64;
        forgotten_frames_ += static_cast<unsigned>(std::popcount(missing));
        note_lost(forgotten_, word_start + static_cast<unsigned>(std::countr_zero(missing)),
                  word_start + 63 - static_cast<unsigned>(std::countl_zero(missing)));
      }
      seen &= ~bits;
    });
    if (known < base) {
      forgotten_frames_ += base - known;
      note_lost(forgotten_, known, base - 1);
    }
    base_ = std::max(base_, base);
    next_ = next;
  }

  std::uint64_t width_;
  OwnLines<std::uint64_t> seen_;
  std::uint64_t base_ = 0;   // lowest number in the window
  std::uint64_t next_ = 0;   // first number above it
  std::uint64_t first_ = 0;  // the number that arrived first
  std::optional<SequenceRange> forgotten_;
  std::uint64_t forgotten_frames_ = 0;
};

}  // namespace natxy
