// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "flow/permutation.hpp"
#include "flow/stand_ins.hpp"
#include "flow/tuple_space.hpp"

namespace natxy {

/// Sets `indexes` to the first numbers of `series`, modulo `size`.
inline void wrap(const Series& series, std::uint64_t size, std::span<std::uint64_t> indexes) {
  const Series within{series.first % size, series.stride % size};
  if (within.first + uint128{within.stride} * indexes.size() <= size) {
    std::uint64_t next = within.first;
    for (std::uint64_t& index : indexes) {
      index = next;
      next += within.stride;
    }
  } else {
    for (std::size_t i = 0; i < indexes.size(); ++i) indexes[i] = series.at(i) % size;
  }
}

/// Maps the sequence numbers of a stream to `size` connections, which the stream visits again and again in `order`.
class Cycle {
 public:
  /// `stand_ins`: of the connections that do not exist; null: all do. They must outlive the cycle.
  Cycle(std::uint64_t size, Order order, std::uint64_t seed, const StandIns* stand_ins = nullptr)
      : size_{size}, order_{order}, stand_ins_{stand_ins} {
    if (order == Order::pseudorandom) permutation_.emplace(size, seed);
  }

  /// Sets `connections` to the connections of the first frames of `sequences`, as many as it has room for.
  void at(const Series& sequences, std::span<std::uint64_t> connections) const {
    wrap(sequences, size_, connections);
    place(connections);
  }
  /// Replaces sequence numbers, in any order, by their connections.
  void of(std::span<std::uint64_t> sequences) const {
    for (std::uint64_t& sequence : sequences) sequence %= size_;
    place(sequences);
  }

 private:
  void place(std::span<std::uint64_t> connections) const {
    if (permutation_) (*permutation_)(connections);
    if (order_ == Order::decreasing) {
      for (std::uint64_t& connection : connections) connection = size_ - 1 - connection;
    }
    if (stand_ins_ != nullptr) stand_ins_->replace(connections);
  }

  std::uint64_t size_;
  Order order_;
  std::optional<Permutation> permutation_;
  const StandIns* stand_ins_;
};

}  // namespace natxy
