// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "packet/address.hpp"

namespace natxy::reference {

struct Endpoint {
  uint128 address = 0;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
};

/// Holds the endpoints of a connection.
struct Connection {
  Endpoint host;    // on the left
  Endpoint pool;    // represents the host on the right
  Endpoint remote;  // the host's peer, as addressed on the right
  // The subscriber's end of the softwire that the host is behind; 0: it is behind none. Hosts with the same address
  // are behind different ones.
  uint128 softwire = 0;
};

/// Says when a frame uses a connection, from which side it comes, and the flags of a TCP segment; 0 for UDP.
struct Use {
  std::uint64_t now = 0;
  bool reply = false;  // from the right
  std::uint8_t tcp_flags = 0;
};

/// Says after how many ticks without a frame a connection ends, in general and once both sides have sent a FIN, or one
/// an RST; never, if nothing is said.
struct Lifetimes {
  std::optional<std::uint64_t> idle;
  std::optional<std::uint64_t> closed;
};

/// Stores at most `capacity` connections, in the order of their last use and with lookup from either side. It allocates
/// all memory at construction.
class ConnectionTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  explicit ConnectionTable(std::uint32_t capacity);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool full() const { return size_ == slots_.size(); }
  [[nodiscard]] const Connection& at(Index index) const { return slots_[index].connection; }

  /// Finds a connection by host, remote and softwire, or by pool and remote. Returns kNone if there is none.
  [[nodiscard]] Index find_left(const Endpoint& host, const Endpoint& remote, uint128 softwire = 0) const;
  [[nodiscard]] Index find_right(const Endpoint& pool, const Endpoint& remote) const;

  /// Inserts a connection that a frame opens. The table must not be full, nor contain what the connection is found by.
  void insert(const Connection& connection, const Use& use);
  void erase(Index index);
  /// Marks a connection as used by a frame.
  void use(Index index, const Use& use);
  /// Removes the connections whose lifetime is over.
  void expire(const Lifetimes& lifetimes, std::uint64_t now);
  void clear();

  /// Returns the least recently used connection, or kNone if there is none.
  [[nodiscard]] Index least_recently_used() const;
  /// Returns the least recently used connection without a reply, or kNone if there is none.
  [[nodiscard]] Index oldest_without_reply() const { return lists_[0].oldest; }

 private:
  struct Slot {
    Connection connection;
    std::uint64_t used = 0;     // sequence number of the last use
    std::uint64_t used_at = 0;  // ticks
    Index next_left = kNone;    // next in the chain; in a free slot, the next free one
    Index next_right = kNone;
    Index older = kNone;
    Index newer = kNone;
    bool replied = false;
    bool closed = false;
    std::array<bool, 2> finished{};  // a FIN has come from the left, from the right
  };
  struct List {
    Index oldest = kNone;
    Index newest = kNone;
  };
  enum class State : std::uint8_t { unreplied, replied, closed, count_ };

  [[nodiscard]] std::size_t bucket(const Endpoint& near, const Endpoint& remote, uint128 softwire = 0) const;
  [[nodiscard]] List& list_of(const Slot& slot);
  static void note(Slot& slot, const Use& use);
  void append(Index index);
  void unlink(Index index);

  std::vector<Slot> slots_;
  std::vector<Index> left_;
  std::vector<Index> right_;
  std::array<List, static_cast<std::size_t>(State::count_)> lists_;
  Index free_ = kNone;
  std::uint32_t size_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace natxy::reference
