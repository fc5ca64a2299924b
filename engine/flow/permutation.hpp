// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace natxy {

/// A seeded bijection of [0, size): a pseudorandom order of any number of things in constant time and no memory.
///
/// A generalized Feistel network (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002) over
/// pairs (left, right) with left < a, right < b, b a power of two and a·b barely above `size`; the few results outside
/// are walked on from until one is inside. Its order is for measuring, not for secrets.
class Permutation {
 public:
  /// `size` from 1 to 2^62.
  Permutation(std::uint64_t size, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Replaces each of `indexes`, all below `size()`. Many at once take a fraction of the time of one after the other.
  void operator()(std::span<std::uint64_t> indexes) const {
    once(indexes);
    // Almost always all are inside, and the highest tells that for a fraction of a look at each.
    std::uint64_t highest = 0;
    for (const std::uint64_t index : indexes) highest = std::max(highest, index);
    if (highest < size_) return;
    for (std::uint64_t& index : indexes) {
      while (index >= size_) once({&index, 1});
    }
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const {
    operator()({&index, 1});
    return index;
  }

 private:
  static constexpr std::size_t kRounds = 4;

  /// Halves of 32 bits and no branch: compilers make vector instructions of it.
  void once(std::span<std::uint64_t> indexes) const {
    for (std::uint64_t& index : indexes) {
      auto left = static_cast<std::uint32_t>(index >> right_bits_);
      auto right = static_cast<std::uint32_t>(index) & right_mask_;
      for (std::size_t round = 0; round < kRounds; round += 2) {
        const std::uint64_t step = std::uint64_t{random_of(right, keys_[round])} * left_size_;
        const std::uint32_t moved = left + static_cast<std::uint32_t>(step >> 32);
        left = std::min(moved, moved - left_size_);
        right ^= random_of(left, keys_[round + 1]) >> (32 - right_bits_);
      }
      index = (std::uint64_t{left} << right_bits_) | right;
    }
  }

  /// The higher a bit, the better it is mixed.
  static std::uint32_t random_of(std::uint32_t half, std::uint32_t key) {
    std::uint32_t word = (half ^ key) * 0x7FEB352D;
    word ^= word >> 15;
    return word * 0x846CA68B;
  }

  std::uint64_t size_;
  std::uint32_t left_size_;
  std::uint32_t right_bits_;
  std::uint32_t right_mask_;
  std::array<std::uint32_t, kRounds> keys_{};
};

}  // namespace natxy
