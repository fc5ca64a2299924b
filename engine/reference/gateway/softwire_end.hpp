// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "port/port.hpp"
#include "reference/gateway/counters.hpp"
#include "reference/gateway/sequences.hpp"
#include "reference/gateway/settings.hpp"
#include "reference/gateway/udp_packet.hpp"

namespace natxy::reference {

/// Is one end of softwires (RFC 2473): takes IPv4 packets that come from them out of their IPv6 packets, and puts
/// packets from the other side into them. The subscribers' ends follow from a rule, so that a million of them take no
/// memory.
class SoftwireEnd {
 public:
  explicit SoftwireEnd(const SoftwireSettings& settings);

  /// Returns the side on which softwires are: the right one of an edge, the left one of a core.
  [[nodiscard]] Side side() const { return settings_.sends == Outer::from_edge ? Side::right : Side::left; }

  /// Takes the IPv4 packet out of a frame from a softwire. Frames of native IPv6 remain as they are. Returns why a
  /// frame has to be dropped: it is in no softwire, or the outer addresses do not belong to the inner ones.
  [[nodiscard]] std::optional<Drop> open(Frame& frame) const;

  /// Returns the frame of an IPv4 packet, put into a softwire; or with a fault whose turn it is, which is counted. The
  /// frame needs kGrowth free bytes before it.
  Frame close(const UdpPacket& packet, Counters& counters);

 private:
  /// Returns the end of the subscriber that has an address and a port.
  [[nodiscard]] uint128 subscriber(const Endpoint& own) const;
  /// Returns the end of another subscriber: of the PSID or the address that differs in its last bit.
  [[nodiscard]] uint128 neighbor(const Endpoint& own) const;

  SoftwireSettings settings_;
  EveryNth wrong_subscriber_;
  EveryNth option_;
  EveryNth leak_;
};

}  // namespace natxy::reference
