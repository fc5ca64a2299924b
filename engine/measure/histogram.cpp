// SPDX-License-Identifier: Apache-2.0
#include "measure/histogram.hpp"

#include <cmath>

namespace natxy {

std::uint64_t Histogram::upper_bound_of(std::size_t bucket) {
  constexpr std::size_t linear = std::size_t{1} << kLinearBits;
  if (bucket < 2 * linear) return bucket;
  const auto shift = static_cast<unsigned>((bucket >> kLinearBits) - 1);
  const std::uint64_t mantissa = bucket - (std::size_t{shift} << kLinearBits);
  return ((mantissa + 1) << shift) - 1;
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::percentile(double fraction) const {
  return at_rank(static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_))));
}

std::uint64_t Histogram::at_rank(std::uint64_t rank) const {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank && seen > 0) return std::min(upper_bound_of(i), max_);
  }
  return max_;
}

}  // namespace natxy
