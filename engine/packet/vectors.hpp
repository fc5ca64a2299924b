// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __SSSE3__
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace natxy {

// Vectors of 64-bit words, each in one register if the machine's registers are long enough.
using FourWords = std::uint64_t __attribute__((vector_size(32)));
using TwoWords = std::uint64_t __attribute__((vector_size(16)));

#ifdef __AVX2__
inline constexpr bool kFourWordsFitRegister = true;
#else
inline constexpr bool kFourWordsFitRegister = false;
#endif

/// Transposes a matrix: word j of row i becomes word i of row j.
inline std::array<FourWords, 4> transposed(const std::array<FourWords, 4>& rows) {
  const FourWords even_of_first = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
  const FourWords odd_of_first = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  const FourWords even_of_last = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
  const FourWords odd_of_last = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
  return {__builtin_shufflevector(even_of_first, even_of_last, 0, 1, 4, 5),
          __builtin_shufflevector(odd_of_first, odd_of_last, 0, 1, 4, 5),
          __builtin_shufflevector(even_of_first, even_of_last, 2, 3, 6, 7),
          __builtin_shufflevector(odd_of_first, odd_of_last, 2, 3, 6, 7)};
}

inline std::array<TwoWords, 4> transposed(const std::array<FourWords, 2>& rows) {
  const FourWords even = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
  const FourWords odd = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  return {__builtin_shufflevector(even, even, 0, 1), __builtin_shufflevector(odd, odd, 0, 1),
          __builtin_shufflevector(even, even, 2, 3), __builtin_shufflevector(odd, odd, 2, 3)};
}

inline std::array<FourWords, 2> transposed(const std::array<TwoWords, 4>& rows) {
  const FourWords even = __builtin_shufflevector(rows[0], rows[2], 0, 1, 2, 3);
  const FourWords odd = __builtin_shufflevector(rows[1], rows[3], 0, 1, 2, 3);
  return {__builtin_shufflevector(even, odd, 0, 4, 2, 6), __builtin_shufflevector(even, odd, 1, 5, 3, 7)};
}

/// As a number of a byte: none, which gives 0.
inline constexpr std::uint8_t kNoByte = 0x80;

/// Chooses a byte for each byte of the result, by their numbers.
inline TwoWords chosen_bytes(TwoWords words, TwoWords numbers) {
#ifdef __SSSE3__
  return reinterpret_cast<TwoWords>(
      _mm_shuffle_epi8(reinterpret_cast<__m128i>(words), reinterpret_cast<__m128i>(numbers)));
#else
  const auto from = std::bit_cast<std::array<std::uint8_t, sizeof words>>(words);
  auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof words>>(numbers);
  for (std::uint8_t& byte : bytes) byte = byte == kNoByte ? 0 : from[byte];
  return std::bit_cast<TwoWords>(bytes);
#endif
}

/// Does the same among the bytes of the same half, 16 bytes. `numbers` has their numbers there.
inline FourWords chosen_bytes(FourWords words, FourWords numbers) {
#ifdef __AVX2__
  return reinterpret_cast<FourWords>(
      _mm256_shuffle_epi8(reinterpret_cast<__m256i>(words), reinterpret_cast<__m256i>(numbers)));
#else
  const auto first = [](FourWords all) { return __builtin_shufflevector(all, all, 0, 1); };
  const auto last = [](FourWords all) { return __builtin_shufflevector(all, all, 2, 3); };
  return __builtin_shufflevector(chosen_bytes(first(words), first(numbers)), chosen_bytes(last(words), last(numbers)),
                                 0, 1, 2, 3);
#endif
}

/// Loads numbers as words, from place `lane` on: one number, or four in a vector.
template <class Word, class T, std::size_t kCount>
Word load_lanes(const std::array<T, kCount>& lanes, std::size_t lane) {
  if constexpr (std::is_integral_v<Word>) {
    return lanes[lane];
  } else {
    return Word{lanes[lane], lanes[lane + 1], lanes[lane + 2], lanes[lane + 3]};
  }
}

/// Returns whether any bit is set.
inline bool any(FourWords words) {
#ifdef __AVX2__
  return _mm256_testz_si256(reinterpret_cast<__m256i>(words), reinterpret_cast<__m256i>(words)) == 0;
#else
  return (words[0] | words[1] | words[2] | words[3]) != 0;
#endif
}

/// Reverses the bytes of each word.
inline FourWords swapped_bytes(FourWords words) {
  using Bytes = std::uint8_t __attribute__((vector_size(32)));
  const auto bytes = reinterpret_cast<Bytes>(words);
  return reinterpret_cast<FourWords>(__builtin_shufflevector(bytes, bytes, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11,
                                                             10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28,
                                                             27, 26, 25, 24));
}

// Vectors for products of numbers of 32 bits. Compilers make them products of 64 bits, for which Intel's processors
// take three times as long.

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
