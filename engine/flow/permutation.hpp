// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace natxy {

/// Maps [0, size) to itself one to one, in a pseudorandom order that the seed selects, in constant time and memory.
///
/// It is a generalized Feistel network (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002) over
/// pairs (left, right) with left < a and right < b, where b is a power of two and a·b barely exceeds `size`. The few
/// results outside [0, size) pass through the network again until they are inside. The order is not cryptographically
/// secure.
class Permutation {
 public:
  /// Takes a size from 1 to 2^62; throws std::invalid_argument for any other.
  Permutation(std::uint64_t size, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Replaces each of `indexes`, all below `size()`, by its image. One call for many indexes takes a fraction of the
  /// time of a call for each.
  void operator()(std::span<std::uint64_t> indexes) const {
    once(indexes);
    // Almost always all are inside. Comparing only the highest takes a fraction of the time of comparing each.
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

  /// Applies the network once. Its halves have 32 bits and its loop has no branch, so that compilers vectorize it.
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

  /// Returns a random word for `half`. Its high bits are better mixed than its low bits.
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
