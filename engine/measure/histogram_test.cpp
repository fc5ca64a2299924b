// SPDX-License-Identifier: Apache-2.0
#include "measure/histogram.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace natxy {
namespace {

TEST(Histogram, PercentilesStayWithinAThousandthOfBruteForce) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    Histogram histogram;
    std::vector<std::uint64_t> values(1 + random() % 5000);
    for (auto& value : values) {
      value = random() >> (16 + random() % 48);
      histogram.record(value);
    }
    std::ranges::sort(values);
    for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
      const auto exact = static_cast<double>(values.at(rank - 1));
      EXPECT_NEAR(static_cast<double>(histogram.percentile(fraction)), exact, exact / 1000) << fraction;
      EXPECT_GE(histogram.percentile(fraction), values.at(rank - 1)) << fraction;
    }
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
    EXPECT_EQ(histogram.count(), values.size());
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 2048; ++value) histogram.record(value);
  for (std::uint64_t rank = 1; rank <= 2048; ++rank) {
    EXPECT_EQ(histogram.percentile(static_cast<double>(rank) / 2048), rank - 1);
  }
}

TEST(Histogram, TheExtremesFit) {
  Histogram histogram;
  histogram.record(0);
  histogram.record(~std::uint64_t{0});
  EXPECT_EQ(histogram.min(), 0U);
  EXPECT_EQ(histogram.max(), (std::uint64_t{1} << 48) - 1);
  EXPECT_EQ(histogram.percentile(1), histogram.max());
}

TEST(Histogram, APercentileIsNoMoreThanTheMaximumAndThatOf0IsWithinAThousandthOfTheMinimum) {
  constexpr std::uint64_t least = 5000;
  constexpr std::uint64_t most = (std::uint64_t{1} << 40) + 1;  // the first values of wide buckets
  Histogram histogram;
  histogram.record(least);
  histogram.record(most);
  EXPECT_EQ(histogram.percentile(1), most);
  EXPECT_NEAR(static_cast<double>(histogram.percentile(0)), least, least / 1000.0);
}

TEST(Histogram, TheMeanOfADayAt100GbEIsExact) {
  constexpr std::uint64_t frames = 12'857'142'857'142;
  Histogram histogram;
  histogram.record(27'000'000, frames);  // 10 ms
  for (int i = 0; i < 1000; ++i) histogram.record(27'000'001);
  EXPECT_EQ(histogram.count(), frames + 1000);
  EXPECT_DOUBLE_EQ(histogram.mean(), 27'000'000 + 1000.0 / static_cast<double>(frames + 1000));
  EXPECT_EQ(histogram.percentile(0.5), histogram.percentile(0.999));
}

TEST(Histogram, SumsEqualASingleHistogram) {
  Histogram one;
  Histogram left;
  Histogram right;
  for (std::uint64_t value = 0; value < 100'000; value += 7) {
    one.record(value);
    (value % 2 == 0 ? left : right).record(value);
  }
  // The least value is in the one and the greatest in the other.
  Histogram reversed = right;
  reversed.add(left);
  left.add(right);
  for (const Histogram& sum : {left, reversed}) {
    EXPECT_EQ(sum.min(), one.min());
    EXPECT_EQ(sum.max(), one.max());
  }
  EXPECT_EQ(left.count(), one.count());
  EXPECT_DOUBLE_EQ(left.mean(), one.mean());
  for (const double fraction : {0.001, 0.25, 0.5, 0.75, 0.999}) {
    EXPECT_EQ(left.percentile(fraction), one.percentile(fraction));
  }
}

TEST(Histogram, AnEmptyHistogramIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.min(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.percentile(0.5), 0U);
  EXPECT_EQ(histogram.mean(), 0);
  histogram.for_each([](std::uint64_t, std::uint64_t) { ADD_FAILURE(); });
}

TEST(Histogram, ABucketEndsAtItsUpperBoundOrTheMaximum) {
  Histogram histogram;
  histogram.record(5, 2);
  histogram.record(4096, 3);  // in a bucket with 4097 to 4099
  histogram.record(1'000'000);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets;
  histogram.for_each([&](std::uint64_t bound, std::uint64_t count) { buckets.emplace_back(bound, count); });
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{{5, 2}, {4099, 3}, {1'000'000, 1}};
  EXPECT_EQ(buckets, expected);
}

}  // namespace
}  // namespace natxy
