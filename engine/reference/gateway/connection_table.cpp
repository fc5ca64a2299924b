// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/connection_table.hpp"

#include <algorithm>
#include <bit>

#include "flow/mix.hpp"
#include "form/segment.hpp"

namespace natxy::reference {

ConnectionTable::ConnectionTable(std::uint32_t capacity)
    : slots_(capacity), left_(std::bit_ceil(capacity), kNone), right_(std::bit_ceil(capacity), kNone) {
  clear();
}

std::size_t ConnectionTable::bucket(const Endpoint& near, const Endpoint& remote, uint128 softwire) const {
  std::uint64_t word = (std::uint64_t{near.port} << 16) | remote.port;
  for (const uint128 address : {near.address, remote.address, softwire}) {
    word = mix(word ^ static_cast<std::uint64_t>(address));
    word += static_cast<std::uint64_t>(address >> 64);
  }
  return mix(word) & (left_.size() - 1);
}

ConnectionTable::Index ConnectionTable::find_left(const Endpoint& host, const Endpoint& remote,
                                                  uint128 softwire) const {
  const auto is_it = [&](const Connection& connection) {
    return connection.host == host && connection.remote == remote && connection.softwire == softwire;
  };
  Index index = left_[bucket(host, remote, softwire)];
  while (index != kNone && !is_it(at(index))) index = slots_[index].next_left;
  return index;
}

ConnectionTable::Index ConnectionTable::find_right(const Endpoint& pool, const Endpoint& remote) const {
  Index index = right_[bucket(pool, remote)];
  while (index != kNone && !(at(index).pool == pool && at(index).remote == remote)) index = slots_[index].next_right;
  return index;
}

void ConnectionTable::insert(const Connection& connection, const Use& use) {
  const Index index = free_;
  Slot& slot = slots_[index];
  free_ = slot.next_left;
  slot = {.connection = connection};
  note(slot, use);
  Index& left = left_[bucket(connection.host, connection.remote, connection.softwire)];
  Index& right = right_[bucket(connection.pool, connection.remote)];
  slot.next_left = left;
  slot.next_right = right;
  left = right = index;
  append(index);
  ++size_;
}

void ConnectionTable::erase(Index index) {
  Slot& slot = slots_[index];
  const Connection& connection = slot.connection;
  Index* left = &left_[bucket(connection.host, connection.remote, connection.softwire)];
  while (*left != index) left = &slots_[*left].next_left;
  *left = slot.next_left;
  Index* right = &right_[bucket(connection.pool, connection.remote)];
  while (*right != index) right = &slots_[*right].next_right;
  *right = slot.next_right;
  unlink(index);
  slot.next_left = free_;
  free_ = index;
  --size_;
}

void ConnectionTable::use(Index index, const Use& use) {
  unlink(index);
  note(slots_[index], use);
  append(index);
}

void ConnectionTable::expire(const Lifetimes& lifetimes, std::uint64_t now) {
  for (const State state : {State::unreplied, State::replied, State::closed}) {
    const auto& lifetime = state == State::closed ? lifetimes.closed : lifetimes.idle;
    const List& list = lists_.at(static_cast<std::size_t>(state));
    while (lifetime && list.oldest != kNone && slots_[list.oldest].used_at + *lifetime < now) erase(list.oldest);
  }
}

void ConnectionTable::clear() {
  std::ranges::fill(left_, kNone);
  std::ranges::fill(right_, kNone);
  lists_ = {};
  const auto capacity = static_cast<Index>(slots_.size());
  for (Index index = 0; index < capacity; ++index) slots_[index].next_left = index + 1 < capacity ? index + 1 : kNone;
  free_ = capacity > 0 ? 0 : kNone;
  size_ = 0;
}

ConnectionTable::Index ConnectionTable::least_recently_used() const {
  Index least = kNone;
  for (const List& list : lists_) {
    if (list.oldest == kNone) continue;
    if (least == kNone || slots_[list.oldest].used < slots_[least].used) least = list.oldest;
  }
  return least;
}

ConnectionTable::List& ConnectionTable::list_of(const Slot& slot) {
  const State state = slot.closed ? State::closed : slot.replied ? State::replied : State::unreplied;
  return lists_.at(static_cast<std::size_t>(state));
}

/// Changes a connection's state as a frame does. Must not be called while the slot is in a list.
void ConnectionTable::note(Slot& slot, const Use& use) {
  slot.used_at = use.now;
  slot.replied |= use.reply;
  if ((use.tcp_flags & kTcpSyn) != 0) slot.finished = {};
  if ((use.tcp_flags & kTcpFin) != 0) slot.finished.at(use.reply ? 1 : 0) = true;
  slot.closed = (use.tcp_flags & kTcpReset) != 0 || (slot.finished[0] && slot.finished[1]) ||
                (slot.closed && (use.tcp_flags & kTcpSyn) == 0);
}

void ConnectionTable::append(Index index) {
  Slot& slot = slots_[index];
  List& list = list_of(slot);
  slot.used = ++uses_;
  slot.older = list.newest;
  slot.newer = kNone;
  (list.newest == kNone ? list.oldest : slots_[list.newest].newer) = index;
  list.newest = index;
}

void ConnectionTable::unlink(Index index) {
  const Slot& slot = slots_[index];
  List& list = list_of(slot);
  (slot.older == kNone ? list.oldest : slots_[slot.older].newer) = slot.newer;
  (slot.newer == kNone ? list.newest : slots_[slot.newer].older) = slot.older;
}

}  // namespace natxy::reference
