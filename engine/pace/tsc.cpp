// SPDX-License-Identifier: Apache-2.0
#include "pace/tsc.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <thread>

#include "pace/clock.hpp"

namespace natxy {

namespace {

constexpr const char* kClocksources = "/sys/devices/system/clocksource/clocksource0/";
constexpr int kTries = 32;  // enough for one that is not interrupted
constexpr std::uint64_t kLeast_ns = 100'000'000;

std::set<std::string> words(std::istream& text) {
  return {std::istream_iterator<std::string>(text), std::istream_iterator<std::string>()};
}

std::uint64_t raw_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::set<std::string> cpu_flags(std::istream& cpuinfo) {
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line.substr(line.find(':') + 1));
    return words(flags);
  }
  return {};
}

TscFacts read_tsc_facts() {
  TscFacts facts;
  std::ifstream cpuinfo("/proc/cpuinfo");
  facts.cpu_flags = cpu_flags(cpuinfo);
  std::ifstream(std::string{kClocksources} + "current_clocksource") >> facts.clocksource;
  std::ifstream available(std::string{kClocksources} + "available_clocksource");
  facts.clocksources = words(available);
  return facts;
}

std::optional<std::string> why_tsc_unfit(const TscFacts& facts) {
  // The kernel monitors the counter while it is the clocksource in use. AArch64's counter has a constant rate and never
  // stops, by the definition of the architecture.
  if (facts.clocksource == "tsc" || facts.clocksource == "arch_sys_counter") return std::nullopt;
  const std::string needs = "natxy paces and times frames with the CPU's time stamp counter (TSC)";
  for (const auto& [flag, what] : {std::pair{"constant_tsc", "changes its rate with the CPU's frequency"},
                                   std::pair{"nonstop_tsc", "may stop while the CPU sleeps"}}) {
    if (facts.cpu_flags.contains(flag)) continue;
    return needs + ", which on this machine " + what + " (/proc/cpuinfo has no flag " + flag +
           "): use a CPU with an invariant TSC; for a virtual machine, enable it on the host (QEMU: -cpu "
           "host,+invtsc)";
  }
  if (!facts.clocksources.empty() && !facts.clocksources.contains("tsc")) {
    return needs +
           ", which the kernel of this machine found unstable (available_clocksource has no tsc): `dmesg | grep -i "
           "tsc` shows why; update the firmware or use another machine";
  }
  return std::nullopt;
}

ClockSample sample_clocks() {
  ClockSample best;
  best.uncertain_ticks = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = now_ticks();
    const std::uint64_t ns = raw_ns();
    const std::uint64_t gap = now_ticks() - before;
    if (gap < best.uncertain_ticks) best = {before + gap / 2, ns, gap};
  }
  return best;
}

TscRate rate_between(const ClockSample& first, const ClockSample& last) {
  const std::uint64_t ticks = last.ticks - first.ticks;
  const std::uint64_t ns = last.ns - first.ns;
  const double uncertain = static_cast<double>(first.uncertain_ticks + last.uncertain_ticks) / 2;
  return {static_cast<std::uint64_t>((uint128{ticks} * 1'000'000'000 + ns / 2) / ns),
          uncertain / static_cast<double>(ticks) * 1e6};
}

TscRate calibrate_tsc(const ClockSample& first) {
  ClockSample last = sample_clocks();
  while (last.ns - first.ns < kLeast_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLeast_ns - (last.ns - first.ns)));
    last = sample_clocks();
  }
  return rate_between(first, last);
}

}  // namespace natxy
