// SPDX-License-Identifier: Apache-2.0
#include "flow/permutation.hpp"

#include <cmath>
#include <stdexcept>

namespace natxy {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) : size_{size} {
  if (size == 0 || size > (std::uint64_t{1} << 62)) throw std::invalid_argument("permutation size out of range");
  left_size_ = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(size)));
  if (left_size_ == 0) left_size_ = 1;
  right_size_ = (size + left_size_ - 1) / left_size_;
  for (std::size_t round = 0; round < kRounds; ++round) keys_.at(round) = random_word(seed, round);
}

}  // namespace natxy
