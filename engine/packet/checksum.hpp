// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/address.hpp"
#include "packet/bytes.hpp"

// The Internet checksum (RFC 1071). Sums are of 16-bit words *as they stand in memory*: the ones' complement sum
// does not care for byte order, so no word is swapped, and a whole 32- or 48-bit value at an even offset adds as one.
namespace natxy {

/// One's complement sum of `length` bytes, not yet folded. An odd last byte counts as the first of a word.
inline std::uint64_t checksum_of(const std::uint8_t* data, std::size_t length) {
  std::uint64_t sum = 0;
  for (; length >= 4; data += 4, length -= 4) sum += load_raw<std::uint32_t>(data);
  if (length >= 2) {
    sum += load_raw<std::uint16_t>(data);
    data += 2;
    length -= 2;
  }
  if (length == 1) sum += *data;
  return sum;
}

/// Contribution of a big-endian field to a sum of words in memory.
inline std::uint64_t checksum_of_port(std::uint16_t port) { return __builtin_bswap16(port); }
inline std::uint64_t checksum_of_address(std::uint32_t address) { return __builtin_bswap32(address); }
inline std::uint64_t checksum_of_address(uint128 address) {
  const std::uint64_t high = __builtin_bswap64(static_cast<std::uint64_t>(address >> 64));
  const std::uint64_t low = __builtin_bswap64(static_cast<std::uint64_t>(address));
  return (high >> 32) + (high & 0xFFFFFFFF) + (low >> 32) + (low & 0xFFFFFFFF);
}
/// A 48-bit big-endian field at an even offset.
inline std::uint64_t checksum_of_48(std::uint64_t value) { return __builtin_bswap64(value) >> 16; }

inline std::uint16_t fold(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  std::uint32_t half = static_cast<std::uint32_t>(sum);
  half = (half >> 16) + (half & 0xFFFF);
  half = (half >> 16) + (half & 0xFFFF);
  return static_cast<std::uint16_t>(half);
}

/// The IPv4 header's checksum word, ready to be stored raw.
inline std::uint16_t ip_checksum(std::uint64_t sum) { return static_cast<std::uint16_t>(~fold(sum)); }

/// UDP's and ICMPv6's checksum word: a computed 0 is sent as 0xFFFF in both families (RFC 768, RFC 8200 §8.1).
inline std::uint16_t udp_checksum(std::uint64_t sum) {
  const std::uint16_t word = ip_checksum(sum);
  return word == 0 ? 0xFFFF : word;
}

}  // namespace natxy
