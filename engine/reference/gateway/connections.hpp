// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "reference/gateway/connection_table.hpp"
#include "reference/gateway/counters.hpp"
#include "reference/gateway/sequences.hpp"
#include "reference/gateway/settings.hpp"
#include "reference/gateway/token_bucket.hpp"

namespace natxy::reference {

/// Implements connection tracking for NAT: creates connections for frames from the left, finds them for frames from the
/// right, and handles a full table as configured.
class Connections {
 public:
  Connections(const Settings& settings, const Clock& clock);

  /// Translates a frame to the right: returns the pool endpoint that represents `host` towards `remote`, creating a
  /// connection if there is none, or the cause of a drop. Counts frames forwarded without a connection in `counters`.
  /// `softwire`: the subscriber's end of the softwire from which the frame came; 0 if it came from none.
  std::variant<Endpoint, Drop> leave(const Endpoint& host, const Endpoint& remote, const Use& by, Counters& counters,
                                     uint128 softwire = 0);
  /// Translates a frame to the left: returns the connection with the host that a frame from `remote` to `pool` is for;
  /// nullptr if there is none.
  const Connection* enter(const Endpoint& pool, const Endpoint& remote, const Use& by);

  [[nodiscard]] bool is_pool(const AnyAddress& address) const { return translation_.pool.contains(address); }
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }
  /// Returns the price of forwarding a frame with the current number of connections, in units of 1 / kToken.
  [[nodiscard]] std::uint64_t frame_price() const;
  [[nodiscard]] bool collapsed() const { return collapsed_; }
  /// Empties the table and restarts all sequences.
  void clear();
  /// Does the same as `clear`, and ends a collapse.
  void restart();

 private:
  [[nodiscard]] Use as_seen(Use use) const;
  [[nodiscard]] std::optional<Endpoint> choose(const Endpoint& host, const Endpoint& remote, uint128 softwire);
  [[nodiscard]] std::optional<Drop> make_room();

  Translation translation_;
  TableTruth truth_;
  Clock clock_;
  Lifetimes lifetimes_;
  std::uint64_t seed_;
  ConnectionTable table_;
  std::optional<TokenBucket> rate_;
  EveryNth without_state_;
  std::uint64_t random_ports_ = 0;
  std::uint32_t next_in_set_ = 0;
  bool collapsed_ = false;
};

}  // namespace natxy::reference
