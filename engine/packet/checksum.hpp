// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/address.hpp"
#include "packet/bytes.hpp"

// The Internet checksum (RFC 1071). Sums are of 16-bit words *as they stand in memory*: the ones' complement sum
// does not care for byte order, so no word is swapped, and a whole 32- or 48-bit value at an even offset adds as one.
namespace natxy {

/// Of words of 64 bits in ones' complement: what one sum carries goes into the next.
struct OnesSum {
  std::uint64_t value = 0;

  void add(std::uint64_t word) {
    value += word;
    value += value < word ? 1 : 0;
  }
};

/// One's complement sum of `length` bytes, not yet folded: below 2^35 for any frame, so that several add up. An odd
/// last byte counts as the first of a word.
inline std::uint64_t checksum_of(const std::uint8_t* data, std::size_t length) {
  OnesSum words;
  for (; length >= 8; data += 8, length -= 8) words.add(load_raw<std::uint64_t>(data));
  std::uint64_t sum = (words.value >> 32) + (words.value & 0xFFFFFFFF);
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

/// The sum of a number's halves: congruent to that of the 16-bit words that it has as a big-endian field at an even
/// offset, but for the order of each word's two bytes.
constexpr std::uint64_t halves_of(std::uint64_t value) { return (value >> 32) + (value & 0xFFFFFFFF); }
/// As `fold`, in steps that compilers make vector instructions of.
constexpr std::uint64_t fold_halves(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  return ((sum >> 16) + sum) & 0xFFFF;
}

inline std::uint16_t fold(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  std::uint32_t half = static_cast<std::uint32_t>(sum);
  half = (half >> 16) + (half & 0xFFFF);
  half = (half >> 16) + (half & 0xFFFF);
  return static_cast<std::uint16_t>(half);
}

/// Whether bytes that hold their own checksum add up to ones alone. `sum` is of some that aren't all zero.
inline bool is_intact(std::uint64_t sum) {
  // Whether 0xFFFF divides it, by one multiplication: 2^64 − 1 is 0xFFFF times this, and its negative is 0xFFFF's
  // inverse.
  constexpr std::uint64_t kMost = 0x0001'0001'0001'0001;
  return sum * -kMost <= kMost;
}

/// The IPv4 header's checksum word, ready to be stored raw.
inline std::uint16_t ip_checksum(std::uint64_t sum) { return static_cast<std::uint16_t>(~fold(sum)); }

/// In UDP and ICMPv6 a computed 0 is sent as 0xFFFF, in both families (RFC 768, RFC 8200 §8.1).
template <class T>
constexpr T never_zero(T checksum) {
  return checksum == 0 ? 0xFFFF : checksum;
}
inline std::uint16_t udp_checksum(std::uint64_t sum) { return never_zero(ip_checksum(sum)); }

}  // namespace natxy
