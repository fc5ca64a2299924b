// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <variant>

#include "flow/stand_ins.hpp"
#include "flow/tuple_space.hpp"
#include "state/state_table.hpp"
#include "trial/spec.hpp"

namespace natxy {

/// Holds a T of either family, or nothing.
template <template <Family> class T>
class OfEitherFamily {
 public:
  /// Returns the object if it is of family F, or null.
  template <Family F>
  [[nodiscard]] T<F>* of() const {
    const auto* held = std::get_if<std::unique_ptr<T<F>>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }
  /// Returns the object if it is of family F; otherwise makes a new one.
  template <Family F>
  T<F>& keep_or_make() {
    T<F>* kept = of<F>();
    return kept != nullptr ? *kept : make<F>();
  }
  /// Replaces the object by a new one of family F.
  template <Family F, class... Arguments>
  T<F>& make(Arguments&&... arguments) {
    return *held_.template emplace<std::unique_ptr<T<F>>>(
        std::make_unique<T<F>>(std::forward<Arguments>(arguments)...));
  }
  /// Returns the object's family. There must be an object.
  [[nodiscard]] Family family() const { return of<Family::ipv4>() != nullptr ? Family::ipv4 : Family::ipv6; }

 private:
  std::variant<std::monostate, std::unique_ptr<T<Family::ipv4>>, std::unique_ptr<T<Family::ipv6>>> held_;
};

/// Holds the connections of the last phase 1, none before the first. Connection i is the initiator's tuple i and the
/// responder's entry i. Tuples that phase 1 drew at random may be alike; then the same connection has several numbers.
/// The families of the two sides differ behind a gateway that translates between families.
struct Connections {
  OfEitherFamily<TupleSpace> offered;
  OfEitherFamily<StateTable> seen;
  StreamSpec initiator;  // the stream that made them
  std::uint64_t count = 0;
  std::uint64_t established = 0;
  StandIns stand_ins;  // of those that are not established

  [[nodiscard]] bool complete() const { return count > 0 && established == count; }
  /// Returns whether no more are missing than phase 1 was allowed to lose.
  [[nodiscard]] bool usable() const {
    return established > 0 && count - std::min(count, established) <= initiator.tolerated_loss();
  }

  /// Returns the family in which a stream is sent.
  [[nodiscard]] Family family_of(const StreamSpec& stream) const {
    switch (stream.kind) {
      case StreamKind::connections:
        return offered.family();
      case StreamKind::replies:
        return seen.family();
      case StreamKind::flows:
        break;
    }
    return stream.flows->source_address.address.family;
  }

  /// Returns the family in which a stream arrives.
  [[nodiscard]] Family arrival_family_of(const StreamSpec& stream) const {
    switch (stream.kind) {
      case StreamKind::connections:
        return seen.family();
      case StreamKind::replies:
        return offered.family();
      case StreamKind::flows:
        break;
    }
    return stream.arrives_as.value_or(family_of(stream));
  }

  /// Returns the form in which a stream arrives. Unless the request says it, a translation between families leaves
  /// extension headers out (RFC 7915 §5.1).
  [[nodiscard]] Form arrival_form_of(const StreamSpec& stream) const {
    if (stream.arrival_form) return *stream.arrival_form;
    const bool same = arrival_family_of(stream) == family_of(stream) || transport_of(stream.form) == Transport::tcp;
    return same ? stream.form : Form::udp;
  }
};

}  // namespace natxy
