// SPDX-License-Identifier: Apache-2.0
#include "pace/tsc.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace natxy {
namespace {

TscFacts facts(std::set<std::string> flags, std::string clocksource, std::set<std::string> clocksources) {
  return {std::move(flags), std::move(clocksource), std::move(clocksources)};
}

TEST(CpuFlags, AreWholeWordsOfTheFirstCpu) {
  std::istringstream cpuinfo(
      "processor\t: 0\nflags\t\t: fpu tsc tsc_known_freq constant_tsc\nbugs\t: x\n"
      "processor\t: 1\nflags\t\t: fpu nonstop_tsc\n");
  EXPECT_EQ(cpu_flags(cpuinfo), (std::set<std::string>{"fpu", "tsc", "tsc_known_freq", "constant_tsc"}));
}

TEST(CpuFlags, AreEmptyIfTheCpuHasNone) {
  std::istringstream cpuinfo("processor\t: 0\nFeatures\t: fp asimd\n");
  EXPECT_TRUE(cpu_flags(cpuinfo).empty());
}

TEST(Tsc, IsFitIfInvariant) {
  EXPECT_FALSE(why_tsc_unfit(facts({"constant_tsc", "nonstop_tsc"}, "kvm-clock", {"kvm-clock", "tsc"})));
  EXPECT_FALSE(why_tsc_unfit(facts({"constant_tsc", "nonstop_tsc"}, "", {})));
}

TEST(Tsc, IsFitIfItIsTheKernelsClocksource) { EXPECT_FALSE(why_tsc_unfit(facts({"tsc"}, "tsc", {"tsc", "hpet"}))); }

TEST(Tsc, IsFitOnAarch64) { EXPECT_FALSE(why_tsc_unfit(facts({}, "arch_sys_counter", {"arch_sys_counter"}))); }

TEST(Tsc, IsUnfitIfItsRateChangesOrItStops) {
  const auto changing = why_tsc_unfit(facts({"tsc", "nonstop_tsc"}, "hpet", {"hpet", "tsc"}));
  ASSERT_TRUE(changing);
  EXPECT_NE(changing->find("no flag constant_tsc"), std::string::npos) << *changing;
  const auto stopping = why_tsc_unfit(facts({"tsc", "constant_tsc"}, "kvm-clock", {"kvm-clock", "tsc"}));
  ASSERT_TRUE(stopping);
  EXPECT_NE(stopping->find("no flag nonstop_tsc"), std::string::npos) << *stopping;
  EXPECT_NE(stopping->find("+invtsc"), std::string::npos) << *stopping;
}

TEST(Tsc, IsUnfitIfTheKernelFoundItUnstable) {
  const auto why = why_tsc_unfit(facts({"constant_tsc", "nonstop_tsc"}, "hpet", {"hpet", "acpi_pm"}));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("unstable"), std::string::npos) << *why;
}

TEST(TscRate, IsTheCountersRelativeToTheClock) {
  const TscRate rate = rate_between({1'000, 5'000, 60}, {2'450'001'000, 1'000'005'000, 40});
  EXPECT_EQ(rate.hz, 2'450'000'000U);
  EXPECT_NEAR(rate.uncertainty_ppm, 50 / 2'450.0, 1e-9);
}

TEST(TscRate, DoesNotOverflowInHours) {
  const std::uint64_t day_ns = 86'400ULL * 1'000'000'000;
  EXPECT_EQ(rate_between({0, 0, 0}, {day_ns * 5, day_ns, 0}).hz, 5'000'000'000U);
}

TEST(TscRate, IsRepeatableOnThisMachine) {
  const TscRate first = calibrate_tsc(sample_clocks());
  const TscRate second = calibrate_tsc(sample_clocks());
  const double apart_ppm = std::abs(static_cast<double>(first.hz) / static_cast<double>(second.hz) - 1) * 1e6;
  EXPECT_LE(apart_ppm, 2 * (first.uncertainty_ppm + second.uncertainty_ppm) + 1);
}

}  // namespace
}  // namespace natxy
