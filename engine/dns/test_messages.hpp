// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dns/authority.hpp"
#include "dns/queries.hpp"

// Messages for tests.
namespace natxy::dns {

using Message = std::vector<std::uint8_t>;

inline void append(Message& message, std::uint16_t word) {
  message.push_back(static_cast<std::uint8_t>(word >> 8));
  message.push_back(static_cast<std::uint8_t>(word));
}

/// Returns a query for a name, written with dots.
inline Message query_for(const std::string& name, std::uint16_t type) {
  Message message;
  for (const int word : {0x1234, 0, 1, 0, 0, 0}) append(message, static_cast<std::uint16_t>(word));
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    message.push_back(static_cast<std::uint8_t>(end - at));
    message.insert(message.end(), name.begin() + static_cast<std::ptrdiff_t>(at),
                   name.begin() + static_cast<std::ptrdiff_t>(end));
    at = end + 1;
  }
  message.push_back(0);
  append(message, type);
  append(message, kClassIn);
  return message;
}

/// Returns what the authority answers; empty if nothing.
inline Message answer_to(const Message& query, AuthorityCounts& counts) {
  std::array<std::uint8_t, kLongestAnswer> to{};
  const std::size_t length = answer(query, to, counts);
  return {to.begin(), to.begin() + static_cast<std::ptrdiff_t>(length)};
}

/// Returns the answer of a DNS64 server to a query for an AAAA record, with one record for each of `addresses`.
inline Message answer_with(const Message& query, const std::vector<uint128>& addresses) {
  Message message(query.begin(), query.begin() + kQueryBytes);
  store_be16(message.data() + 2, kIsAnswer | kRecursionDesired);
  store_be16(message.data() + 6, static_cast<std::uint16_t>(addresses.size()));
  for (const uint128 address : addresses) {
    for (const int word : {0xC00C, int{kTypeAaaa}, int{kClassIn}, 0, 60, 16}) {
      append(message, static_cast<std::uint16_t>(word));
    }
    for (int shift = 112; shift >= 0; shift -= 16) append(message, static_cast<std::uint16_t>(address >> shift));
  }
  return message;
}

}  // namespace natxy::dns
