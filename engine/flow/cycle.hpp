// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "flow/tuple_space.hpp"

namespace natxy {

/// The order in which a stream goes round and round through `size` connections.
class Cycle {
 public:
  Cycle(std::uint64_t size, Order order, std::uint64_t seed) : size_{size}, order_{order} {
    if (order == Order::pseudorandom) permutation_.emplace(size, seed);
  }

  [[nodiscard]] std::uint64_t at(std::uint64_t sequence) const {
    const std::uint64_t index = sequence % size_;
    switch (order_) {
      case Order::increasing:
        return index;
      case Order::decreasing:
        return size_ - 1 - index;
      case Order::pseudorandom:
        break;
    }
    return (*permutation_)(index);
  }

 private:
  std::uint64_t size_;
  Order order_;
  std::optional<Permutation> permutation_;
};

}  // namespace natxy
