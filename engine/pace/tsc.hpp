// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <set>
#include <string>

namespace natxy {

/// Holds the kernel's information about the CPU's time stamp counter. Fields without information are empty.
struct TscFacts {
  std::set<std::string> cpu_flags;
  std::string clocksource;             // the one in use
  std::set<std::string> clocksources;  // the available ones
};

TscFacts read_tsc_facts();
/// Returns the flags of the first CPU in the text of /proc/cpuinfo.
std::set<std::string> cpu_flags(std::istream& cpuinfo);

/// Returns why the counter is not usable as a clock on this machine and what to do about it, or nothing if it is.
std::optional<std::string> why_tsc_unfit(const TscFacts& facts);

/// Holds the values of the counter and of CLOCK_MONOTONIC_RAW at the same moment.
struct ClockSample {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  std::uint64_t uncertain_ticks = 0;  // between the readings of the counter before and after that of the clock
};

ClockSample sample_clocks();

struct TscRate {
  std::uint64_t hz = 0;
  double uncertainty_ppm = 0;
};

TscRate rate_between(const ClockSample& first, const ClockSample& last);
/// Returns the counter's rate since `first`, after waiting long enough for an uncertainty of about 1 ppm.
TscRate calibrate_tsc(const ClockSample& first);

}  // namespace natxy
