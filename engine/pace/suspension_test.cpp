// SPDX-License-Identifier: Apache-2.0
#include "pace/suspension.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace natxy {
namespace {

constexpr std::uint64_t kHz = 2'000'000'000;
constexpr std::uint64_t kSecond_ns = 1'000'000'000;
constexpr std::uint64_t kBooted_ns = 7'000 * kSecond_ns;  // the machine has been suspended for 2000 s before
const Clock kClock{kHz};

/// Returns the clocks so many nanoseconds after the first look, each reading a microsecond after the one before.
Moment after(std::uint64_t ns) {
  Moment now;
  now.ticks_before = 2 * ns;
  now.boot_before_ns = kBooted_ns + ns + 1'000;
  now.monotonic_ns = 5'000 * kSecond_ns + ns + 2'000;
  now.raw_ns = 5'001 * kSecond_ns + ns + 3'000;
  now.boot_after_ns = kBooted_ns + ns + 4'000;
  now.ticks_after = 2 * ns + 10'000;
  return now;
}

Moment suspended_for(Moment now, std::uint64_t ns) {
  now.boot_before_ns += ns;
  now.boot_after_ns += ns;
  return now;
}

Moment counted(Moment now, std::uint64_t ticks) {
  now.ticks_before += ticks;
  now.ticks_after += ticks;
  return now;
}

/// Returns what a watch noticed that read these moments.
std::optional<std::string> noticed(std::deque<Moment> moments) {
  SuspensionWatch watch(kClock, [&] {
    const Moment next = moments.front();
    moments.pop_front();
    return next;
  });
  while (!moments.empty()) {
    const bool suspended = watch.suspended();
    EXPECT_EQ(suspended, watch.why().has_value());
  }
  return watch.why();
}

TEST(Suspension, IsNotNoticedWhileClocksAgree) {
  EXPECT_EQ(noticed({after(0), after(10'000'000), after(20'000'000), after(3'600 * kSecond_ns)}), std::nullopt);
}

TEST(Suspension, IsTheTimeThatOnlyOneOfTheKernelsClocksCounts) {
  // The counter stopped meanwhile.
  EXPECT_EQ(noticed({after(0), suspended_for(after(10'000'000), 90 * kSecond_ns)}),
            "the machine was suspended for 90.000 s");
}

TEST(Suspension, IsNoticedWhetherTheCounterStopsContinuesOrBeginsAnew) {
  const Moment resumed = suspended_for(after(10'000'000), 90 * kSecond_ns);
  for (const std::uint64_t ticks : {std::uint64_t{0}, 90 * kHz, std::uint64_t{0} - 4'000 * kHz}) {
    EXPECT_EQ(noticed({after(0), counted(resumed, ticks)}), "the machine was suspended for 90.000 s");
  }
}

TEST(Suspension, IsRememberedAsItWasNoticedFirst) {
  const Moment resumed = suspended_for(after(10'000'000), 5 * kSecond_ns);
  const Moment again = suspended_for(after(20'000'000), 50 * kSecond_ns);
  EXPECT_EQ(noticed({after(0), resumed, again, suspended_for(after(30'000'000), 50 * kSecond_ns)}),
            "the machine was suspended for 5.000 s");
}

TEST(Suspension, OfAVirtualMachineMayShowInItsCounterAlone) {
  const auto ahead = noticed({after(0), counted(after(10'000'000), 3 * kHz)});
  ASSERT_TRUE(ahead);
  EXPECT_NE(ahead->find("went ahead of the kernel's clock by 3.000 s"), std::string::npos) << *ahead;
  const auto behind = noticed({after(4 * kSecond_ns), counted(after(5 * kSecond_ns), 0 - 10 * kHz)});
  ASSERT_TRUE(behind);
  EXPECT_NE(behind->find("went behind the kernel's clock by 9.990 s"), std::string::npos) << *behind;
}

TEST(Suspension, IsNoReadingThatWasInterrupted) {
  Moment interrupted = after(10'000'000);
  interrupted.boot_after_ns += kSecond_ns;
  interrupted.ticks_after += kHz;
  EXPECT_EQ(noticed({after(0), interrupted, after(10'000'000 + 2 * kSecond_ns)}), std::nullopt);
}

TEST(Suspension, IsNoRateOfTheCounterThatIsKnownImprecisely) {
  EXPECT_EQ(noticed({after(0), counted(after(100 * kSecond_ns), kHz)}), std::nullopt);
  EXPECT_TRUE(noticed({after(0), counted(after(100 * kSecond_ns), 2 * kHz)}));
}

TEST(Suspension, IsNotNoticedOnThisMachine) {
  SuspensionWatch watch(kClock, [] {
    // The counter's rate is not the watch's.
    Moment now = read_clocks();
    now.ticks_before = now.ticks_after = 2 * now.raw_ns;
    return now;
  });
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(watch.suspended()) << *watch.why();
}

}  // namespace
}  // namespace natxy
