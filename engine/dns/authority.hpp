// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dns/message.hpp"

namespace natxy::dns {

/// Counts what an authority was asked, by the type of the record.
struct AuthorityCounts {
  std::uint64_t ipv4 = 0;   // A
  std::uint64_t ipv6 = 0;   // AAAA
  std::uint64_t other = 0;  // other records, or other names
  std::uint64_t malformed = 0;
};

/// The longest answer of an authority, in bytes.
inline constexpr std::size_t kLongestAnswer = 512;

/// Writes the answer of the authority for natxy.test to an untrusted query, and counts the query. It computes the
/// addresses of a name and keeps nothing, so that it has a name of its own for every query. The answer repeats the
/// query letter by letter, because resolvers may check its case. Returns the length of the answer; 0 if there is
/// none, because the query is malformed.
std::size_t answer(Bytes query, std::span<std::uint8_t, kLongestAnswer> to, AuthorityCounts& counts);

}  // namespace natxy::dns
