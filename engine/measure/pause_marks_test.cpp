// SPDX-License-Identifier: Apache-2.0
#include "measure/pause_marks.hpp"

#include <gtest/gtest.h>

#include <random>

namespace natxy {
namespace {

constexpr std::uint64_t kHz = 1'024'000;  // a slot of 1024 ticks is a millisecond
constexpr std::uint64_t kMs = 1024;

TEST(PauseMarks, NothingIsMarkedAtFirst) {
  const PauseMarks marks(1000 * kMs, kHz);
  EXPECT_FALSE(marks.any());
  EXPECT_FALSE(marks.at(0));
  EXPECT_EQ(marks.frames(Schedule(0, 5000, 5000, kHz)), 0U);
}

TEST(PauseMarks, APauseIsMarkedWithTheTimeInWhichAQueueEmpties) {
  PauseMarks marks(1000 * kMs, kHz);
  marks.mark(100 * kMs, 120 * kMs);
  EXPECT_TRUE(marks.any());
  EXPECT_FALSE(marks.at(99 * kMs - 1));
  EXPECT_TRUE(marks.at(99 * kMs));
  EXPECT_TRUE(marks.at(320 * kMs));
  EXPECT_FALSE(marks.at(321 * kMs));
}

TEST(PauseMarks, WhatIsDueAfterTheEndBelongsToTheLastSlot) {
  PauseMarks marks(1000 * kMs, kHz);
  marks.mark(990 * kMs, 1500 * kMs);
  EXPECT_TRUE(marks.at(5000 * kMs));
  EXPECT_FALSE(marks.at(0));
}

TEST(PauseMarks, OfSeveralSendersAddUp) {
  PauseMarks one(1000 * kMs, kHz);
  PauseMarks other(1000 * kMs, kHz);
  other.mark(500 * kMs, 502 * kMs);
  one.mark(10 * kMs, 12 * kMs);
  one.add(other);
  EXPECT_TRUE(one.at(11 * kMs));
  EXPECT_TRUE(one.at(501 * kMs));
  EXPECT_FALSE(one.at(400 * kMs));
}

TEST(PauseMarks, ALongTrialHasLongSlotsOnly) {
  PauseMarks marks(100'000'000 * kMs, kHz);  // more than a day
  marks.mark(50'000'000 * kMs, 50'000'002 * kMs);
  EXPECT_TRUE(marks.at(50'000'001 * kMs));
  EXPECT_FALSE(marks.at(49'900'000 * kMs));
  EXPECT_FALSE(marks.at(50'100'000 * kMs));
}

TEST(PauseMarks, FramesAreCountedAsTheirDueTimesSay) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t ticks = 1 + random() % (300 * kMs);
    const std::uint64_t frames = 1 + random() % 3000;
    const std::uint64_t burst = 1 + random() % 7;
    const auto rate_fps = static_cast<double>(frames) * kHz / static_cast<double>(ticks);
    const Schedule schedule(random() % ticks, frames, rate_fps, kHz, burst);
    PauseMarks marks(ticks, kHz);
    for (int pause = 0; pause < 3; ++pause) {
      const std::uint64_t from = random() % ticks;
      marks.mark(from, from + random() % (20 * kMs));
    }
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < frames; ++i) expected += static_cast<std::uint64_t>(marks.at(schedule.due_at(i)));
    const std::uint64_t middle = random() % frames;
    EXPECT_EQ(marks.frames(schedule, 0, middle) + marks.frames(schedule, middle, frames), marks.frames(schedule));
    // The tick in which a burst is due may be rounded into the next slot.
    EXPECT_NEAR(static_cast<double>(marks.frames(schedule)), static_cast<double>(expected),
                8 * static_cast<double>(burst))
        << round;
  }
}

}  // namespace
}  // namespace natxy
