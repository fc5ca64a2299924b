// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "port/port.hpp"
#include "reference/gateway/counters.hpp"
#include "reference/gateway/sequences.hpp"
#include "reference/gateway/settings.hpp"
#include "reference/gateway/transport_packet.hpp"

namespace natxy::reference {

/// Is one end of softwires (RFC 2473): takes IPv4 packets that come from them out of their IPv6 packets, and puts
/// packets from the other side into them. The subscribers' ends follow from a rule, so that a million of them take no
/// memory.
class SoftwireEnd {
 public:
  /// `interface_address`: the gateway's own address on the link with the softwires.
  SoftwireEnd(const SoftwireSettings& settings, uint128 interface_address);

  /// Returns the side on which softwires are: the right one of an edge, the left one of a core.
  [[nodiscard]] Side side() const { return settings_.sends == Outer::from_edge ? Side::right : Side::left; }

  /// Takes the IPv4 packet out of a frame from a softwire, and sets `subscriber` to the subscriber's end of it. Frames
  /// of native IPv6 remain as they are. Returns why a frame has to be dropped: it is in no softwire, or the outer
  /// addresses do not belong to the inner ones.
  [[nodiscard]] std::optional<Drop> open(Frame& frame, uint128& subscriber) const;

  /// Returns the frame of an IPv4 packet, put into a softwire; or with a fault whose turn it is, which is counted. The
  /// frame needs kGrowth free bytes before it. `subscriber`: its end of the softwire; 0: the one that follows from the
  /// rule. `second` gets the frame that follows if the packet leaves in two fragments.
  Frame close(const TransportPacket& packet, uint128 subscriber, Counters& counters, std::vector<std::uint8_t>& second);

 private:
  /// Says which faults it is the turn of.
  struct Turn {
    bool leak;
    bool inner_fragments;
    bool outer_fragments;
    bool stale;
    bool wrong_subscriber;
    bool interface_source;
    bool low_hop_limit;
    bool option;
  };
  /// Holds what varies from one outer header to the next.
  struct Header {
    uint128 source;
    uint128 destination;
    std::uint8_t hop_limit;
    bool optioned;
  };

  [[nodiscard]] bool is_bound(uint128 subscriber, Endpoint own) const;
  [[nodiscard]] Turn next_turn();
  [[nodiscard]] Header header_of(const TransportPacket& packet, uint128 subscriber, const Turn& turn) const;
  [[nodiscard]] Frame encapsulate(const Frame& frame, const Header& header) const;

  SoftwireSettings settings_;
  uint128 interface_address_;
  EveryNth wrong_subscriber_;
  EveryNth option_;
  EveryNth leak_;
  EveryNth interface_source_;
  LastOfEvery stale_;
  EveryNth low_hop_limit_;
  EveryNth inner_fragments_;
  EveryNth outer_fragments_;
};

}  // namespace natxy::reference
