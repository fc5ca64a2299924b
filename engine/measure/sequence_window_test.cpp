// SPDX-License-Identifier: Apache-2.0
#include "measure/sequence_window.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace natxy {
namespace {

using Arrival = SequenceWindow::Arrival;

TEST(SequenceWindow, TellsDistinctFramesFromDuplicates) {
  SequenceWindow window(1000);
  EXPECT_EQ(window.arrive(0), Arrival::distinct);
  EXPECT_EQ(window.arrive(2), Arrival::distinct);
  EXPECT_EQ(window.arrive(1), Arrival::distinct);
  EXPECT_EQ(window.arrive(1), Arrival::duplicate);
  EXPECT_EQ(window.arrive(2), Arrival::duplicate);
}

TEST(SequenceWindow, RemembersTheLast16MillionNumbers) {
  constexpr std::uint64_t width = std::uint64_t{1} << 24;
  SequenceWindow window(2 * width);
  EXPECT_EQ(window.arrive(width), Arrival::distinct);
  EXPECT_EQ(window.arrive(1), Arrival::distinct);
  EXPECT_EQ(window.arrive(0), Arrival::beyond_window);
}

TEST(SequenceWindow, MatchesASet) {
  std::mt19937_64 random(4);
  constexpr std::uint64_t frames = 100'000;
  SequenceWindow window(frames);
  std::set<std::uint64_t> seen;
  std::uint64_t distinct = 0;
  for (std::uint64_t i = 0; i < 3 * frames; ++i) {
    const std::uint64_t sequence = random() % frames;
    const Arrival arrival = window.arrive(sequence);
    const bool fresh = seen.insert(sequence).second;
    ASSERT_EQ(arrival == Arrival::distinct, fresh);
    distinct += fresh ? 1 : 0;
  }
  EXPECT_EQ(distinct, seen.size());
}

TEST(SequenceWindow, KnowsTheFirstAndLastLostFrame) {
  SequenceWindow none(10);
  for (std::uint64_t i = 0; i < 10; ++i) none.arrive(i);
  EXPECT_EQ(none.lost(10), std::nullopt);
  EXPECT_EQ(none.lost(12), (SequenceRange{10, 11}));
  none.arrive(11);
  EXPECT_EQ(none.lost(10), std::nullopt);
  EXPECT_EQ(none.lost(12), (SequenceRange{10, 10}));
  EXPECT_EQ(SequenceWindow(10).lost(10), (SequenceRange{0, 9}));

  // What arrives late, but within the window, is not lost with the numbers that left it.
  SequenceWindow late(64);
  late.arrive(0);
  late.arrive(200);
  for (std::uint64_t i = 137; i < 200; ++i) late.arrive(i);
  EXPECT_EQ(late.lost(201), (SequenceRange{1, 136}));

  // A window of 64 numbers also knows the lost frames that left it long ago, alone or in long gaps.
  std::mt19937_64 random(8);
  for (int round = 0; round < 2000; ++round) {
    SequenceWindow window(64);
    const std::uint64_t frames = 1 + random() % 2000;
    std::optional<SequenceRange> expected;
    std::uint64_t missing = 0;
    for (std::uint64_t i = 0; i < frames; ++i) {
      if (random() % 500 == 0) {
        const std::uint64_t end = std::min(frames, i + 1 + random() % (round % 2 == 0 ? 2 : 400));
        expected = SequenceRange{expected ? expected->first : i, end - 1};
        missing += end - i;
        i = end - 1;
      } else {
        window.arrive(i);
      }
    }
    ASSERT_EQ(window.lost(frames), expected);
    std::uint64_t known = window.forgotten();
    window.for_each_lost(frames, [&](std::uint64_t first, std::uint64_t end) { known += end - first; });
    ASSERT_EQ(known, missing);
  }
}

TEST(SequenceWindow, WindowsThatEachSawAPartSawTheWholeTogether) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t frames = 1 + random() % 1000;
    SequenceWindow whole(frames);
    std::vector<SequenceWindow> parts(1 + random() % 4, SequenceWindow(frames));
    std::vector<std::set<std::uint64_t>> arrived(parts.size());
    for (std::uint64_t i = 0; i < frames; ++i) {
      const std::uint64_t sequence = random() % frames;
      const std::size_t part = random() % parts.size();
      whole.arrive(sequence);
      parts[part].arrive(sequence);
      arrived[part].insert(sequence);
    }
    std::set<std::uint64_t> together;
    std::uint64_t counted = 0;
    std::uint64_t both = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      together.insert(arrived[part].begin(), arrived[part].end());
      counted += arrived[part].size();
      if (part > 0) both += parts[0].merge(parts[part]);
    }
    EXPECT_EQ(both, counted - together.size());
    EXPECT_EQ(parts[0].lost(frames), whole.lost(frames));
  }
}

TEST(SequenceWindow, StaysRightWhileItSlides) {
  constexpr std::uint64_t width = std::uint64_t{1} << 24;
  SequenceWindow window(std::uint64_t{1} << 40);
  std::mt19937_64 random(5);
  std::uint64_t next = 0;
  for (int i = 0; i < 20000; ++i) {
    next += 1 + random() % 5000;
    ASSERT_EQ(window.arrive(next), Arrival::distinct);
    ASSERT_EQ(window.arrive(next), Arrival::duplicate);
    if (next > 3) {
      ASSERT_NE(window.arrive(next - 1), Arrival::beyond_window);
    }
  }
  EXPECT_EQ(window.arrive(next + 10 * width), Arrival::distinct);
  EXPECT_EQ(window.arrive(next + 10 * width - 1), Arrival::distinct);
  EXPECT_EQ(window.arrive(next), Arrival::beyond_window);
}

TEST(SequenceWindow, NumbersThatArriveTogetherCountAsOneByOne) {
  std::mt19937_64 random(11);
  for (const std::uint64_t frames : {std::uint64_t{64}, std::uint64_t{1000}, std::uint64_t{1} << 26}) {
    SequenceWindow together(frames);
    SequenceWindow apart(frames);
    std::uint64_t next = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t first = next + (random() % 4 == 0 ? random() % 200 : 0);
      const std::uint64_t count = 1 + random() % 64;
      ASSERT_TRUE(together.arrive_in_order(first, count));
      for (std::uint64_t sequence = first; sequence < first + count; ++sequence) {
        ASSERT_EQ(apart.arrive(sequence), Arrival::distinct);
      }
      next = first + count;
      ASSERT_FALSE(together.arrive_in_order(next - 1, 64));
      const std::uint64_t earlier = next - 1 - random() % std::min<std::uint64_t>(next, 300);
      ASSERT_EQ(together.arrive(earlier), apart.arrive(earlier));
    }
    EXPECT_EQ(together.lost(next + 10), apart.lost(next + 10));
  }
}

TEST(SequenceWindow, KnowsTheFirstAndLastFrameThatArrived) {
  SequenceWindow window(1000, 64);
  EXPECT_EQ(window.arrived(), std::nullopt);
  window.arrive(5);
  window.arrive(3);  // late
  EXPECT_EQ(window.arrived(), (SequenceRange{5, 5}));
  window.arrive_in_order(500, 10);
  EXPECT_EQ(window.arrived(), (SequenceRange{5, 509}));

  SequenceWindow one(100), other(100), none(100);
  one.arrive_in_order(20, 2);
  other.arrive_in_order(10, 2);
  one.merge(other);
  EXPECT_EQ(one.arrived(), (SequenceRange{10, 21}));
  one.merge(none);
  EXPECT_EQ(one.arrived(), (SequenceRange{10, 21}));
  none.merge(one);
  EXPECT_EQ(none.arrived(), (SequenceRange{10, 21}));
}

TEST(SequenceWindow, CountsToTheLastSequenceNumber) {
  constexpr std::uint64_t frames = (std::uint64_t{1} << 48) - 1;
  SequenceWindow window(frames);
  for (const std::uint64_t around : {std::uint64_t{1} << 32, std::uint64_t{1} << 47, frames - 3}) {
    ASSERT_EQ(window.arrive(around + 1), Arrival::distinct);
    ASSERT_EQ(window.arrive(around), Arrival::distinct);
    ASSERT_EQ(window.arrive(around), Arrival::duplicate);
    ASSERT_EQ(window.arrive(around + 2), Arrival::distinct);
  }
  EXPECT_EQ(window.lost(frames), (SequenceRange{0, frames - 4}));
}

TEST(SequenceWindow, KnowsNothingBelowItself) {
  SequenceWindow window(1000, 64);
  EXPECT_EQ(window.lowest_known(), 0);
  window.arrive(99);
  EXPECT_EQ(window.lowest_known(), 36);
  EXPECT_EQ(window.forgotten(), 36);
}

}  // namespace
}  // namespace natxy
