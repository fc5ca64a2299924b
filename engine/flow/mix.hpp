// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "packet/address.hpp"

namespace natxy {

/// Mixes the bits of a word, or of each word of a vector, with the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
template <class Word>
constexpr Word mix(Word word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

/// The words that are mixed to a random sequence are so far apart.
inline constexpr std::uint64_t kRandomStep = 0x9E3779B97F4A7C15;

/// Returns word `index` of the random sequence that belongs to `seed`.
constexpr std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  return mix(seed + (index + 1) * kRandomStep);
}

/// Scales a random word to [0, bound) without a division.
constexpr std::uint64_t scale(std::uint64_t word, std::uint64_t bound) {
  return static_cast<std::uint64_t>((uint128{word} * bound) >> 64);
}

}  // namespace natxy
