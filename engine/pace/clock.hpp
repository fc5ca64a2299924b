// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_cycles.h>

#include <cstdint>

#include "packet/address.hpp"

namespace natxy {

/// Returns the time in ticks of the engine's only clock, the CPU's invariant time stamp counter.
inline std::uint64_t now_ticks() { return rte_rdtsc(); }

/// Pauses of a core longer than this are added up. Their sum is reported beside the longest pause, because several
/// short pauses in a row disturb as much as a long one.
inline constexpr double kNotablePause_s = 0.001;

/// Converts between ticks and seconds or nanoseconds.
class Clock {
 public:
  explicit Clock(std::uint64_t ticks_per_second) : hz_{ticks_per_second} {}

  [[nodiscard]] std::uint64_t hz() const { return hz_; }
  [[nodiscard]] std::uint64_t ticks(double seconds) const {
    return static_cast<std::uint64_t>(seconds * static_cast<double>(hz_));
  }
  [[nodiscard]] std::uint64_t ticks_of_ns(std::uint64_t nanoseconds) const {
    return static_cast<std::uint64_t>(uint128{nanoseconds} * hz_ / 1'000'000'000);
  }
  [[nodiscard]] double seconds(std::uint64_t ticks) const {
    return static_cast<double>(ticks) / static_cast<double>(hz_);
  }
  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(uint128{ticks} * 1'000'000'000 / hz_);
  }

 private:
  std::uint64_t hz_;
};

}  // namespace natxy
