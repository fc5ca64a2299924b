// SPDX-License-Identifier: Apache-2.0
#include "flow/permutation.hpp"

#include <bit>
#include <stdexcept>

#include "flow/mix.hpp"

namespace natxy {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) : size_{size} {
  if (size == 0 || size > (std::uint64_t{1} << 62)) throw std::invalid_argument("permutation size out of range");
  right_bits_ = std::max(1U, static_cast<unsigned>(std::bit_width(size)) / 2);
  right_mask_ = (std::uint32_t{1} << right_bits_) - 1;
  left_size_ = static_cast<std::uint32_t>((size + right_mask_) >> right_bits_);
  for (std::size_t round = 0; round < kRounds; ++round) {
    keys_.at(round) = static_cast<std::uint32_t>(random_word(seed, round) >> 32);
  }
}

}  // namespace natxy
