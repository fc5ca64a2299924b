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

/// `remote` is what it is on the right.
struct Connection {
  Endpoint host;    // on the left
  Endpoint pool;    // what stands for the host on the right
  Endpoint remote;  // whom it talks to
};

/// At most `capacity` connections, found from either side, in the order of their last use. Takes all its memory at
/// once.
class ConnectionTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  explicit ConnectionTable(std::uint32_t capacity);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool full() const { return size_ == slots_.size(); }
  [[nodiscard]] const Connection& at(Index index) const { return slots_[index].connection; }

  /// By host and remote, or by pool and remote; kNone if there is none.
  [[nodiscard]] Index find_left(const Endpoint& host, const Endpoint& remote) const;
  [[nodiscard]] Index find_right(const Endpoint& pool, const Endpoint& remote) const;

  /// The table must not be full, nor know either of the connection's two pairs.
  void insert(const Connection& connection);
  void erase(Index index);
  /// A frame of it has passed; `reply`: one from the right.
  void use(Index index, bool reply);
  void clear();

  /// The connection that was not used for longest: of all, of those that never had a reply. kNone if there is none.
  [[nodiscard]] Index least_recently_used() const;
  [[nodiscard]] Index oldest_without_reply() const { return lists_[0].oldest; }

 private:
  struct Slot {
    Connection connection;
    std::uint64_t used = 0;   // a number of the last use
    Index next_left = kNone;  // in its chain; of a free slot the next free one
    Index next_right = kNone;
    Index older = kNone;
    Index newer = kNone;
    bool replied = false;
  };
  struct List {
    Index oldest = kNone;
    Index newest = kNone;
  };

  [[nodiscard]] std::size_t bucket(const Endpoint& near, const Endpoint& remote) const;
  void append(Index index);
  void unlink(Index index);

  std::vector<Slot> slots_;
  std::vector<Index> left_;
  std::vector<Index> right_;
  List lists_[2];  // without a reply, with one
  Index free_ = kNone;
  std::uint32_t size_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace natxy::reference
