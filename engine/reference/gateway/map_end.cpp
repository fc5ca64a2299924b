// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/map_end.hpp"

#include "reference/gateway/subscribers.hpp"

namespace natxy::reference {

MapEnd::MapEnd(const MapSettings& settings)
    : settings_{settings},
      hosts_{{.pool = {}, .prefix = settings.prefix, .mappings = {}}},
      wrong_subscriber_{settings.wrong_subscriber_every},
      stale_{settings.stale_binding},
      leak_{settings.leak_every} {}

std::optional<Drop> MapEnd::open(TransportPacket& packet) const {
  if (packet.family() != Family::ipv6) return Drop::foreign;
  const bool at_core = side() == Side::left;
  Endpoint subscriber = at_core ? packet.source() : packet.destination();
  Endpoint host = at_core ? packet.destination() : packet.source();
  const auto far = hosts_.across(Family::ipv6, host.address);
  if (!far) return std::nullopt;
  const uint128 given = subscriber.address;
  subscriber.address = SubscriberRule::address_in(static_cast<std::uint64_t>(given));
  host.address = *far;
  const bool bound = settings_.ipv4.contains({Family::ipv4, subscriber.address}) &&
                     given == subscriber_of(settings_.subscribers, subscriber);
  if (!bound && !settings_.accepts_any_subscriber) return Drop::wrong_softwire;
  packet.translate(at_core ? subscriber : host, at_core ? host : subscriber);
  return std::nullopt;
}

void MapEnd::close(TransportPacket& packet, Counters& counters) {
  // All sequences must advance with every frame.
  const bool wrong = wrong_subscriber_.next();
  const bool stale = stale_.next();
  if (leak_.next()) {
    ++counters.leaked;
    return;
  }
  const bool from_edge = settings_.sends == Outer::from_edge;
  Endpoint subscriber = from_edge ? packet.source() : packet.destination();
  Endpoint host = from_edge ? packet.destination() : packet.source();
  const SubscriberRule& rule = settings_.subscribers;
  const Endpoint own = subscriber;
  subscriber.address = subscriber_of(rule, own);
  if (stale) {
    subscriber.address = stale_of(subscriber.address);
  } else if (wrong) {
    subscriber.address = neighbor_of(rule, own);
  }
  // Every IPv4 address is behind the prefix.
  host.address = hosts_.across(Family::ipv4, host.address).value_or(0);
  packet.translate(from_edge ? subscriber : host, from_edge ? host : subscriber);
  counters.stale_binding += stale ? 1 : 0;
  counters.wrong_subscriber += wrong && !stale ? 1 : 0;
}

}  // namespace natxy::reference
