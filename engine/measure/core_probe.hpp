// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "pace/clock.hpp"

namespace natxy {

/// Holds how often a core could have executed a fixed piece of work in a second, on average and at best.
struct CoreSpeed {
  unsigned core = 0;
  std::uint64_t samples = 0;
  double mean_hz = 0;
  double fastest_hz = 0;
};

/// Measures how fast cores execute while other tasks run there.
///
/// A core may be slow although it is never taken away: its clock is lowered, or the other hardware thread of the same
/// physical core is busy, for instance with another virtual machine. Linux counts neither. So a thread on each core
/// executes a short piece of work every few milliseconds and takes the time. It uses 0.3 to 1 % of the core.
class CoreProbe {
 public:
  /// Begins to measure. Cores that this process may not use are left out.
  CoreProbe(std::span<const unsigned> cores, const Clock& clock);
  CoreProbe(const CoreProbe&) = delete;
  CoreProbe& operator=(const CoreProbe&) = delete;
  /// Waits for the threads.
  ~CoreProbe() { stop(); }

  /// Ends the measurement without waiting for the threads.
  void finish();
  /// Ends the measurement and returns the speed of each core. A core is measured at least once.
  std::vector<CoreSpeed> stop();

 private:
  struct Samples {
    unsigned core = 0;
    std::vector<double> speeds_hz;
    std::thread thread;
  };

  void measure(Samples& samples);

  Clock clock_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool finished_ = false;  // guarded by mutex_
  std::vector<std::unique_ptr<Samples>> samples_;
};

}  // namespace natxy
