// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>

#include "flow/tuple_space.hpp"
#include "state/state_table.hpp"
#include "trial/types.hpp"

namespace natxy {

/// Something of one family or the other, or nothing yet.
template <template <Family> class T>
class OfEitherFamily {
 public:
  /// Null where it is not of family F.
  template <Family F>
  [[nodiscard]] T<F>* of() const {
    const auto* held = std::get_if<std::unique_ptr<T<F>>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }
  /// What was of family F before, or a new one.
  template <Family F>
  T<F>& keep_or_make() {
    T<F>* kept = of<F>();
    return kept != nullptr ? *kept : make<F>();
  }
  template <Family F, class... Arguments>
  T<F>& make(Arguments&&... arguments) {
    return *held_.template emplace<std::unique_ptr<T<F>>>(
        std::make_unique<T<F>>(std::forward<Arguments>(arguments)...));
  }
  /// Only where there is something.
  [[nodiscard]] Family family() const { return of<Family::ipv4>() != nullptr ? Family::ipv4 : Family::ipv6; }

 private:
  std::variant<std::monostate, std::unique_ptr<T<Family::ipv4>>, std::unique_ptr<T<Family::ipv6>>> held_;
};

/// The connections of the last phase 1; none before the first. Connection i is the initiator's tuple i and the
/// responder's entry i, whose families differ behind a gateway that translates between them.
struct Connections {
  OfEitherFamily<TupleSpace> offered;
  OfEitherFamily<StateTable> seen;
  StreamSpec initiator;  // the stream that made them
  std::uint64_t count = 0;
  std::uint64_t established = 0;

  [[nodiscard]] bool complete() const { return count > 0 && established == count; }
};

}  // namespace natxy
