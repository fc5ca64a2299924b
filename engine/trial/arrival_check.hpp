// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "flow/cycle.hpp"
#include "flow/selection.hpp"
#include "flow/tuple_space.hpp"
#include "form/classifier.hpp"
#include "form/tuple_reader.hpp"
#include "state/state_table.hpp"

namespace natxy {

/// Views received test frames of one stream, at most kBurst: what their signatures say, and the frames themselves.
struct Arrivals {
  std::span<const std::uint64_t> sequences;
  std::span<const std::uint64_t> times;  // ticks at which the frames were built, modulo 2^48
  std::span<const std::span<const std::uint8_t>> frames;
  std::size_t ip_at = 0;                // offset of the IP header with the addresses in each
  std::size_t transport_at = 0;         // and of the transport header
  const TupleReader* tuples = nullptr;  // null: the IP header has the addresses of the four-tuples

  [[nodiscard]] std::size_t size() const { return sequences.size(); }
  [[nodiscard]] Arrivals part(std::size_t first, std::size_t count) const {
    Arrivals some = *this;
    some.sequences = sequences.subspan(first, count);
    some.times = times.subspan(first, count);
    some.frames = frames.subspan(first, count);
    return some;
  }
  [[nodiscard]] Datagram datagram(std::size_t i) const {
    const std::uint8_t* frame = frames[i].data();
    return {frame + ip_at, frame + transport_at};
  }
  template <Family F>
  [[nodiscard]] Tuple<F> tuple(std::size_t i) const {
    if constexpr (F == Family::ipv4) {
      if (tuples != nullptr) return tuples->tuple(datagram(i));
    }
    return datagram(i).template tuple<F>();
  }
};

/// Checks the four-tuples of one stream's frames, and records them in phase 1. A gateway may rewrite the first frame of
/// a connection in any way, but must rewrite every later frame in the same way.
class ArrivalCheck {
 public:
  virtual ~ArrivalCheck() = default;
  /// Sets `accepted` to whether each of `arrivals` has a four-tuple of the stream. `arrivals` are at most kBurst and of
  /// the family in which the stream arrives.
  virtual void accept(const Arrivals& arrivals, Lanes<bool>& accepted) = 0;
};

/// Stores the tuples of `arrivals` as connections `indexes` of the table, all below its size.
template <Family F>
void record_arrivals(StateTable<F>& table, std::span<const std::uint64_t> indexes, const Arrivals& arrivals) {
  if (arrivals.tuples == nullptr && arrivals.transport_at == arrivals.ip_at + ip_bytes(F)) {
    table.record_plain(indexes, [&](std::size_t i) { return arrivals.datagram(i); });
    return;
  }
  if constexpr (F == Family::ipv4) {
    if (arrivals.tuples != nullptr) {
      const TupleReader tuples = *arrivals.tuples;
      table.record_all(indexes, [&](std::size_t i) { return tuples.tuple(arrivals.datagram(i)); });
      return;
    }
  }
  table.record_all(indexes, [&](std::size_t i) { return arrivals.tuple<F>(i); });
}

/// Phase 1: records the tuple with which connection `sequence` arrives in the state table (RFC 9693 §4.2).
template <Family F>
class RecordConnection final : public ArrivalCheck {
 public:
  explicit RecordConnection(StateTable<F>& table) : table_{table} {}
  void accept(const Arrivals& arrivals, Lanes<bool>& accepted) override {
    const std::uint64_t size = table_.size();
    bool all = true;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      accepted[i] = arrivals.sequences[i] < size;
      all &= accepted[i];
    }
    if (all) {
      record_arrivals(table_, arrivals.sequences, arrivals);
      return;
    }
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      if (accepted[i]) table_.record(arrivals.sequences[i], arrivals.tuple<F>(i));
    }
  }

 private:
  StateTable<F>& table_;
};

/// Sets `connections` to the connections of `arrivals` and returns the part used.
inline std::span<std::uint64_t> connections_of(const Arrivals& arrivals, const Cycle& cycle,
                                               Lanes<std::uint64_t>& connections) {
  std::ranges::copy(arrivals.sequences, connections.begin());
  const auto used = std::span(connections).first(arrivals.size());
  cycle.of(used);
  return used;
}

/// Phase 2 at the responder: accepts the tuple of phase 1. With another tuple, the DUT has set up another connection.
template <Family F>
class SameConnection final : public ArrivalCheck {
 public:
  SameConnection(const StateTable<F>& table, const Cycle& cycle) : table_{table}, cycle_{cycle} {}
  void accept(const Arrivals& arrivals, Lanes<bool>& accepted) override {
    Lanes<std::uint64_t> connections;
    for (const std::uint64_t connection : connections_of(arrivals, cycle_, connections)) table_.prefetch(connection);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      accepted[i] = table_.at(connections[i]) == arrivals.tuple<F>(i);
    }
  }

 private:
  const StateTable<F>& table_;
  Cycle cycle_;
};

/// Accepts the tuple with which the connection arrived, as SameConnection does, while connections are made. A frame
/// that arrives before its connection did has none.
template <Family F>
class PromptConnection final : public ArrivalCheck {
 public:
  PromptConnection(const StateTable<F>& table, const Cycle& cycle) : table_{table}, cycle_{cycle} {}
  void accept(const Arrivals& arrivals, Lanes<bool>& accepted) override {
    Lanes<std::uint64_t> connections;
    connections_of(arrivals, cycle_, connections);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      accepted[i] = table_.is_established(connections[i]) && table_.at(connections[i]) == arrivals.tuple<F>(i);
    }
  }

 private:
  const StateTable<F>& table_;
  Cycle cycle_;
};

/// Phase 2 at the initiator: accepts a reply with the tuple that the initiator sent, swapped. Phase 1 selected it by S.
template <Family F, Selection S>
class ReplyOfConnection final : public ArrivalCheck {
 public:
  ReplyOfConnection(const TupleSpace<F>& offered, const Cycle& cycle) : offered_{offered}, cycle_{cycle} {}
  void accept(const Arrivals& arrivals, Lanes<bool>& accepted) override {
    Lanes<std::uint64_t> connections;
    TupleLanes<F> tuples;
    select_tuples<S>(offered_, connections_of(arrivals, cycle_, connections), tuples);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      accepted[i] = tuples.get(i).swapped() == arrivals.tuple<F>(i);
    }
  }

 private:
  const TupleSpace<F>& offered_;
  Cycle cycle_;
};

}  // namespace natxy
