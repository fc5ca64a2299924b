// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <variant>

#include "flow/tuple_space.hpp"
#include "state/state_table.hpp"
#include "trial/types.hpp"

namespace natxy {

/// One family's connections of a phase 1: what the initiator offered and what the responder saw. Connection i is the
/// space's tuple i.
template <Family F>
struct FamilyConnections {
  explicit FamilyConnections(const TupleSpace<F>& offered) : space{offered} {}

  TupleSpace<F> space;
  StateTable<F> table;
};

/// The connections of the last phase 1; none before the first.
struct Connections {
  std::variant<std::monostate, std::unique_ptr<FamilyConnections<Family::ipv4>>,
               std::unique_ptr<FamilyConnections<Family::ipv6>>>
      families;
  StreamSpec initiator;  // the stream that made them
  std::uint64_t count = 0;
  std::uint64_t established = 0;

  template <Family F>
  [[nodiscard]] FamilyConnections<F>* of() const {
    const auto* held = std::get_if<std::unique_ptr<FamilyConnections<F>>>(&families);
    return held == nullptr ? nullptr : held->get();
  }
  [[nodiscard]] bool complete() const { return count > 0 && established == count; }
};

}  // namespace natxy
