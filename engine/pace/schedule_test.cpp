// SPDX-License-Identifier: Apache-2.0
#include "pace/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace natxy {
namespace {

constexpr std::uint64_t kHz = 2'700'000'000;

TEST(Schedule, FrameIIsDueAtStartPlusIOverRate) {
  for (const double rate : {1.0, 999.7, 1e6, 14'880'952.38, 148'809'523.8}) {
    const std::uint64_t start = 123'456'789'000;
    const Schedule schedule(start, std::uint64_t{1} << 40, rate, kHz);
    for (const std::uint64_t i : {0ULL, 1ULL, 1000ULL, 4'294'967'297ULL, 500'000'000'000ULL}) {
      const long double exact = start + static_cast<long double>(i) * kHz / rate;
      if (exact > 9e18L) continue;  // a century away
      EXPECT_NEAR(static_cast<double>(static_cast<long double>(schedule.due_at(i)) - exact), 0,
                  1.0 + static_cast<double>(i) * 1e-9)
          << rate << " " << i;
    }
  }
}

TEST(Schedule, DueAndDueAtAgree) {
  const Schedule schedule(1000, 100'000'000, 1'234'567.8, kHz);
  for (std::uint64_t i = 1; i < 50'000'000; i = i * 3 + 1) {
    const std::uint64_t at = schedule.due_at(i);
    EXPECT_GE(schedule.due(at + 2), i + 1);
    EXPECT_LE(schedule.due(at - 2), i);
  }
}

/// A day of 64-byte frames at 100 Gb/s, 1.3 · 10^13 frames, is exact to the tick in both directions.
TEST(Schedule, ADayAtTheRateOf100GbEIsExactToTheTick) {
  constexpr double rate = 148'809'523.8095;
  constexpr auto frames = static_cast<std::uint64_t>(rate * 86'400);
  constexpr std::uint64_t start = std::uint64_t{1} << 50;
  for (const std::uint64_t hz : {1'000'000'000ULL, 2'700'000'000ULL, 5'300'000'001ULL}) {
    const Schedule schedule(start, frames, rate, hz);
    for (std::uint64_t i = 1; i < frames; i += frames / 1000) {
      const long double exact = static_cast<long double>(i) * static_cast<long double>(hz) / rate;
      EXPECT_NEAR(static_cast<double>(static_cast<long double>(schedule.due_at(i) - start) - exact), 0, 1.5) << i;
      EXPECT_GE(schedule.due(schedule.due_at(i) + 2), i + 1);
      EXPECT_LE(schedule.due(schedule.due_at(i) - 2), i);
    }
    EXPECT_NEAR(static_cast<double>(schedule.end() - start) / static_cast<double>(hz), 86'400, 1e-4);
    EXPECT_EQ(schedule.due(schedule.end()), frames);
  }
}

TEST(Schedule, TheMostFramesAtTheLowestAndTheHighestRateFit) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 48) - 1;
  for (const double rate : {1e6, 1e10}) {
    const Schedule schedule(0, most, rate, kHz, 65536);
    EXPECT_NEAR(static_cast<double>(schedule.late_at(most)) / kHz, static_cast<double>(most) / rate, 1e-3) << rate;
    EXPECT_EQ(schedule.due(schedule.end()), most);
  }
}

TEST(Schedule, ABurstIsDueAtOnceAndTheAverageRateHolds) {
  const Schedule schedule(0, 1000, 10'000, kHz, 16);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_NEAR(static_cast<double>(schedule.due_at(i)), static_cast<double>(i - i % 16) * kHz / 10'000, 2);
  }
  EXPECT_EQ(schedule.due(0), 16U);
  EXPECT_EQ(schedule.due(schedule.due_at(16) - 2), 16U);
  EXPECT_EQ(schedule.due(schedule.due_at(16) + 2), 32U);
  EXPECT_EQ(schedule.due(schedule.end()), 1000U);
}

TEST(Schedule, ABurstMayTakeAsLongAsItsFramesOneByOne) {
  const Schedule schedule(500, 1000, 10'000, kHz, 16);
  const Schedule one_by_one(500, 1000, 10'000, kHz);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_NEAR(static_cast<double>(schedule.late_at(i)), static_cast<double>(one_by_one.due_at(i)), 2);
    EXPECT_EQ(one_by_one.late_at(i), one_by_one.due_at(i));
  }
}

TEST(Schedule, NothingBeforeTheStartAndNeverMoreThanAll) {
  const Schedule schedule(1000, 10, 1000, kHz);
  EXPECT_EQ(schedule.due(999), 0U);
  EXPECT_EQ(schedule.due(1000), 1U);
  EXPECT_EQ(schedule.due(1000 + 100 * kHz), 10U);
  EXPECT_EQ(schedule.end(), schedule.due_at(10));
}

}  // namespace
}  // namespace natxy
