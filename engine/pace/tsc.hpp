// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <set>
#include <string>

namespace natxy {

/// What the kernel says of the CPU's time stamp counter. Empty where it says nothing.
struct TscFacts {
  std::set<std::string> cpu_flags;
  std::string clocksource;             // the kernel's own choice
  std::set<std::string> clocksources;  // that it could choose from
};

TscFacts read_tsc_facts();
/// The flags of the first CPU in the text of /proc/cpuinfo.
std::set<std::string> cpu_flags(std::istream& cpuinfo);

/// Why the counter is no clock on this machine, and what to do about it; none where its rate never changes.
std::optional<std::string> why_tsc_unfit(const TscFacts& facts);

/// The counter and CLOCK_MONOTONIC_RAW at one moment.
struct ClockSample {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  std::uint64_t uncertain_ticks = 0;  // between the two readings of the counter around that of the clock
};

ClockSample sample_clocks();

struct TscRate {
  std::uint64_t hz = 0;
  double uncertainty_ppm = 0;
};

TscRate rate_between(const ClockSample& first, const ClockSample& last);
/// Waits until enough time has passed since `first` for an uncertainty of about 1 ppm.
TscRate calibrate_tsc(const ClockSample& first);

}  // namespace natxy
