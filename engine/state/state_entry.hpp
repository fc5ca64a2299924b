// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "packet/address.hpp"
#include "packet/bytes.hpp"

namespace natxy {

/// Holds the four-tuple of one connection, except the prefixes of IPv6 addresses, all but their last 32 bits. No entry
/// lies on two cache lines.
struct StateEntry {
  std::uint32_t source;
  std::uint32_t destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint32_t mark;  // which is the table's
};
static_assert(sizeof(StateEntry) == 16);

/// Holds the same as StateEntry in one vector: source, destination, both ports, mark.
using EntryWords = std::uint32_t __attribute__((vector_size(16)));

/// Returns the entry of a tuple on the wire: the addresses, and the ports directly behind them. The mark is the last
/// word of `mark`.
template <Family F>
EntryWords entry_of(const std::uint8_t* tuple, EntryWords mark) {
  using Bytes = std::uint8_t __attribute__((vector_size(16)));
  EntryWords words;  // the last 32 bits of both addresses, the ports, and anything
  if constexpr (F == Family::ipv6) {
    using EightWords = std::uint32_t __attribute__((vector_size(32)));
    const auto end = load_raw<EightWords>(tuple + 4);
    words = __builtin_shufflevector(end, end, 2, 6, 7, 7);
  } else {
    words = load_raw<EntryWords>(tuple);
  }
  const auto bytes = __builtin_shufflevector(reinterpret_cast<Bytes>(words), reinterpret_cast<Bytes>(mark), 3, 2, 1, 0,
                                             7, 6, 5, 4, 9, 8, 11, 10, 28, 29, 30, 31);
  return reinterpret_cast<EntryWords>(bytes);
}

/// Returns the same word of four entries: their sources, destinations, ports, and marks. Of two ports, the source's is
/// in the lower half.
inline std::array<EntryWords, 4> columns_of(const std::array<EntryWords, 4>& entries) {
  const EntryWords addresses = __builtin_shufflevector(entries[0], entries[1], 0, 4, 1, 5);
  const EntryWords other_addresses = __builtin_shufflevector(entries[2], entries[3], 0, 4, 1, 5);
  const EntryWords rest = __builtin_shufflevector(entries[0], entries[1], 2, 6, 3, 7);
  const EntryWords other_rest = __builtin_shufflevector(entries[2], entries[3], 2, 6, 3, 7);
  return {__builtin_shufflevector(addresses, other_addresses, 0, 1, 4, 5),
          __builtin_shufflevector(addresses, other_addresses, 2, 3, 6, 7),
          __builtin_shufflevector(rest, other_rest, 0, 1, 4, 5), __builtin_shufflevector(rest, other_rest, 2, 3, 6, 7)};
}

}  // namespace natxy
