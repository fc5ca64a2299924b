// SPDX-License-Identifier: Apache-2.0
#include "measure/delay_variation.hpp"

#include <cmath>

namespace natxy {

std::int64_t SignedHistogram::percentile(double fraction) const {
  const auto all = static_cast<double>(count());
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(fraction * all)));
  if (rank > below_.count()) return static_cast<std::int64_t>(above_.at_rank(rank - below_.count()));
  // The smallest negative value has the largest magnitude.
  return -static_cast<std::int64_t>(below_.at_rank(below_.count() - rank + 1));
}

}  // namespace natxy
