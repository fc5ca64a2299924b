// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flow/cycle.hpp"
#include "flow/tuple_space.hpp"
#include "packet/classifier.hpp"
#include "state/state_table.hpp"

namespace natxy {

/// Judges (and in phase 1 remembers) the four-tuple of a distinct frame of one stream. A gateway may rewrite a
/// connection's first frame as it likes, but every later one has to be rewritten in the same way.
class ArrivalCheck {
 public:
  virtual ~ArrivalCheck() = default;
  /// False if the four-tuple of `frame`, which is of the family that its stream arrives with, is not one of its stream.
  virtual bool accept(std::uint64_t sequence, const Classified& frame) = 0;
};

/// Phase 1: the state table learns whatever tuple connection `sequence` arrives with (RFC 9693 §4.1).
template <Family F>
class RecordConnection final : public ArrivalCheck {
 public:
  explicit RecordConnection(StateTable<F>& table) : table_{table} {}
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    if (sequence >= table_.size()) return false;
    table_.record(sequence, frame.tuple<F>());
    return true;
  }

 private:
  StateTable<F>& table_;
};

/// Phase 2 at the responder: the tuple of phase 1 again, else the DUT has made another connection.
template <Family F>
class SameConnection final : public ArrivalCheck {
 public:
  SameConnection(const StateTable<F>& table, const Cycle& cycle) : table_{table}, cycle_{cycle} {}
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    return table_.at(cycle_.at(sequence)) == frame.tuple<F>();
  }

 private:
  const StateTable<F>& table_;
  Cycle cycle_;
};

/// Phase 2 at the initiator: a reply has to come back with the tuple that the initiator had sent, swapped.
template <Family F>
class ReplyOfConnection final : public ArrivalCheck {
 public:
  ReplyOfConnection(const TupleSpace<F>& offered, const Cycle& cycle) : offered_{offered}, cycle_{cycle} {}
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    return offered_.at(cycle_.at(sequence)).swapped() == frame.tuple<F>();
  }

 private:
  const TupleSpace<F>& offered_;
  Cycle cycle_;
};

}  // namespace natxy
