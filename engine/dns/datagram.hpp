// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/address.hpp"
#include "packet/headers.hpp"

namespace natxy::dns {

/// Says from where to where a frame with a UDP datagram goes.
struct Way {
  MacAddress source_mac{};
  MacAddress destination_mac{};
  Family family = Family::ipv4;
  uint128 source = 0;
  uint128 destination = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;

  bool operator==(const Way&) const = default;

  [[nodiscard]] Way back() const {
    return {destination_mac, source_mac, family, destination, source, destination_port, source_port};
  }
};

/// Holds a datagram in a frame.
struct Datagram {
  Way way;
  std::span<const std::uint8_t> message;
};

/// Returns where the message of a datagram begins in a frame without extension headers.
constexpr std::size_t message_at(Family family) { return kEthernetBytes + ip_bytes(family) + kUdpBytes; }

/// Returns the datagram in an untrusted frame, or nothing if there is none that is whole and intact.
std::optional<Datagram> read_datagram(std::span<const std::uint8_t> frame);

/// Writes the headers before a message that stands at `message_at` in `frame`, up to the end of `frame`, which is no
/// longer than a frame of Ethernet.
void write_headers(std::span<std::uint8_t> frame, const Way& way, std::uint8_t ttl);

}  // namespace natxy::dns
