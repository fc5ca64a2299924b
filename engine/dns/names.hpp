// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/address.hpp"

// The names that the tester asks for, and the addresses that these names have. Each name is a label before natxy.test,
// in a domain that no resolver of the Internet serves (RFC 6761 §6.2):
//
//   new4-0a1b00000000002a   asked once: the trial's run id, and the number of the query
//   old6-0000000000000007   one of a few that are asked again and again
//
// 4: the name has an IPv4 address only; 6: it has an IPv6 address too. Addresses follow from the name alone, so that
// neither the authority nor who checks an answer looks anything up.
namespace natxy::dns {

/// Holds the bytes of a name as they stand in a message: labels behind their lengths, and an empty label (RFC 1035
/// §3.1).
inline constexpr std::array<std::uint8_t, 12> kDomain = {5, 'n', 'a', 't', 'x', 'y', 4, 't', 'e', 's', 't', 0};
inline constexpr std::size_t kLabelBytes = 21;
inline constexpr std::size_t kNameBytes = 1 + kLabelBytes + kDomain.size();

/// The number of names that are asked again and again. It shares no divisor with the 100 queries in which the share of
/// these names repeats, so that all of them have their turn.
inline constexpr std::uint64_t kOldNames = 1009;

struct Name {
  bool is_old = false;
  bool has_ipv6 = false;
  std::uint64_t number = 0;

  bool operator==(const Name&) const = default;
};

/// Writes a name of kNameBytes.
void write_name(std::uint8_t* to, const Name& name);

/// Returns the name in a label, whose letters may be of either case (RFC 4343), or nothing if it is none of the
/// tester's.
std::optional<Name> read_label(std::span<const std::uint8_t> label);

/// Returns the IPv4 address of a name, in 198.18.0.0/15 (RFC 2544 appendix C.2.2).
std::uint32_t ipv4_of(const Name& name);

/// Returns the IPv6 address of a name that has one, in 2001:2::/48 (RFC 5180 §8).
uint128 ipv6_of(const Name& name);

}  // namespace natxy::dns
