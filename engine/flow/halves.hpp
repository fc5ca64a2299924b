// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

// Vectors for products of numbers of 32 bits. Compilers make them products of 64 bits, for which Intel's processors
// take three times as long.
namespace natxy {

using EightWholes = std::uint64_t __attribute__((vector_size(64)));
using SixteenHalves = std::uint32_t __attribute__((vector_size(64)));

inline constexpr std::uint64_t kLowHalf = 0xFFFFFFFF;

#ifdef __AVX512F__
inline constexpr bool kEightWholesFitRegister = true;

/// Returns the products of lower halves. The upper halves may have any value.
inline EightWholes products_of_halves(EightWholes a, EightWholes b) {
  // The variant without a mask makes GCC 12 warn about its own header.
  constexpr __mmask8 kAll = 0xFF;
  return reinterpret_cast<EightWholes>(
      _mm512_maskz_mul_epu32(kAll, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#else
inline constexpr bool kEightWholesFitRegister = false;

inline EightWholes products_of_halves(EightWholes a, EightWholes b) { return (a & kLowHalf) * (b & kLowHalf); }
#endif

/// Returns the lower halves of `even` and `odd` by turns.
inline SixteenHalves low_halves(EightWholes even, EightWholes odd) {
  return reinterpret_cast<SixteenHalves>((even & kLowHalf) | odd << 32);
}

/// Returns the upper halves of `even` and `odd` by turns.
inline SixteenHalves high_halves(EightWholes even, EightWholes odd) {
  return reinterpret_cast<SixteenHalves>(even >> 32 | (odd & ~kLowHalf));
}

/// Returns the upper halves of `first`, followed by those of `last`.
inline SixteenHalves high_halves_in_a_row(EightWholes first, EightWholes last) {
  return __builtin_shufflevector(reinterpret_cast<SixteenHalves>(first), reinterpret_cast<SixteenHalves>(last), 1, 3, 5,
                                 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

}  // namespace natxy
