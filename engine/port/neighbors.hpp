// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/address.hpp"
#include "packet/headers.hpp"
#include "port/port.hpp"

namespace natxy {

/// One of the tester's own link addresses and what it plays there.
struct LinkNeighbor {
  Side side = Side::left;
  AnyAddress address;
  AnyAddress gateway;
  std::vector<Prefix> answers;
  std::optional<MacAddress> gateway_mac;
};

/// Answers ARP and neighbour solicitations for every address the tester plays (RFC 2544 §25), and learns the DUT's MAC
/// addresses.
class Neighbors {
 public:
  Neighbors() = default;
  explicit Neighbors(std::vector<LinkNeighbor> links) : links_{std::move(links)} {}

  [[nodiscard]] const std::vector<LinkNeighbor>& links() const { return links_; }
  [[nodiscard]] std::optional<MacAddress> gateway_mac(Side side, Family family) const;

  /// Sends the answer to `frame` on `port` if it asks for a played address. Safe to call from several workers.
  void answer(const Port& port, std::uint16_t queue, std::span<const std::uint8_t> frame) const;

  /// Answers, and remembers the MAC address if `frame` is the answer of a gateway.
  void serve(const Port& port, std::span<const std::uint8_t> frame);

  /// Asks for the gateways of `port` whose MAC address isn't known yet.
  void ask(const Port& port) const;
  [[nodiscard]] bool resolved() const;

 private:
  std::vector<LinkNeighbor> links_;
};

}  // namespace natxy
