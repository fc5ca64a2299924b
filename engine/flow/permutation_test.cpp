// SPDX-License-Identifier: Apache-2.0
#include "flow/permutation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "flow/mix.hpp"

namespace natxy {
namespace {

TEST(Permutation, ReachesEveryNumberOnceForEverySmallSize) {
  for (std::uint64_t size = 1; size <= 600; ++size) {
    const Permutation permutation(size, size * 7);
    std::vector<bool> seen(size, false);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t value = permutation(i);
      ASSERT_LT(value, size);
      ASSERT_FALSE(seen[value]) << size;
      seen[value] = true;
    }
  }
}

TEST(Permutation, ReachesEveryNumberOnceForLargeSizes) {
  for (const std::uint64_t size : {std::uint64_t{65536}, std::uint64_t{1000003}, std::uint64_t{1} << 20}) {
    const Permutation permutation(size, 42);
    std::vector<bool> seen(size, false);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t value = permutation(i);
      ASSERT_LT(value, size);
      ASSERT_FALSE(seen[value]);
      seen[value] = true;
    }
  }
}

TEST(Permutation, ReachesEveryNumberOnceUpTo2To24) {
  constexpr std::uint64_t size = std::uint64_t{1} << 24;
  for (const std::uint64_t one_off : {size - 1, size, size + 1}) {
    const Permutation permutation(one_off, one_off);
    std::vector<std::uint64_t> values(one_off);
    std::iota(values.begin(), values.end(), 0);
    permutation(values);
    std::vector<bool> seen(one_off, false);
    for (const std::uint64_t value : values) {
      ASSERT_LT(value, one_off);
      ASSERT_FALSE(seen[value]);
      seen[value] = true;
    }
  }
}

TEST(Permutation, ManyAtOnceEqualOneByOne) {
  std::vector<std::uint64_t> sizes = {1, 5, 1000, (std::uint64_t{1} << 32) + 1, std::uint64_t{1} << 62};
  for (unsigned bits = 1; bits < 62; ++bits) sizes.push_back((std::uint64_t{1} << bits) + random_word(6, bits) % 5 - 1);
  for (const std::uint64_t size : sizes) {
    const Permutation permutation(size, size);
    std::vector<std::uint64_t> values(203);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_word(size, i) % size;
    const std::vector<std::uint64_t> indexes = values;
    permutation(values);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], permutation(indexes[i])) << size;
  }
}

TEST(Permutation, StaysDistinctAndInRangeFarBeyondAnyTable) {
  for (const std::uint64_t size :
       {(std::uint64_t{1} << 32) + 1, std::uint64_t{3167000000000}, std::uint64_t{1} << 62}) {
    const Permutation permutation(size, 9);
    std::unordered_set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 200000; ++i) {
      const std::uint64_t value = permutation(i * (size / 200000));
      ASSERT_LT(value, size);
      ASSERT_TRUE(seen.insert(value).second);
    }
  }
}

TEST(Permutation, TheSeedDecidesTheOrder) {
  const Permutation one(100000, 1);
  const Permutation again(100000, 1);
  const Permutation other(100000, 2);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(one(i), again(i));
    same += one(i) == other(i) ? 1 : 0;
  }
  EXPECT_LT(same, 5);
}

/// Pearson's statistic of 64 equal bins has a mean of 63 and a standard deviation of about 11.
TEST(Permutation, TheFirstValuesSpreadEvenly) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::uint64_t size = 4'000'000;
    const Permutation permutation(size, seed);
    std::vector<double> bins(64, 0);
    constexpr double draws = 6400;
    for (std::uint64_t i = 0; i < 6400; ++i) bins[permutation(i) * 64 / size] += 1;
    double statistic = 0;
    for (const double count : bins) statistic += (count - draws / 64) * (count - draws / 64) / (draws / 64);
    EXPECT_GT(statistic, 25) << seed;
    EXPECT_LT(statistic, 125) << seed;
  }
}

TEST(Permutation, NeighboursDoNotStayNeighbours) {
  for (const std::uint64_t size : {std::uint64_t{1'000'000}, (std::uint64_t{1} << 32) - 5, std::uint64_t{1} << 62}) {
    const Permutation permutation(size, 3);
    double product = 0;
    double square = 0;
    for (std::uint64_t i = 0; i < 100000; ++i) {
      const double here = static_cast<double>(permutation(i)) / static_cast<double>(size) - 0.5;
      const double next = static_cast<double>(permutation(i + 1)) / static_cast<double>(size) - 0.5;
      product += here * next;
      square += here * here;
    }
    EXPECT_LT(std::abs(product / square), 0.02) << size;
  }
}

/// The distances between the values of neighbours, modulo the size, spread as evenly as the values; 64 bins, as above.
TEST(Permutation, TheDistancesOfNeighboursSpreadEvenly) {
  for (const std::uint64_t size : {std::uint64_t{4'000'000}, std::uint64_t{100'000'000}, std::uint64_t{1} << 48}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Permutation permutation(size, seed);
      std::vector<double> bins(64, 0);
      constexpr double draws = 6400;
      for (std::uint64_t i = 0; i < 6400; ++i) {
        const std::uint64_t distance = (permutation(2 * i + 1) + size - permutation(2 * i)) % size;
        bins[distance * 64 / size] += 1;
      }
      double statistic = 0;
      for (const double count : bins) statistic += (count - draws / 64) * (count - draws / 64) / (draws / 64);
      EXPECT_GT(statistic, 25) << size << " seed " << seed;
      EXPECT_LT(statistic, 125) << size << " seed " << seed;
    }
  }
}

/// A run is repeated with the same tuples only if a seed has the same order in every version and on every machine.
TEST(Permutation, KeepsTheOrderOfASeed) {
  const Permutation permutation(4'000'000, 1);
  std::vector<std::uint64_t> values(20);
  std::iota(values.begin(), values.end(), 0);
  permutation(values);
  EXPECT_EQ(values, (std::vector<std::uint64_t>{3817339, 802563,  313232,  2673019, 2674985, 1165257, 3907222,
                                                1809726, 2290439, 131815,  218478,  337843,  2030172, 2559161,
                                                364746,  2006017, 1255795, 1255562, 3621308, 3810380}));
}

TEST(Permutation, RefusesSizesOutOfRange) {
  EXPECT_THROW(Permutation(0, 1), std::invalid_argument);
  EXPECT_THROW(Permutation((std::uint64_t{1} << 62) + 1, 1), std::invalid_argument);
}

}  // namespace
}  // namespace natxy
