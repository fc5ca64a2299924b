// SPDX-License-Identifier: Apache-2.0
#include "pace/suspension.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace natxy {

namespace {

// Suspensions take longer. Rounding in the kernel's conversion of clocks takes nanoseconds.
constexpr double kNoticed_s = 0.001;
// The counter's rate as DPDK reports it differs from the true one by less than this share.
constexpr double kRateError = 0.01;

std::uint64_t ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Returns the seconds from `first` to `last`, negative if `last` is smaller.
double seconds_between(std::uint64_t first, std::uint64_t last, double hz) {
  return static_cast<double>(static_cast<std::int64_t>(last - first)) / hz;
}

/// Returns the least time for which the machine was suspended between two moments; below zero, none is certain.
double suspended_s(const Moment& first, const Moment& last) {
  // Since boot. A reading that was interrupted widens the bounds.
  const std::uint64_t most_before = first.boot_after_ns - first.monotonic_ns;
  const std::uint64_t least_after = last.boot_before_ns - last.monotonic_ns;
  return seconds_between(most_before, least_after, 1e9);
}

/// Returns the least time by which the counter went ahead of the kernel's clock, or fell behind if negative.
double jump_s(const Moment& first, const Moment& last, double hz) {
  const double kernel_s = seconds_between(first.raw_ns, last.raw_ns, 1e9);
  const double error_s = kRateError * kernel_s;
  const double least_s = seconds_between(first.ticks_after, last.ticks_before, hz) - error_s;
  const double most_s = seconds_between(first.ticks_before, last.ticks_after, hz) + error_s;
  if (least_s > kernel_s) return least_s - kernel_s;
  return most_s < kernel_s ? most_s - kernel_s : 0;
}

}  // namespace

Moment read_clocks() {
  Moment now;
  now.ticks_before = now_ticks();
  now.boot_before_ns = ns(CLOCK_BOOTTIME);
  now.monotonic_ns = ns(CLOCK_MONOTONIC);
  now.raw_ns = ns(CLOCK_MONOTONIC_RAW);
  now.boot_after_ns = ns(CLOCK_BOOTTIME);
  now.ticks_after = now_ticks();
  return now;
}

bool SuspensionWatch::suspended() {
  const Moment now = read_();
  const double away_s = suspended_s(last_, now);
  const double jumped_s = jump_s(last_, now, static_cast<double>(clock_.hz()));
  last_ = now;
  if (why_) return true;
  if (away_s > kNoticed_s) {
    why_ = fmt::format("the machine was suspended for {:.3f} s", away_s);
  } else if (jumped_s > kNoticed_s || jumped_s < -kNoticed_s) {
    why_ = fmt::format(
        "the CPU's time stamp counter went {} the kernel's clock by {:.3f} s: this machine was suspended, or its host "
        "stopped it",
        jumped_s > 0 ? "ahead of" : "behind", std::abs(jumped_s));
  }
  return why_.has_value();
}

}  // namespace natxy
