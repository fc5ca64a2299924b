// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "packet/address.hpp"

// Big-endian loads and stores at any alignment.
namespace natxy {

static_assert(std::endian::native == std::endian::little, "natxy-engine needs a little-endian machine");

template <class T>
T load_raw(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store_raw(std::uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

inline std::uint16_t load_be16(const std::uint8_t* from) { return __builtin_bswap16(load_raw<std::uint16_t>(from)); }
inline std::uint32_t load_be32(const std::uint8_t* from) { return __builtin_bswap32(load_raw<std::uint32_t>(from)); }
inline std::uint64_t load_be64(const std::uint8_t* from) { return __builtin_bswap64(load_raw<std::uint64_t>(from)); }
inline uint128 load_be128(const std::uint8_t* from) { return (uint128{load_be64(from)} << 64) | load_be64(from + 8); }

inline void store_be16(std::uint8_t* to, std::uint16_t value) { store_raw(to, __builtin_bswap16(value)); }
inline void store_be32(std::uint8_t* to, std::uint32_t value) { store_raw(to, __builtin_bswap32(value)); }
inline void store_be64(std::uint8_t* to, std::uint64_t value) { store_raw(to, __builtin_bswap64(value)); }
inline void store_be48(std::uint8_t* to, std::uint64_t value) {
  store_be16(to, static_cast<std::uint16_t>(value >> 32));
  store_be32(to + 2, static_cast<std::uint32_t>(value));
}
inline void store_be128(std::uint8_t* to, uint128 value) {
  store_be64(to, static_cast<std::uint64_t>(value >> 64));
  store_be64(to + 8, static_cast<std::uint64_t>(value));
}

}  // namespace natxy
