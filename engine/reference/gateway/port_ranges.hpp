// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace natxy::reference {

/// Holds ranges of ports, of the same size and at the same distance from each other.
struct PortRanges {
  std::uint32_t first = 0;
  std::uint32_t size = 1;
  std::uint32_t distance = 1;  // from the start of one range to that of the next
  std::uint32_t ranges = 1;

  static constexpr PortRanges between(std::uint32_t least, std::uint32_t most) {
    const std::uint32_t size = most - least + 1;
    return {least, size, size, 1};
  }

  /// Returns the ports of a set (RFC 7597 §5.1): `offset` bits, which are not all zero; the PSID; and the rest. The two
  /// lengths are at most 16 together.
  static constexpr PortRanges of_set(std::uint32_t psid, unsigned psid_length, unsigned offset) {
    if (psid_length == 0) return between(0, kMost);
    const std::uint32_t distance = (kMost + 1) >> offset;
    const std::uint32_t size = distance >> psid_length;
    const std::uint32_t before = offset > 0 ? 1 : 0;
    return {before * distance + psid * size, size, distance, (1U << offset) - before};
  }

  [[nodiscard]] constexpr PortRanges first_alone() const { return {first, size, distance, 1}; }
  [[nodiscard]] constexpr std::uint32_t count() const { return size * ranges; }
  /// Returns port `number` of all, counted from the lowest one on.
  [[nodiscard]] constexpr std::uint16_t at(std::uint32_t number) const {
    return static_cast<std::uint16_t>(first + number / size * distance + number % size);
  }
  [[nodiscard]] constexpr bool contains(std::uint32_t port) const {
    if (port < first) return false;
    return (port - first) / distance < ranges && (port - first) % distance < size;
  }

 private:
  static constexpr std::uint32_t kMost = 65535;
};

}  // namespace natxy::reference
