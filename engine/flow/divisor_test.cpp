// SPDX-License-Identifier: Apache-2.0
#include "flow/divisor.hpp"

#include <gtest/gtest.h>

#include <random>

namespace natxy {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

void expect_exact(std::uint64_t divisor, std::uint64_t dividend) {
  if (dividend >= kMost) return;
  ASSERT_EQ(Divisor(divisor).quotient(dividend), dividend / divisor) << dividend << " / " << divisor;
}

TEST(Divisor, IsExactForAllSmallNumbers) {
  for (std::uint64_t divisor = 1; divisor <= 300; ++divisor) {
    for (std::uint64_t dividend = 0; dividend <= 3000; ++dividend) expect_exact(divisor, dividend);
  }
}

TEST(Divisor, IsExactAtTheEdgesOfEveryDivisor) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t near_power = (std::uint64_t{1} << (random() % 63)) + random() % 3 - 1;
    const std::uint64_t divisor = i % 2 == 0 ? 1 + (random() % kMost >> (random() % 62)) : near_power;
    if (divisor == 0 || divisor > kMost) continue;
    const std::uint64_t multiple = divisor * (random() % (kMost / divisor));
    expect_exact(divisor, multiple);
    expect_exact(divisor, multiple - (multiple == 0 ? 0 : 1));
    expect_exact(divisor, multiple + divisor - 1);
    expect_exact(divisor, kMost - 1);
    expect_exact(divisor, random() % kMost);
  }
}

}  // namespace
}  // namespace natxy
