// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "measure/histogram.hpp"
#include "measure/own_lines.hpp"

namespace natxy {

/// Counts signed values, as exactly as Histogram does, on either side of zero.
class SignedHistogram {
 public:
  void record(std::int64_t value) {
    if (value < 0) {
      below_.record(static_cast<std::uint64_t>(-value));
    } else {
      above_.record(static_cast<std::uint64_t>(value));
    }
  }
  void add(const SignedHistogram& other) {
    below_.add(other.below_);
    above_.add(other.above_);
  }

  [[nodiscard]] std::uint64_t count() const { return below_.count() + above_.count(); }
  [[nodiscard]] std::int64_t min() const {
    return below_.count() > 0 ? -static_cast<std::int64_t>(below_.max()) : static_cast<std::int64_t>(above_.min());
  }
  [[nodiscard]] std::int64_t max() const {
    return above_.count() > 0 ? static_cast<std::int64_t>(above_.max()) : -static_cast<std::int64_t>(below_.min());
  }
  /// Returns the smallest x with F(x) ≥ `fraction` (RFC 2330 §11.3), to the accuracy of a bucket.
  [[nodiscard]] std::int64_t percentile(double fraction) const;

  /// Calls `use(bound, count)` for every bucket that has values, in increasing order. The bound is the one that is
  /// farther from zero, at most `max()` or at least `min()`.
  template <class Use>
  void for_each(Use use) const {
    std::vector<std::pair<std::int64_t, std::uint64_t>> negative;
    below_.for_each([&](std::uint64_t bound, std::uint64_t count) {
      negative.emplace_back(-static_cast<std::int64_t>(bound), count);
    });
    std::reverse(negative.begin(), negative.end());
    for (const auto& [bound, count] : negative) use(bound, count);
    above_.for_each([&](std::uint64_t bound, std::uint64_t count) { use(static_cast<std::int64_t>(bound), count); });
  }

 private:
  Histogram below_;  // magnitudes of negative values
  Histogram above_;
};

/// Measures the inter-packet delay variation D(i) − D(i−1) of frames that follow each other in sending order (RFC 8219
/// §7.3.2), in constant memory. Frames may arrive in any order.
class DelayVariation {
 public:
  DelayVariation() : recent_(kRecent) {}

  /// Records the delay of a frame. Call it once for every distinct frame.
  void arrive(std::uint64_t sequence, std::uint64_t delay) {
    if (sequence > 0 && at(sequence - 1).sequence == sequence - 1) {
      variation_.record(static_cast<std::int64_t>(delay) - static_cast<std::int64_t>(at(sequence - 1).delay));
    }
    if (at(sequence + 1).sequence == sequence + 1) {
      variation_.record(static_cast<std::int64_t>(at(sequence + 1).delay) - static_cast<std::int64_t>(delay));
    }
    at(sequence) = {sequence, delay};
  }

  [[nodiscard]] const SignedHistogram& variation() const { return variation_; }

 private:
  static constexpr std::size_t kRecent = std::size_t{1} << 16;
  struct Frame {
    std::uint64_t sequence = ~std::uint64_t{0};
    std::uint64_t delay = 0;
  };
  Frame& at(std::uint64_t sequence) { return recent_[sequence % kRecent]; }

  OwnLines<Frame> recent_;
  SignedHistogram variation_;
};

}  // namespace natxy
