// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace natxy {

// Vectors of 64-bit words, each in one register if the machine's registers are long enough.
using FourWords = std::uint64_t __attribute__((vector_size(32)));
using TwoWords = std::uint64_t __attribute__((vector_size(16)));

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

}  // namespace natxy
