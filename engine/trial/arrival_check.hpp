// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flow/cycle.hpp"
#include "packet/classifier.hpp"
#include "trial/connections.hpp"

namespace natxy {

/// Judges (and in phase 1 remembers) the four-tuple of a distinct frame of one stream. A gateway may rewrite a
/// connection's first frame as it likes, but every later one has to be rewritten in the same way.
class ArrivalCheck {
 public:
  virtual ~ArrivalCheck() = default;
  /// False if the frame's four-tuple is not one that its stream can arrive with.
  virtual bool accept(std::uint64_t sequence, const Classified& frame) = 0;
};

/// Phase 1: the state table learns whatever tuple connection `sequence` arrives with (RFC 9693 §4.1).
template <Family F>
class RecordConnection final : public ArrivalCheck {
 public:
  explicit RecordConnection(FamilyConnections<F>& connections) : connections_{connections} {}
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    if (frame.family != F || sequence >= connections_.table.size()) return false;
    connections_.table.record(sequence, frame.tuple<F>());
    return true;
  }

 private:
  FamilyConnections<F>& connections_;
};

/// Phase 2 at the responder: the tuple of phase 1 again, else the DUT has made another connection.
template <Family F>
class SameConnection final : public ArrivalCheck {
 public:
  SameConnection(const FamilyConnections<F>& connections, const Cycle& cycle)
      : connections_{connections}, cycle_{cycle} {}
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    return frame.family == F && connections_.table.at(cycle_.at(sequence)) == frame.tuple<F>();
  }

 private:
  const FamilyConnections<F>& connections_;
  Cycle cycle_;
};

/// Phase 2 at the initiator: a reply has to come back with the tuple that the initiator had sent, swapped.
template <Family F>
class ReplyOfConnection final : public ArrivalCheck {
 public:
  ReplyOfConnection(const FamilyConnections<F>& connections, const Cycle& cycle)
      : connections_{connections}, cycle_{cycle} {}
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    return frame.family == F && connections_.space.at(cycle_.at(sequence)).swapped() == frame.tuple<F>();
  }

 private:
  const FamilyConnections<F>& connections_;
  Cycle cycle_;
};

}  // namespace natxy
