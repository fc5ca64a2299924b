// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "port/port.hpp"
#include "reference/gateway/address_translation.hpp"
#include "reference/gateway/counters.hpp"
#include "reference/gateway/sequences.hpp"
#include "reference/gateway/settings.hpp"
#include "reference/gateway/transport_packet.hpp"

namespace natxy::reference {

/// Is an edge or the core of MAP-T (RFC 7599): translates between IPv4 and IPv6 packets in which subscribers have the
/// addresses of a rule, and all other hosts those behind a prefix (RFC 6052).
class MapEnd {
 public:
  explicit MapEnd(const MapSettings& settings);

  /// Returns the side with IPv6: the right one of an edge, the left one of the core.
  [[nodiscard]] Side side() const { return settings_.sends == Outer::from_edge ? Side::right : Side::left; }

  /// Translates a packet from this side. Native IPv6 remains as it is. Returns why a packet has to be dropped: it is no
  /// IPv6, or its subscriber's address is not that of its IPv4 address and port.
  [[nodiscard]] std::optional<Drop> open(TransportPacket& packet) const;

  /// Translates an IPv4 packet to this side; or with a fault whose turn it is, which is counted.
  void close(TransportPacket& packet, Counters& counters);

 private:
  MapSettings settings_;
  AddressTranslation hosts_;
  EveryNth wrong_subscriber_;
  LastOfEvery stale_;
  EveryNth leak_;
};

}  // namespace natxy::reference
