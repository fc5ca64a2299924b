// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "flow/cycle.hpp"
#include "flow/tuple_space.hpp"
#include "state/state_table.hpp"

namespace natxy {

inline constexpr std::size_t kBurst = 32;

/// Where a stream's four-tuples come from. One call makes a burst's, so that the choice of source costs next to nothing
/// per frame.
template <Family F>
class FlowSource {
 public:
  virtual ~FlowSource() = default;
  /// The tuples of the frames numbered first, first + stride, …; at most kBurst.
  virtual void fill(std::span<Tuple<F>> tuples, std::uint64_t first, std::uint64_t stride) const = 0;
};

/// RFC 4814 §4: every frame draws its fields anew.
template <Family F>
class RandomFlows final : public FlowSource<F> {
 public:
  explicit RandomFlows(const TupleSpace<F>& space) : space_{space} {}
  void fill(std::span<Tuple<F>> tuples, std::uint64_t first, std::uint64_t stride) const override {
    for (std::size_t i = 0; i < tuples.size(); ++i) tuples[i] = space_.random(first + i * stride);
  }

 private:
  TupleSpace<F> space_;
};

/// Flow after flow in the space's orders, and round again.
template <Family F>
class EnumeratedFlows final : public FlowSource<F> {
 public:
  explicit EnumeratedFlows(const TupleSpace<F>& space) : space_{space} {}
  void fill(std::span<Tuple<F>> tuples, std::uint64_t first, std::uint64_t stride) const override {
    for (std::size_t i = 0; i < tuples.size(); ++i) tuples[i] = space_.at((first + i * stride) % space_.size());
  }

 private:
  TupleSpace<F> space_;
};

/// Phase 2 of the initiator: the connections again, in another order.
template <Family F>
class ConnectionFlows final : public FlowSource<F> {
 public:
  ConnectionFlows(const TupleSpace<F>& offered, const Cycle& cycle) : offered_{offered}, cycle_{cycle} {}
  void fill(std::span<Tuple<F>> tuples, std::uint64_t first, std::uint64_t stride) const override {
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      tuples[i] = offered_.at(cycle_.at(first + i * stride));
    }
  }

 private:
  const TupleSpace<F>& offered_;
  Cycle cycle_;
};

/// Phase 2 of the responder: swapped four-tuples from the state table.
template <Family F>
class ReplyFlows final : public FlowSource<F> {
 public:
  ReplyFlows(const StateTable<F>& table, const Cycle& cycle) : table_{table}, cycle_{cycle} {}
  void fill(std::span<Tuple<F>> tuples, std::uint64_t first, std::uint64_t stride) const override {
    std::array<std::uint64_t, kBurst> indexes;
    // The table is far larger than any cache: fetch a burst's entries together, not one after the other.
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      indexes[i] = cycle_.at(first + i * stride);
      table_.prefetch(indexes[i]);
    }
    for (std::size_t i = 0; i < tuples.size(); ++i) tuples[i] = table_.at(indexes[i]).swapped();
  }

 private:
  const StateTable<F>& table_;
  Cycle cycle_;
};

}  // namespace natxy
