// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "flow/cycle.hpp"
#include "flow/selection.hpp"
#include "flow/tuple_space.hpp"
#include "measure/own_lines.hpp"
#include "state/state_table.hpp"

namespace natxy {

/// Generates the four-tuples of a stream, a burst per call, so that the virtual call costs next to nothing per frame.
template <Family F>
class alignas(kCacheLine) FlowSource {
 public:
  virtual ~FlowSource() = default;
  /// Sets `tuples` to the tuples of the first `count` frames of `sequences`, at most kBurst. Returns which of the
  /// frames have none, the first in the lowest bit.
  virtual std::uint64_t fill(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) = 0;
};

/// Draws the fields of every frame at random (RFC 4814 §4).
template <Family F>
class RandomFlows final : public FlowSource<F> {
 public:
  explicit RandomFlows(const TupleSpace<F>& space) : space_{space} {}
  std::uint64_t fill(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) override {
    space_.random(sequences, count, tuples);
    return 0;
  }

 private:
  TupleSpace<F> space_;
};

/// Enumerates the flows of a space in their order, again and again.
template <Family F>
class EnumeratedFlows final : public FlowSource<F> {
 public:
  explicit EnumeratedFlows(const TupleSpace<F>& space) : space_{space} {}
  std::uint64_t fill(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) override {
    Lanes<std::uint64_t> numbers;
    const auto used = std::span(numbers).first(count);
    wrap(sequences, space_.size(), used);
    space_.at(used, tuples);
    return 0;
  }

 private:
  TupleSpace<F> space_;
};

/// Phase 2 at the initiator: repeats the tuples of phase 1, which selected them by S, in the order of a cycle.
template <Family F, Selection S>
class ConnectionFlows final : public FlowSource<F> {
 public:
  ConnectionFlows(const TupleSpace<F>& offered, const Cycle& cycle) : offered_{offered}, cycle_{cycle} {}
  std::uint64_t fill(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) override {
    Lanes<std::uint64_t> connections;
    const auto used = std::span(connections).first(count);
    cycle_.at(sequences, used);
    select_tuples<S>(offered_, used, tuples);
    return 0;
  }

 private:
  const TupleSpace<F>& offered_;
  Cycle cycle_;
};

/// Phase 2 at the responder: swaps the tuples in the state table.
template <Family F>
class ReplyFlows final : public FlowSource<F> {
 public:
  ReplyFlows(const StateTable<F>& table, const Cycle& cycle) : table_{table}, cycle_{cycle} {}
  std::uint64_t fill(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) override {
    if (sequences != ahead_ || count > found_) {
      find(sequences, count);
      for (std::size_t i = 0; i < count; ++i) table_.prefetch(next_[i]);
    }
    const Lanes<std::uint64_t> connections = next_;
    find({sequences.at(count), sequences.stride}, count);
    table_.read_swapped(std::span(connections).first(count), std::span(next_).first(count), tuples);
    return 0;
  }

 private:
  /// Sets `next_` to the connections of the first `count` frames of `sequences`.
  void find(const Series& sequences, std::size_t count) {
    cycle_.at(sequences, std::span(next_).first(count));
    ahead_ = sequences;
    found_ = count;
  }

  const StateTable<F>& table_;
  Cycle cycle_;
  Lanes<std::uint64_t> next_{};  // those of the first `found_` frames of `ahead_`
  Series ahead_;
  std::size_t found_ = 0;
};

/// Replies to connections while they are made: swaps the tuples in the state table. The frames of connections that have
/// not arrived have no tuple.
template <Family F>
class PromptReplyFlows final : public FlowSource<F> {
 public:
  PromptReplyFlows(const StateTable<F>& table, const Cycle& cycle) : table_{table}, cycle_{cycle} {}
  std::uint64_t fill(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) override {
    Lanes<std::uint64_t> connections;
    const auto used = std::span(connections).first(count);
    cycle_.at(sequences, used);
    std::uint64_t absent = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const bool arrived = table_.is_established(used[i]);
      absent |= std::uint64_t{!arrived} << i;
      tuples.set(i, arrived ? table_.at(used[i]).swapped() : Tuple<F>{});
    }
    return absent;
  }

 private:
  const StateTable<F>& table_;
  Cycle cycle_;
};

}  // namespace natxy
