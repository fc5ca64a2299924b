// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "form/softwire.hpp"
#include "reference/gateway/connection_table.hpp"

// The IPv6 addresses of subscribers, which follow from a rule, so that a million subscribers take no memory.
namespace natxy::reference {

/// Returns the IPv6 address of the subscriber that has an IPv4 address and a port.
inline uint128 subscriber_of(const SubscriberRule& rule, const Endpoint& own) {
  const auto address = static_cast<std::uint64_t>(own.address);
  const std::uint64_t port = own.port;
  return uint128{rule.high_of(address, port)} << 64 | rule.low_of(address, port);
}

/// Returns that of another subscriber: of the PSID or the address that differs in its last bit.
inline uint128 neighbor_of(const SubscriberRule& rule, const Endpoint& own) {
  Endpoint other = own;
  if (rule.psid_mask != 0) {
    other.port ^= static_cast<std::uint16_t>(1U << rule.psid_drop);
  } else if (rule.address_mask != 0) {
    other.address ^= 1;
  } else {
    return subscriber_of(rule, own) ^ 1;
  }
  return subscriber_of(rule, other);
}

/// Returns an address that a subscriber has no more, which differs from its own in the interface identifier alone.
constexpr uint128 stale_of(uint128 subscriber) { return subscriber ^ 1; }

}  // namespace natxy::reference
