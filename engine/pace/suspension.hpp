// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "pace/clock.hpp"

namespace natxy {

/// Holds the machine's clocks at one moment. The kernel's are in nanoseconds, and were read between the two readings of
/// the time stamp counter, `monotonic_ns` between the two of CLOCK_BOOTTIME.
struct Moment {
  std::uint64_t ticks_before = 0;
  std::uint64_t boot_before_ns = 0;
  std::uint64_t monotonic_ns = 0;
  std::uint64_t raw_ns = 0;  // CLOCK_MONOTONIC_RAW
  std::uint64_t boot_after_ns = 0;
  std::uint64_t ticks_after = 0;
};

Moment read_clocks();

/// Notices when the machine was suspended: CLOCK_BOOTTIME counts that time and CLOCK_MONOTONIC does not. The time stamp
/// counter may continue, stop or begin anew, so a jump of the counter against the kernel's clock is noticed as well; a
/// virtual machine that its host stops for a while may show no other sign.
class SuspensionWatch {
 public:
  explicit SuspensionWatch(const Clock& clock, std::function<Moment()> read = read_clocks)
      : clock_{clock}, read_{std::move(read)}, last_{read_()} {}

  /// Compares the clocks with those of the last call. Returns whether a suspension was noticed, now or before.
  bool suspended();
  /// Returns what was noticed first, as a sentence.
  [[nodiscard]] const std::optional<std::string>& why() const { return why_; }

 private:
  Clock clock_;
  std::function<Moment()> read_;
  Moment last_;
  std::optional<std::string> why_;
};

}  // namespace natxy
