// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "measure/own_lines.hpp"
#include "packet/address.hpp"

namespace natxy {

/// Counts values from 0 to 2^48 − 1 in log-linear buckets: exactly below 2048, to within 1/1024 (0.1 %) above. Minimum,
/// maximum and sum are exact. `record` takes a few instructions and never allocates.
class Histogram {
 public:
  void record(std::uint64_t value, std::uint64_t times = 1) {
    value = std::min(value, kMost);
    counts_[bucket_of(value)] += times;
    count_ += times;
    sum_ += uint128{value} * times;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  void add(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Returns the least value. An empty histogram's `min`, `max`, `mean` and `percentile` are 0.
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double mean() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }

  /// Returns the smallest x with F(x) ≥ `fraction` (RFC 2330 §11.3): the upper bound of its bucket, at most `max()`.
  [[nodiscard]] std::uint64_t percentile(double fraction) const;
  /// Returns the `rank`th smallest value, from 1 to `count()`, to the accuracy of a bucket.
  [[nodiscard]] std::uint64_t at_rank(std::uint64_t rank) const;

  /// Calls `use(upper bound, count)` for every bucket that has values, in increasing order.
  template <class Use>
  void for_each(Use use) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) use(std::min(upper_bound_of(i), max_), counts_[i]);
    }
  }

 private:
  static constexpr unsigned kLinearBits = 10;
  static constexpr unsigned kValueBits = 48;
  static constexpr std::uint64_t kMost = (std::uint64_t{1} << kValueBits) - 1;
  static constexpr std::size_t kBuckets = std::size_t{kValueBits - kLinearBits + 1} << kLinearBits;

  /// Returns the bucket of a value. Values below 2^(kLinearBits + 1) have a bucket each; above, each power of two has
  /// 2^kLinearBits buckets.
  static std::size_t bucket_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = width > kLinearBits + 1 ? width - kLinearBits - 1 : 0;
    return (std::size_t{shift} << kLinearBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t upper_bound_of(std::size_t bucket);

  OwnLines<std::uint64_t> counts_ = OwnLines<std::uint64_t>(kBuckets);
  std::uint64_t count_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
  uint128 sum_ = 0;
};

}  // namespace natxy
