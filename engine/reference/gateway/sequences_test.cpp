// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/sequences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace natxy::reference {
namespace {

const Clock kClock(1'000'000'000);  // a tick is a nanosecond

double times(const std::vector<std::uint64_t>& seen, std::uint64_t delay) {
  return static_cast<double>(std::ranges::count(seen, delay));
}

TEST(EveryNth, IsTheLastOfEachN) {
  EveryNth third(3);
  for (const bool expected : {false, false, true, false, false, true, false}) EXPECT_EQ(third.next(), expected);
}

TEST(EveryNth, ZeroIsNeverAndOneIsAlways) {
  EveryNth never(0);
  EveryNth always(1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(never.next());
    EXPECT_TRUE(always.next());
  }
}

TEST(LastOfEvery, IsABurstAtTheEndOfEachRound) {
  LastOfEvery burst({5, 2});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(burst.next(), i >= 3) << i;
  }
}

TEST(WithRatio, HasItsRatioAndRepeatsForASeed) {
  constexpr double ratio = 0.01;
  constexpr int frames = 1'000'000;
  WithRatio first(ratio, 5);
  WithRatio again(ratio, 5);
  int count = 0;
  for (int i = 0; i < frames; ++i) {
    const bool lost = first.next();
    ASSERT_EQ(again.next(), lost);
    count += lost ? 1 : 0;
  }
  EXPECT_NEAR(count, ratio * frames, 5 * std::sqrt(ratio * frames));
}

TEST(WithRatio, ZeroIsNeverAndOneIsAlways) {
  WithRatio never(0, 1);
  WithRatio always(1, 1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(never.next());
    EXPECT_TRUE(always.next());
  }
}

TEST(Delays, HaveTheirSharesInAnyRunOfFrames) {
  Delays delays({{0.9, 1000, 1000}, {0.09, 2000, 2000}, {0.01, 5000, 5000}}, 3, kClock);
  for (int run = 0; run < 50; ++run) {
    std::vector<std::uint64_t> seen(10'000);
    std::ranges::generate(seen, [&] { return delays.next(); });
    EXPECT_NEAR(times(seen, 1000), 9000, 3);
    EXPECT_NEAR(times(seen, 2000), 900, 3);
    EXPECT_NEAR(times(seen, 5000), 100, 3);
  }
}

TEST(Delays, AreUniformWithinARange) {
  Delays delays({{1, 100, 109}}, 3, kClock);
  std::vector<int> seen(10);
  for (int i = 0; i < 100'000; ++i) ++seen.at(delays.next() - 100);
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Delays, DependOnTheSeed) {
  Delays one({{1, 0, 1'000'000}}, 3, kClock);
  Delays same({{1, 0, 1'000'000}}, 3, kClock);
  Delays other({{1, 0, 1'000'000}}, 4, kClock);
  int differing = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t delay = one.next();
    EXPECT_EQ(same.next(), delay);
    differing += other.next() != delay ? 1 : 0;
  }
  EXPECT_GT(differing, 95);
}

TEST(Delays, WithoutItemsAreNone) { EXPECT_EQ(Delays({}, 1, kClock).next(), 0U); }

TEST(Outages, HaveTheirLengthAndExponentialDistances) {
  constexpr std::uint64_t duration = 6'000;
  Outages outages({100'000, duration}, 7, kClock);
  std::vector<double> distances;
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
  bool before = false;
  for (std::uint64_t now = 1; distances.size() < 2'000; ++now) {
    const bool out = outages.covers(now);
    if (out && !before) {
      if (ended > 0) distances.push_back(static_cast<double>(now - ended));
      began = now;
    }
    if (!out && before) {
      EXPECT_EQ(now - began, duration);
      ended = now;
    }
    before = out;
  }
  double sum = 0;
  for (const double distance : distances) sum += distance;
  const double mean = sum / static_cast<double>(distances.size());
  // Five standard errors; those of an exponential distribution are its mean, divided by the root of the number.
  EXPECT_NEAR(mean, 100'000, 5 * 100'000 / std::sqrt(2'000));
  const auto longer = std::ranges::count_if(distances, [](double distance) { return distance > 100'000; });
  EXPECT_NEAR(static_cast<double>(longer) / 2'000, std::exp(-1), 0.054);
}

TEST(Outages, CoverTheFramesOfBothSidesInAPoll) {
  constexpr std::uint64_t poll = 5'000;
  Outages one({50'000, 6'000}, 7, kClock);
  Outages both({50'000, 6'000}, 7, kClock);
  int covered = 0;
  for (std::uint64_t start = 1; start < 10'000'000; start += poll) {
    std::vector<bool> expected;
    for (std::uint64_t at = start; at < start + poll; at += 100) expected.push_back(one.covers(at));
    covered += static_cast<int>(std::ranges::count(expected, true));
    // The second side's frames begin at the start of the poll again.
    for (int side = 0; side < 2; ++side) {
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(both.covers(start + 100 * i), expected[i]);
    }
  }
  EXPECT_GT(covered, 0);
}

TEST(Outages, NoneWithoutTheSetting) {
  Outages none({}, 7, kClock);
  for (std::uint64_t now = 0; now < 1000; ++now) EXPECT_FALSE(none.covers(now * 1'000'000));
}

}  // namespace
}  // namespace natxy::reference
