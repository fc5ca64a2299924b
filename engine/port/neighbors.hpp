// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/address.hpp"
#include "packet/headers.hpp"
#include "packet/neighbor_messages.hpp"
#include "port/port.hpp"

namespace natxy {

/// Describes one of the tester's own addresses on a link, the gateway there, and the prefixes to answer for. With
/// `is_given` the caller gave the gateway's MAC address, and no answer changes it. A gateway whose address is known is
/// asked nevertheless, because it learns from the request. `asked`: the port has taken a request, or none is needed.
struct LinkNeighbor {
  Side side = Side::left;
  unsigned pair = 0;
  AnyAddress address;
  AnyAddress gateway;
  std::vector<Prefix> answers;
  std::optional<MacAddress> gateway_mac;
  bool is_given = false;
  bool asked = false;

  [[nodiscard]] Place place() const { return {side, pair}; }
};

/// Answers ARP requests and neighbour solicitations for every address that the tester simulates (RFC 2544 §25), and
/// learns the MAC addresses of the DUT.
class Neighbors {
 public:
  Neighbors() = default;
  explicit Neighbors(std::vector<LinkNeighbor> links) : links_{std::move(links)} {
    for (LinkNeighbor& link : links_) {
      link.is_given = link.gateway_mac.has_value();
      link.asked = link.is_given && link.gateway.value == 0;
    }
  }

  [[nodiscard]] const std::vector<LinkNeighbor>& links() const { return links_; }
  [[nodiscard]] std::optional<MacAddress> gateway_mac(Place place, Family family) const;

  /// Returns the answer to `frame` if it is a request on `port` for a simulated address. Safe to call from several
  /// workers.
  [[nodiscard]] std::optional<NeighborFrame> answer_to(const Port& port, std::span<const std::uint8_t> frame) const;

  /// Sends the answer to `frame`, if there is one. Safe to call from several workers.
  void answer(const Port& port, std::uint16_t queue, std::span<const std::uint8_t> frame) const;

  /// Answers a request, and stores the MAC address if `frame` is the answer of a gateway.
  void serve(const Port& port, std::span<const std::uint8_t> frame);

  /// Sends requests for the gateways of `port` whose MAC addresses are not known yet, and from each address whose
  /// request `port` has not taken yet, because the gateway learns the address from it.
  void ask(const Port& port);
  [[nodiscard]] bool resolved() const;

 private:
  std::vector<LinkNeighbor> links_;
};

}  // namespace natxy
