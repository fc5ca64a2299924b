// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "flow/tuple_space.hpp"

namespace natxy {

/// Selects how a stream takes four-tuples from its space: each at random, or one after the other.
enum class Selection : std::uint8_t { random, enumerate };

/// Sets `tuples` to those of a stream's frames with these `sequences`, in any order, all below the size of the space if
/// they are enumerated.
template <Selection S, Family F>
void select_tuples(const TupleSpace<F>& space, std::span<const std::uint64_t> sequences, TupleLanes<F>& tuples) {
  if constexpr (S == Selection::enumerate) {
    space.at(sequences, tuples);
  } else {
    space.random(sequences, tuples);
  }
}

}  // namespace natxy
