// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "measure/own_lines.hpp"

namespace natxy {

/// A part of a worker's work, in cache lines of its own. `poll` does what is due now and returns at once; it never
/// waits, allocates or logs.
class alignas(kCacheLine) Task {
 public:
  virtual ~Task() = default;
  virtual void poll() = 0;
  /// Lets the trial begin `ticks` later than the task was built for. Call it before the first `poll`.
  virtual void postpone(std::uint64_t ticks) = 0;
};

/// Counts events of one worker. Other threads may read it at any time.
class Counter {
 public:
  void add(std::uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace natxy
