// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/connections.hpp"

#include "flow/mix.hpp"
#include "form/segment.hpp"

namespace natxy::reference {

namespace {

// Searching all ports for one frame would delay the next frames. A port set has fewer.
constexpr std::uint64_t kAttempts = 1024;

std::optional<TokenBucket> bucket_of(const TableTruth& truth, const Clock& clock) {
  if (!truth.max_connection_rate_cps) return std::nullopt;
  return TokenBucket(*truth.max_connection_rate_cps, truth.connection_burst, clock.hz());
}

Lifetimes lifetimes_of(const TableTruth& truth, const Clock& clock) {
  Lifetimes lifetimes;
  if (truth.lifetime_s) lifetimes.idle = clock.ticks(*truth.lifetime_s);
  if (truth.forgets_on_fin) {
    lifetimes.closed = 0;
    return lifetimes;
  }
  lifetimes.closed = truth.closed_lifetime_s ? std::optional{clock.ticks(*truth.closed_lifetime_s)} : lifetimes.idle;
  return lifetimes;
}

}  // namespace

Connections::Connections(const Settings& settings, const Clock& clock)
    : translation_{settings.translation},
      truth_{settings.table},
      clock_{clock},
      lifetimes_{lifetimes_of(settings.table, clock)},
      seed_{settings.truth.seed},
      table_{settings.table.capacity},
      rate_{bucket_of(settings.table, clock)},
      without_state_{settings.table.without_state_every} {}

std::variant<Endpoint, Drop> Connections::leave(const Endpoint& host, const Endpoint& remote, const Use& by,
                                                Counters& counters, uint128 softwire) {
  const Use use = as_seen(by);
  table_.expire(lifetimes_, use.now);
  if (const auto index = table_.find_left(host, remote, softwire); index != ConnectionTable::kNone) {
    table_.use(index, use);
    return table_.at(index).pool;
  }
  if (rate_ && !rate_->take(use.now)) return Drop::connection_rate;
  const bool without_state = without_state_.next();
  if (!without_state && table_.full()) {
    if (const auto cause = make_room()) return *cause;
  }
  const auto pool = choose(host, remote, softwire);
  if (!pool) return Drop::no_port;
  if (without_state) {
    ++counters.without_state;
  } else {
    table_.insert({host, *pool, remote, softwire}, use);
  }
  return *pool;
}

const Connection* Connections::enter(const Endpoint& pool, const Endpoint& remote, const Use& by) {
  const Use use = as_seen(by);
  table_.expire(lifetimes_, use.now);
  const auto index = table_.find_right(pool, remote);
  if (index == ConnectionTable::kNone) return nullptr;
  table_.use(index, use);
  return &table_.at(index);
}

/// Returns how the table sees a use: if it forgets connections at a FIN, as a reset.
Use Connections::as_seen(Use use) const {
  if (truth_.forgets_on_fin && (use.tcp_flags & kTcpFin) != 0) use.tcp_flags |= kTcpReset;
  return use;
}

std::uint64_t Connections::frame_price() const {
  if (truth_.flow_cost == 0 || size() < 2) return kToken;
  return static_cast<std::uint64_t>(static_cast<double>(kToken) * (1 + truth_.flow_cost * (size() - 1)));
}

void Connections::clear() {
  table_.clear();
  rate_ = bucket_of(truth_, clock_);
  without_state_ = EveryNth(truth_.without_state_every);
  next_in_set_ = 0;
}

void Connections::restart() {
  clear();
  collapsed_ = false;
}

/// Chooses the pool endpoint of a new connection: the address that a host always gets, and the host's own port if it
/// may be kept and is free, or else another free port.
std::optional<Endpoint> Connections::choose(const Endpoint& host, const Endpoint& remote, uint128 softwire) {
  const std::uint64_t word = mix(seed_ ^ static_cast<std::uint64_t>(host.address) ^
                                 static_cast<std::uint64_t>(softwire >> 64) ^ static_cast<std::uint64_t>(softwire));
  const unsigned host_bits = address_bits(translation_.pool.network.family) - translation_.pool.length;
  const uint128 address = translation_.pool.network.value + scale(word, std::uint64_t{1} << host_bits);
  const PortRanges& ports = translation_.ports;
  const auto free = [&](std::uint16_t port) {
    return table_.find_right({address, port}, remote) == ConnectionTable::kNone;
  };
  const bool random = translation_.port_choice == PortChoice::random;
  if (!random && ports.contains(host.port) && free(host.port)) return Endpoint{address, host.port};
  const std::uint64_t attempts = translation_.gives_port_set ? ports.count() : kAttempts;
  for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
    std::uint32_t number = 0;
    if (translation_.gives_port_set && (attempt > 0 || !random)) {
      next_in_set_ = (next_in_set_ + 1) % ports.count();
      number = next_in_set_;
    } else {
      const std::uint64_t drawn =
          random ? random_word(seed_, random_ports_++) : random_word(word ^ host.port, attempt + 1);
      number = static_cast<std::uint32_t>(scale(drawn, ports.count()));
    }
    if (const std::uint16_t port = ports.at(number); free(port)) return Endpoint{address, port};
  }
  return std::nullopt;
}

/// Removes a connection from a full table, according to its policy. Returns the cause if it may not.
std::optional<Drop> Connections::make_room() {
  ConnectionTable::Index victim = ConnectionTable::kNone;
  switch (truth_.when_full) {
    case WhenFull::keep:
      break;
    case WhenFull::lru:
      victim = table_.least_recently_used();
      break;
    case WhenFull::early_drop:
      victim = table_.oldest_without_reply();
      break;
    case WhenFull::collapse:
      collapsed_ = true;
      return Drop::collapsed;
  }
  if (victim == ConnectionTable::kNone) return Drop::table_full;
  table_.erase(victim);
  return std::nullopt;
}

}  // namespace natxy::reference
