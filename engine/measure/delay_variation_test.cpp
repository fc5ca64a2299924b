// SPDX-License-Identifier: Apache-2.0
#include "measure/delay_variation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace natxy {
namespace {

TEST(SignedHistogram, PercentilesStayWithinAThousandthOfBruteForce) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 20; ++round) {
    SignedHistogram histogram;
    std::vector<std::int64_t> values(1 + random() % 3000);
    for (auto& value : values) {
      value = static_cast<std::int64_t>(random() >> (20 + random() % 40)) * (random() % 3 == 0 ? -1 : 1);
      histogram.record(value);
    }
    std::ranges::sort(values);
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
    EXPECT_EQ(histogram.count(), values.size());
    for (const double fraction : {0.01, 0.3, 0.5, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(values.size())));
      const auto exact = static_cast<double>(values.at(rank - 1));
      EXPECT_NEAR(static_cast<double>(histogram.percentile(fraction)), exact, std::abs(exact) / 1000) << fraction;
    }
    std::vector<std::int64_t> buckets;
    std::uint64_t counted = 0;
    histogram.for_each([&](std::int64_t bound, std::uint64_t count) {
      const auto rank = counted += count;
      buckets.push_back(bound);
      const auto exact = static_cast<double>(values.at(rank - 1));
      EXPECT_NEAR(static_cast<double>(bound), exact, std::abs(exact) / 1000);
    });
    EXPECT_EQ(counted, values.size());
    EXPECT_TRUE(std::ranges::is_sorted(buckets));
  }
}

TEST(DelayVariation, ComparesNeighboursInSendingOrderForAnyArrivalOrder) {
  const std::vector<std::uint64_t> delays = {100, 150, 120, 500, 90, 90};
  for (const std::vector<std::uint64_t>& order :
       {std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 0, 1, 5, 3, 4}}) {
    DelayVariation variation;
    for (const std::uint64_t sequence : order) variation.arrive(sequence, delays[sequence]);
    EXPECT_EQ(variation.variation().count(), 5U);
    EXPECT_EQ(variation.variation().min(), -410);
    EXPECT_EQ(variation.variation().max(), 380);
    EXPECT_EQ(variation.variation().percentile(0.5), 0);
  }
}

TEST(DelayVariation, IsUndefinedNextToALostFrame) {
  DelayVariation variation;
  for (const std::uint64_t sequence : {0U, 1U, 3U, 4U}) variation.arrive(sequence, 10 * sequence);
  EXPECT_EQ(variation.variation().count(), 2U);
  EXPECT_EQ(variation.variation().max(), 10);
}

}  // namespace
}  // namespace natxy
