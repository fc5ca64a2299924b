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

/// The connections of a NAT: makes them for frames from the left, finds them for frames from the right, and does with a
/// full table what it was told to.
class Connections {
 public:
  Connections(const Settings& settings, const Clock& clock);

  /// What stands for `host` towards `remote` on the right, making a connection if there is none; or why there is
  /// nothing. Counts in `counters` what went on without a state.
  std::variant<Endpoint, Drop> leave(const Endpoint& host, const Endpoint& remote, std::uint64_t now,
                                     Counters& counters);
  /// The host that a frame from `remote` to `pool` is for.
  std::optional<Endpoint> enter(const Endpoint& pool, const Endpoint& remote);

  [[nodiscard]] bool is_pool(const AnyAddress& address) const { return translation_.pool.contains(address); }
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }
  /// In the units of a token bucket: what forwarding a frame takes with as many connections.
  [[nodiscard]] std::uint64_t frame_price() const;
  [[nodiscard]] bool collapsed() const { return collapsed_; }
  /// Empties the table and begins all sequences anew.
  void clear();
  /// As `clear`, and ends a collapse.
  void restart();

 private:
  [[nodiscard]] std::optional<Endpoint> choose(const Endpoint& host, const Endpoint& remote);
  [[nodiscard]] std::optional<Drop> make_room();

  Translation translation_;
  TableTruth truth_;
  Clock clock_;
  std::uint64_t seed_;
  ConnectionTable table_;
  std::optional<TokenBucket> rate_;
  EveryNth without_state_;
  std::uint64_t random_ports_ = 0;
  bool collapsed_ = false;
};

}  // namespace natxy::reference
