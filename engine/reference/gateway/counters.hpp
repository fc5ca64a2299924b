// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace natxy::reference {

/// Lists the causes for which a frame is dropped.
enum class Drop : std::uint8_t {
  deaf,
  outage,
  collapsed,
  malformed,
  foreign,  // not UDP over IPv4 or IPv6, a fragment, or not addressed to the gateway
  ttl,
  rate,
  recovery,
  loss,
  connection_rate,
  table_full,
  no_connection,
  no_port,
  untranslatable,
  wrong_softwire,
  no_binding,
  no_neighbor,
  delay_line_full,
  port_full,
  count_,
};

inline constexpr std::size_t kDrops = static_cast<std::size_t>(Drop::count_);
inline constexpr std::array<std::string_view, kDrops> kDropNames = {
    "deaf",           "outage",     "collapsed",       "malformed",       "foreign",       "ttl",     "rate",
    "recovery",       "loss",       "connection_rate", "table_full",      "no_connection", "no_port", "untranslatable",
    "wrong_softwire", "no_binding", "no_neighbor",     "delay_line_full", "port_full"};

/// Counts the frames of one direction.
struct Counters {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t wrong_port = 0;
  std::uint64_t without_state = 0;
  std::uint64_t wrong_subscriber = 0;
  std::uint64_t with_option = 0;
  std::uint64_t leaked = 0;
  std::uint64_t interface_source = 0;
  std::uint64_t stale_binding = 0;
  std::uint64_t low_hop_limit = 0;
  std::uint64_t inner_fragmented = 0;
  std::uint64_t outer_fragmented = 0;
  std::uint64_t zero_checksum = 0;
  std::uint64_t reset = 0;  // SYNs answered by an RST
  std::uint64_t shifted_sequence = 0;
  std::array<std::uint64_t, kDrops> dropped{};

  void drop(Drop cause) { ++dropped[static_cast<std::size_t>(cause)]; }
};

}  // namespace natxy::reference
