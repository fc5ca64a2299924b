// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/gateway.hpp"

#include <algorithm>

#include "flow/mix.hpp"
#include "form/segment.hpp"

namespace natxy::reference {

namespace {

std::optional<RateLimit> limit_of(const RateTruth& truth, const Clock& clock) {
  if (!truth.max_rate_fps) return std::nullopt;
  return RateLimit(TokenBucket(*truth.max_rate_fps, truth.buffer_frames, clock.hz()), clock.ticks(truth.recovery_s));
}

/// Returns the gateway's own IPv6 address on a side of the first pair; 0 if it has none.
uint128 address_on(Side side, const Settings& settings) {
  for (const Link& link : settings.links) {
    if (link.place != Place{side, 0}) continue;
    const auto own = std::ranges::find(link.addresses, Family::ipv6, &AnyAddress::family);
    if (own != link.addresses.end()) return own->value;
  }
  return 0;
}

}  // namespace

Gateway::FaultSequences::FaultSequences(const Faults& faults, std::uint64_t seed, const Clock& clock)
    : loss{faults.loss},
      random_loss{faults.loss_ratio, mix(seed)},
      wrong_port{faults.wrong_port_every},
      corrupt{faults.corrupt_checksum_every},
      zero_checksum{faults.zero_checksum_every},
      duplicate{faults.duplicate_every},
      reorder{faults.reorder_every},
      delays{faults.delay, mix(seed + 1), clock} {}

Gateway::Gateway(const Settings& settings, const Clock& clock)
    : settings_{settings},
      clock_{clock},
      addresses_{settings.translation},
      outages_{settings.truth.outages, mix(settings.truth.seed + 4), clock},
      bindings_{settings.truth.bindings, clock} {
  if (keeps_connections(settings.mode)) connections_.emplace(settings, clock);
  begin_sequences();
}

std::optional<Departure> Gateway::forward(Side side, const Frame& frame, std::uint64_t arrival, std::uint64_t now) {
  Counters& counters = of(directions_, side).counters;
  ++counters.received;
  Frame opened = frame;
  auto cause = closed(arrival);
  // The subscriber's end of the softwire that the frame comes from or is for; 0: it follows from a rule.
  uint128 subscriber = 0;
  if (!cause && softwire_ && side == softwire_->side()) cause = softwire_->open(opened, subscriber);
  TransportPacket packet(opened);
  if (!cause && refuses(side, packet)) {
    ++counters.reset;
    packet.refuse();
    return Departure{.frame = packet.frame(), .second = {}, .due = now, .back = true};
  }
  if (!cause) cause = pass(side, packet, arrival, subscriber);
  if (!cause) cause = unbound(side, packet, arrival);
  if (cause) {
    counters.drop(*cause);
    return std::nullopt;
  }
  Departure departure = depart(side, packet, now);
  close(side, packet, subscriber, departure);
  return departure;
}

void Gateway::restart() {
  if (connections_) connections_->restart();
  begin_sequences();
}

std::uint32_t Gateway::clear() {
  const std::uint32_t count = connections();
  if (connections_) connections_->clear();
  begin_sequences();
  return count;
}

void Gateway::begin_sequences() {
  const Truth& truth = settings_.truth;
  if (settings_.softwire) {
    const Side side = settings_.softwire->sends == Outer::from_edge ? Side::right : Side::left;
    softwire_.emplace(*settings_.softwire, address_on(side, settings_));
  }
  if (settings_.map) map_.emplace(*settings_.map);
  tcp_ = TcpSequences{EveryNth(truth.tcp.drop_syn_ack_every), EveryNth(truth.tcp.reset_every),
                      EveryNth(truth.tcp.shift_sequence_every)};
  for (const Side side : {Side::left, Side::right}) {
    Direction& direction = of(directions_, side);
    direction.rate = limit_of(truth.rate, clock_);
    direction.faults.emplace(of(truth.faults, side), mix(truth.seed + 2 * static_cast<std::uint64_t>(side)), clock_);
  }
}

/// Returns whether a SYN is answered instead of being forwarded.
bool Gateway::refuses(Side side, const TransportPacket& packet) {
  if (side != Side::left || packet.kind() != TransportPacket::Kind::plain) return false;
  return packet.tcp_flags() == kTcpSyn && tcp_->reset.next();
}

/// Returns why no frame at all passes.
std::optional<Drop> Gateway::closed(std::uint64_t arrival) {
  if (deaf(arrival)) return Drop::deaf;
  if (outages_.covers(arrival) || bindings_.silent(arrival)) return Drop::outage;
  if (collapsed()) return Drop::collapsed;
  return std::nullopt;
}

/// Returns why a packet of a core's subscriber does not pass. A core that takes packets from any subscriber asks for no
/// binding of theirs.
std::optional<Drop> Gateway::unbound(Side side, const TransportPacket& packet, std::uint64_t arrival) const {
  if (settings_.mode != Mode::forward || packet.family() != Family::ipv4) return std::nullopt;
  bool accepts_any = false;
  if (settings_.softwire && settings_.softwire->sends == Outer::from_core) {
    accepts_any = settings_.softwire->accepts_any_subscriber;
  } else if (settings_.map && settings_.map->sends == Outer::from_core) {
    accepts_any = settings_.map->accepts_any_subscriber;
  } else {
    return std::nullopt;
  }
  // The subscribers of a core are on its left.
  const bool from_subscriber = side == Side::left;
  if (from_subscriber && accepts_any) return std::nullopt;
  const Endpoint own = from_subscriber ? packet.source() : packet.destination();
  return bindings_.has(own.address, arrival) ? std::nullopt : std::optional{Drop::no_binding};
}

std::optional<Drop> Gateway::pass(Side side, TransportPacket& packet, std::uint64_t arrival, uint128& subscriber) {
  if (packet.kind() != TransportPacket::Kind::plain) {
    return packet.kind() == TransportPacket::Kind::malformed ? Drop::malformed : Drop::foreign;
  }
  if (packet.hop_limit() <= 1) return Drop::ttl;
  if (const auto cause = limit(side, arrival)) return cause;
  packet.decrement_hop_limit();
  if (map_ && side == map_->side()) {
    if (const auto cause = map_->open(packet)) return cause;
  }
  if (const auto cause = translate(side, packet, arrival, subscriber)) return cause;
  if (packet.tcp_flags() == (kTcpSyn | kTcpAck) && tcp_->drop_syn_ack.next()) return Drop::loss;
  FaultSequences& faults = *of(directions_, side).faults;
  // Both sequences must advance with every frame.
  const bool lost = faults.loss.next();
  if (faults.random_loss.next() || lost) return Drop::loss;
  return std::nullopt;
}

std::optional<Drop> Gateway::limit(Side side, std::uint64_t arrival) {
  auto& rate = of(directions_, settings_.truth.rate.aggregate ? Side::left : side).rate;
  if (!rate) return std::nullopt;
  switch (rate->take(arrival, connections_ ? connections_->frame_price() : kToken)) {
    case Passage::over_rate:
      return Drop::rate;
    case Passage::recovering:
      return Drop::recovery;
    default:
      return std::nullopt;
  }
}

/// Translates a frame. A frame that the mode does not concern, like native IPv6 through a NAT64, remains unchanged.
std::optional<Drop> Gateway::translate(Side side, TransportPacket& packet, std::uint64_t arrival, uint128& subscriber) {
  const Mode mode = settings_.mode;
  if (mode == Mode::forward) return std::nullopt;
  if (packet.family() != (side == Side::left ? left_family(mode) : right_family(mode))) return std::nullopt;
  const bool native = left_family(mode) != right_family(mode) && (side == Side::left || mode == Mode::clat) &&
                      !addresses_.across(packet.family(), packet.destination().address);
  if (native) return std::nullopt;
  if (is_stateless(mode)) return translate_statelessly(packet);
  if (side == Side::left) return leave(packet, arrival, subscriber);
  if (!connections_->is_pool({packet.family(), packet.destination().address})) return std::nullopt;
  return enter(packet, arrival, subscriber);
}

std::optional<Drop> Gateway::translate_statelessly(TransportPacket& packet) const {
  Endpoint source = packet.source();
  Endpoint destination = packet.destination();
  for (Endpoint* end : {&source, &destination}) {
    const auto across = addresses_.across(packet.family(), end->address);
    if (!across) return Drop::untranslatable;
    end->address = *across;
  }
  packet.translate(source, destination);
  return std::nullopt;
}

std::optional<Drop> Gateway::leave(TransportPacket& packet, std::uint64_t arrival, uint128 subscriber) {
  const Family family = right_family(settings_.mode);
  Endpoint remote = packet.destination();
  if (packet.family() != family) remote.address = *addresses_.across(packet.family(), remote.address);
  const Use use{.now = arrival, .tcp_flags = packet.tcp_flags()};
  const auto pool = connections_->leave(packet.source(), remote, use, counters(Side::left), subscriber);
  if (const auto* cause = std::get_if<Drop>(&pool)) return *cause;
  put(packet, family, std::get<Endpoint>(pool), remote);
  return std::nullopt;
}

std::optional<Drop> Gateway::enter(TransportPacket& packet, std::uint64_t arrival, uint128& subscriber) {
  const Family family = left_family(settings_.mode);
  Endpoint remote = packet.source();
  const Connection* found = connections_->enter(packet.destination(), remote, {arrival, true, packet.tcp_flags()});
  if (found == nullptr) return Drop::no_connection;
  subscriber = found->softwire;
  if (packet.family() != family) {
    const auto across = addresses_.across(packet.family(), remote.address);
    if (!across) return Drop::untranslatable;
    remote.address = *across;
  }
  put(packet, family, remote, found->host);
  return std::nullopt;
}

void Gateway::put(TransportPacket& packet, Family family, const Endpoint& source, const Endpoint& destination) {
  if (packet.family() == family) {
    packet.rewrite(source, destination);
  } else {
    packet.translate(source, destination);
  }
}

Departure Gateway::depart(Side side, TransportPacket& packet, std::uint64_t now) {
  Direction& direction = of(directions_, side);
  FaultSequences& faults = *direction.faults;
  const Faults& settings = of(settings_.truth.faults, side);
  if (faults.wrong_port.next()) {
    Endpoint source = packet.source();
    Endpoint destination = packet.destination();
    (side == Side::left ? source : destination).port ^= 1;
    packet.rewrite(source, destination);
    ++direction.counters.wrong_port;
  }
  if (packet.tcp_flags() != 0 && tcp_->shift_sequence.next()) {
    packet.shift_sequence();
    ++direction.counters.shifted_sequence;
  }
  if (faults.corrupt.next()) {
    packet.spoil_checksum();
    ++direction.counters.corrupted;
  }
  Departure departure;
  if (faults.duplicate.next()) {
    departure.copies = 2;
    ++direction.counters.duplicated;
  }
  if (faults.reorder.next()) {
    departure.behind = settings.reorder_by;
    ++direction.counters.reordered;
  }
  departure.due = now + faults.delays.next();
  if (settings.keep_order) departure.due = std::max(departure.due, faults.last_due);
  faults.last_due = departure.due;
  return departure;
}

/// Puts an IPv4 packet into a softwire, or maps its addresses, if it leaves to such a side.
void Gateway::close(Side side, TransportPacket& packet, uint128 subscriber, Departure& departure) {
  Direction& direction = of(directions_, side);
  const bool unsummed = direction.faults->zero_checksum.next();
  direction.counters.zero_checksum += unsummed ? 1 : 0;
  const bool maps = map_ && side != map_->side() && packet.family() == Family::ipv4;
  if (maps) map_->close(packet, direction.counters);
  // A translation would compute a checksum that is missing.
  if (unsummed) packet.remove_checksum();
  departure.frame = packet.frame();
  if (softwire_ && side != softwire_->side() && packet.family() == Family::ipv4) {
    departure.frame = softwire_->close(packet, subscriber, direction.counters, departure.second);
  }
}

}  // namespace natxy::reference
