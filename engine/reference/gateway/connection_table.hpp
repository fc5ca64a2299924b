// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

  /// Inserts a connection. The table must not be full, nor contain what the connection is found by.
  void insert(const Connection& connection);
  void erase(Index index);
  /// Marks a connection as used by a frame. `reply` is true for a frame from the right.
  void use(Index index, bool reply);
  void clear();

  /// Returns the least recently used connection, or kNone if there is none.
  [[nodiscard]] Index least_recently_used() const;
  /// Returns the least recently used connection without a reply, or kNone if there is none.
  [[nodiscard]] Index oldest_without_reply() const { return lists_[0].oldest; }

 private:
  struct Slot {
    Connection connection;
    std::uint64_t used = 0;   // sequence number of the last use
    Index next_left = kNone;  // next in the chain; in a free slot, the next free one
    Index next_right = kNone;
    Index older = kNone;
    Index newer = kNone;
    bool replied = false;
  };
  struct List {
    Index oldest = kNone;
    Index newest = kNone;
  };

  [[nodiscard]] std::size_t bucket(const Endpoint& near, const Endpoint& remote, uint128 softwire = 0) const;
  void append(Index index);
  void unlink(Index index);

  std::vector<Slot> slots_;
  std::vector<Index> left_;
  std::vector<Index> right_;
  List lists_[2];  // connections without a reply, connections with one
  Index free_ = kNone;
  std::uint32_t size_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace natxy::reference
