// SPDX-License-Identifier: Apache-2.0
#include "flow/divisor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace natxy {
namespace {

constexpr std::uint64_t kMostDividend = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostDivisor = std::uint64_t{1} << 32;

void expect_exact(std::uint64_t divisor, const std::vector<std::uint64_t>& dividends) {
  std::vector<std::uint64_t> quotients = dividends;
  std::vector<std::uint32_t> remainders(dividends.size());
  const std::uint64_t bound = std::ranges::max(dividends) + 1;
  Divisor(divisor).divide(quotients, remainders, bound);
  for (std::size_t i = 0; i < dividends.size(); ++i) {
    ASSERT_EQ(quotients[i], dividends[i] / divisor) << dividends[i] << " / " << divisor;
    ASSERT_EQ(remainders[i], dividends[i] % divisor) << dividends[i] << " % " << divisor;
  }
}

TEST(Divisor, IsExactForAllSmallNumbers) {
  std::vector<std::uint64_t> dividends(3000);
  for (std::size_t i = 0; i < dividends.size(); ++i) dividends[i] = i;
  for (std::uint64_t divisor = 1; divisor <= 300; ++divisor) expect_exact(divisor, dividends);
}

TEST(Divisor, IsExactAtTheEdgesOfEveryDivisor) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t near_power = (std::uint64_t{1} << (random() % 33)) + random() % 3 - 1;
    const std::uint64_t divisor = i % 2 == 0 ? 1 + (random() % kMostDivisor >> (random() % 32)) : near_power;
    if (divisor == 0 || divisor > kMostDivisor) continue;
    // Large and small dividends are divided in different ways.
    for (const std::uint64_t most : {kMostDividend, kMostDividend >> (random() % 62), kMostDividend >> 12}) {
      std::vector<std::uint64_t> dividends = {most - 1, random() % most};
      const std::uint64_t quotients = most / divisor;
      if (quotients > 0) {
        for (const std::uint64_t quotient : {random() % quotients, quotients - 1}) {
          const std::uint64_t multiple = quotient * divisor;
          dividends.insert(dividends.end(), {multiple, multiple + divisor - 1, multiple - (multiple == 0 ? 0 : 1)});
        }
      }
      expect_exact(divisor, dividends);
    }
  }
}

}  // namespace
}  // namespace natxy
