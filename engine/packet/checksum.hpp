// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/address.hpp"
#include "packet/bytes.hpp"
#include "packet/vectors.hpp"

// The Internet checksum (RFC 1071). Sums are over 16-bit words in memory order: the one's complement sum does not
// depend on the byte order, so no word is swapped, and a whole 32- or 48-bit value at an even offset is added in one
// step.
namespace natxy {

/// Adds 64-bit words in one's complement: the carry of each addition is added to the sum.
struct OnesSum {
  std::uint64_t value = 0;

  void add(std::uint64_t word) {
    value += word;
    value += value < word ? 1 : 0;
  }
};

/// Returns the sum of a number's 32-bit halves. It is congruent to the sum of the 16-bit words of the number's
/// big-endian field at an even offset, except that the two bytes of each word are swapped.
template <class Words>
constexpr Words halves_of(Words value) {
  return (value >> 32) + (value & 0xFFFFFFFF);
}

/// Returns the one's complement sum of `length` bytes, not yet folded. It is below 2^45 for any frame, so that several
/// sums can be added. An odd last byte counts as the first byte of a word.
inline std::uint64_t checksum_of(const std::uint8_t* data, std::size_t length) {
  std::uint64_t sum = 0;
  if (length >= sizeof(FourWords)) {
    FourWords halves{};
    for (; length >= sizeof(FourWords); data += sizeof(FourWords), length -= sizeof(FourWords)) {
      halves += halves_of(load_raw<FourWords>(data));
    }
    sum = halves[0] + halves[1] + halves[2] + halves[3];
  }
  for (; length >= 8; data += 8, length -= 8) sum += halves_of(load_raw<std::uint64_t>(data));
  if (length >= 4) {
    sum += load_raw<std::uint32_t>(data);
    data += 4;
    length -= 4;
  }
  if (length >= 2) {
    sum += load_raw<std::uint16_t>(data);
    data += 2;
    length -= 2;
  }
  if (length == 1) sum += *data;
  return sum;
}

/// Folds a sum, or each word of a vector of sums, to 16 bits as `fold` does, in steps that compilers vectorize. Each
/// step adds a number to itself moved by half its length, so that the upper half of the result is the sum of both
/// halves with its carry.
template <class Sums>
constexpr Sums folded(Sums sums) {
  sums += (sums << 32) | (sums >> 32);
  sums += sums << 16;
  return sums >> 48;
}
constexpr std::uint64_t fold_halves(std::uint64_t sum) { return folded(sum); }

inline std::uint16_t fold(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  std::uint32_t half = static_cast<std::uint32_t>(sum);
  half = (half >> 16) + (half & 0xFFFF);
  half = (half >> 16) + (half & 0xFFFF);
  return static_cast<std::uint16_t>(half);
}

/// 0xFFFF · kMostMultiple is 2^64 − 1, so −kMostMultiple is the inverse of 0xFFFF. A number times −kMostMultiple is its
/// quotient by 0xFFFF if that divides it, and is above kMostMultiple if not.
inline constexpr std::uint64_t kMostMultiple = 0x0001'0001'0001'0001;

/// Returns whether bytes that include their own checksum are intact: whether their sum folds to all ones. `sum` must be
/// over bytes of which at least one is not zero.
inline bool is_intact(std::uint64_t sum) { return sum * -kMostMultiple <= kMostMultiple; }

/// Returns the checksum of an IPv4 header from its sum, to be stored with store_raw.
inline std::uint16_t ip_checksum(std::uint64_t sum) { return static_cast<std::uint16_t>(~fold(sum)); }

/// Replaces a checksum of 0 by 0xFFFF, as UDP and ICMPv6 require in both families (RFC 768, RFC 8200 §8.1).
template <class T>
constexpr T never_zero(T checksum) {
  return checksum == 0 ? 0xFFFF : checksum;
}
inline std::uint16_t udp_checksum(std::uint64_t sum) { return never_zero(ip_checksum(sum)); }

}  // namespace natxy
