// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "flow/mix.hpp"

namespace natxy {

/// A seeded bijection of [0, size): a pseudorandom order of any number of things in constant time and no memory.
///
/// A generalized Feistel network (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002) over
/// pairs (left, right) with left < a, right < b and a·b barely above `size`; the few results outside are walked on
/// from until one is inside. Its order is for measuring, not for secrets.
class Permutation {
 public:
  /// `size` from 1 to 2^62.
  Permutation(std::uint64_t size, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// `index` below `size()`.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const {
    do {
      index = once(index);
    } while (index >= size_);
    return index;
  }

 private:
  static constexpr std::size_t kRounds = 6;

  [[nodiscard]] std::uint64_t once(std::uint64_t index) const {
    std::uint64_t left = index / right_size_;
    std::uint64_t right = index % right_size_;
    for (std::size_t round = 0; round < kRounds; round += 2) {
      left += scale(random_of(right, keys_[round]), left_size_);
      if (left >= left_size_) left -= left_size_;
      right += scale(random_of(left, keys_[round + 1]), right_size_);
      if (right >= right_size_) right -= right_size_;
    }
    return left * right_size_ + right;
  }

  /// One multiplication and a fold: weaker than `mix`, enough for a round among six.
  static std::uint64_t random_of(std::uint64_t half, std::uint64_t key) {
    const uint128 product = uint128{half ^ key} * 0x9E3779B97F4A7C15;
    const std::uint64_t folded = static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
    return folded * 0xD6E8FEB86659FD93;
  }

  std::uint64_t size_;
  std::uint64_t left_size_;
  std::uint64_t right_size_;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace natxy
