// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "form/subscriber_rule.hpp"
#include "packet/address.hpp"

namespace natxy {

/// Describes the softwires of a stream: the core's end, and the rule of the subscribers' ends. The fields from
/// `hop_limit` on are those of the outer header of frames that are sent.
struct Softwire {
  uint128 core = 0;
  SubscriberRule subscribers;
  // The address that the packets of all subscribers have; none: their own. Then their own only gives their ends.
  std::optional<std::uint32_t> inner_address;
  // True if packets may arrive without a UDP checksum, as those of a NAT may (RFC 768).
  bool may_lack_checksum = false;
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
};

}  // namespace natxy
