// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pace/clock.hpp"
#include "reference/gateway/address_translation.hpp"
#include "reference/gateway/bindings.hpp"
#include "reference/gateway/connections.hpp"
#include "reference/gateway/counters.hpp"
#include "reference/gateway/map_end.hpp"
#include "reference/gateway/rate_limit.hpp"
#include "reference/gateway/sequences.hpp"
#include "reference/gateway/settings.hpp"
#include "reference/gateway/softwire_end.hpp"
#include "reference/gateway/transport_packet.hpp"

namespace natxy::reference {

/// Describes how a forwarded frame leaves.
struct Departure {
  Frame frame;
  std::vector<std::uint8_t> second;  // the frame that follows it if it is a fragment; empty: none
  unsigned copies = 1;
  std::uint64_t behind = 0;  // how many later frames of its direction leave before it
  std::uint64_t due = 0;     // tick at which it leaves
  bool back = false;         // to where it came from
};

/// Implements the gateway without its ports: rewrites frames and determines when they leave. All times are in ticks.
class Gateway {
 public:
  Gateway(const Settings& settings, const Clock& clock);

  /// Forwards a frame from `side`, except for its Ethernet addresses, which the caller sets. Limits take `arrival` as
  /// its time of arrival; delays begin at `now`. Returns nothing if the frame is dropped, which is counted.
  std::optional<Departure> forward(Side side, const Frame& frame, std::uint64_t arrival, std::uint64_t now);

  /// Makes the gateway drop all frames before the tick `until`.
  void deafen(std::uint64_t until) { deaf_until_ = until; }
  [[nodiscard]] bool deaf(std::uint64_t now) const { return now < deaf_until_; }
  /// Empties the table, restarts all sequences and ends a collapse.
  void restart();
  /// Empties the table and restarts all sequences. Returns the previous number of connections. Not for use after a
  /// collapse.
  std::uint32_t clear();
  /// Makes `without` the subscribers' addresses that have no binding, from soon after the tick `now` on.
  void change_bindings(std::vector<AddressSpan> without, std::uint64_t now) {
    bindings_.change(std::move(without), now);
  }
  [[nodiscard]] bool collapsed() const { return connections_ && connections_->collapsed(); }
  [[nodiscard]] std::uint32_t connections() const { return connections_ ? connections_->size() : 0; }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Counters& counters(Side side) { return of(directions_, side).counters; }

 private:
  struct FaultSequences {
    FaultSequences(const Faults& faults, std::uint64_t seed, const Clock& clock);
    LastOfEvery loss;
    WithRatio random_loss;
    EveryNth wrong_port;
    EveryNth corrupt;
    EveryNth zero_checksum;
    EveryNth duplicate;
    EveryNth reorder;
    Delays delays;
    std::uint64_t last_due = 0;
  };
  struct Direction {
    Counters counters;
    std::optional<RateLimit> rate;
    std::optional<FaultSequences> faults;
  };

  /// Selects segments of TCP of both directions together.
  struct TcpSequences {
    EveryNth drop_syn_ack;
    EveryNth reset;
    EveryNth shift_sequence;
  };

  void begin_sequences();
  [[nodiscard]] bool refuses(Side side, const TransportPacket& packet);
  [[nodiscard]] std::optional<Drop> closed(std::uint64_t arrival);
  [[nodiscard]] std::optional<Drop> unbound(Side side, const TransportPacket& packet, std::uint64_t arrival) const;
  std::optional<Drop> pass(Side side, TransportPacket& packet, std::uint64_t arrival, uint128& subscriber);
  std::optional<Drop> limit(Side side, std::uint64_t arrival);
  std::optional<Drop> translate(Side side, TransportPacket& packet, std::uint64_t arrival, uint128& subscriber);
  std::optional<Drop> translate_statelessly(TransportPacket& packet) const;
  std::optional<Drop> leave(TransportPacket& packet, std::uint64_t arrival, uint128 subscriber);
  std::optional<Drop> enter(TransportPacket& packet, std::uint64_t arrival, uint128& subscriber);
  static void put(TransportPacket& packet, Family family, const Endpoint& source, const Endpoint& destination);
  Departure depart(Side side, TransportPacket& packet, std::uint64_t now);
  void close(Side side, TransportPacket& packet, uint128 subscriber, Departure& departure);

  Settings settings_;
  Clock clock_;
  AddressTranslation addresses_;
  std::optional<Connections> connections_;
  BySide<Direction> directions_;
  Outages outages_;
  Bindings bindings_;
  std::optional<SoftwireEnd> softwire_;
  std::optional<MapEnd> map_;
  std::optional<TcpSequences> tcp_;
  std::uint64_t deaf_until_ = 0;
};

}  // namespace natxy::reference
