// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace natxy {

enum class Order : std::uint8_t { increasing, decreasing, pseudorandom };

/// Describes the values that one field of a four-tuple takes: `min` to `max`, in `order`.
struct FieldRange {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  Order order = Order::pseudorandom;

  [[nodiscard]] std::uint64_t size() const { return std::uint64_t{max} - min + 1; }
};

}  // namespace natxy
