// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "packet/vectors.hpp"

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

  /// Applies the network once.
  void once(std::span<std::uint64_t> indexes) const {
    if constexpr (kEightWholesFitRegister) {
      for (; indexes.size() >= 16; indexes = indexes.subspan(16)) once_to_sixteen(indexes.first<16>());
    }
    // The halves have 32 bits and the loop has no branch, so that compilers vectorize it.
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

  /// Applies the network once to sixteen indexes. A vector has their halves in the order 0, 8, 1, 9 and so on.
  void once_to_sixteen(std::span<std::uint64_t, 16> indexes) const {
    EightWholes first;
    EightWholes last;
    std::memcpy(&first, &indexes[0], sizeof first);
    std::memcpy(&last, &indexes[8], sizeof last);
    const EightWholes size = EightWholes{} + left_size_;
    SixteenHalves left = low_halves(first >> right_bits_, last >> right_bits_);
    SixteenHalves right = low_halves(first, last) & right_mask_;
    for (std::size_t round = 0; round < kRounds; round += 2) {
      const auto random = reinterpret_cast<EightWholes>(random_of(right, keys_[round]));
      left += high_halves(products_of_halves(random, size), products_of_halves(random >> 32, size));
      const SixteenHalves within = left - left_size_;
      left = left < within ? left : within;
      right ^= random_of(left, keys_[round + 1]) >> (32 - right_bits_);
    }
    const auto lefts = reinterpret_cast<EightWholes>(left);
    const auto rights = reinterpret_cast<EightWholes>(right);
    first = (lefts & kLowHalf) << right_bits_ | (rights & kLowHalf);
    last = lefts >> 32 << right_bits_ | rights >> 32;
    std::memcpy(&indexes[0], &first, sizeof first);
    std::memcpy(&indexes[8], &last, sizeof last);
  }

  /// Returns a random word for `half`, or for each of many. Its high bits are better mixed than its low bits.
  template <class Half>
  static Half random_of(Half half, std::uint32_t key) {
    Half word = (half ^ key) * 0x7FEB352D;
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
