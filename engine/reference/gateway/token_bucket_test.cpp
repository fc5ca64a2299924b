// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/token_bucket.hpp"

#include <gtest/gtest.h>

#include "reference/gateway/rate_limit.hpp"

namespace natxy::reference {
namespace {

constexpr std::uint64_t kHz = 2'599'998'149;  // no rate divides it
constexpr std::uint64_t kStart = 77 * kHz;

std::uint64_t at(double seconds) { return kStart + static_cast<std::uint64_t>(seconds * static_cast<double>(kHz)); }

/// Returns how many of `frames` evenly spaced frames at `rate_fps` pass.
std::uint64_t passed(TokenBucket& bucket, std::uint64_t frames, double rate_fps) {
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < frames; ++i) count += bucket.take(at(static_cast<double>(i) / rate_fps)) ? 1U : 0U;
  return count;
}

TEST(TokenBucket, PassesItsDepthAtOnceAndNoMore) {
  TokenBucket bucket(1000, 64, kHz);
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(bucket.take(kStart)) << i;
  EXPECT_FALSE(bucket.take(kStart));
  EXPECT_FALSE(bucket.take(at(0.000999)));
  EXPECT_TRUE(bucket.take(at(0.001001)));
  EXPECT_FALSE(bucket.take(at(0.001002)));
}

TEST(TokenBucket, LosesNothingAtItsRate) {
  for (const double rate : {1000.0, 333'333.0, 1e6}) {
    TokenBucket bucket(rate, 2, kHz);
    EXPECT_EQ(passed(bucket, 100'000, rate), 100'000U) << rate;
  }
}

TEST(TokenBucket, PassesItsRateAndItsDepthInAnOverload) {
  for (const double rate : {1001.0, 123'456.0, 999'999.0}) {
    TokenBucket bucket(rate, 50, kHz);
    const double seconds = 100'000 / (rate * 2);
    EXPECT_NEAR(static_cast<double>(passed(bucket, 100'000, rate * 2)), rate * seconds + 50, 1.0) << rate;
  }
}

TEST(TokenBucket, IsExactAfterWeeks) {
  TokenBucket bucket(1e6, 1, kHz);
  EXPECT_TRUE(bucket.take(kStart));
  const std::uint64_t later = kStart + 3'000'000 * kHz;
  EXPECT_TRUE(bucket.take(later));
  EXPECT_FALSE(bucket.take(later + kHz / 1'000'001));
  EXPECT_TRUE(bucket.take(later + kHz / 1'000'000 + 1));
}

TEST(TokenBucket, TakesAPrice) {
  TokenBucket bucket(1000, 10, kHz);
  int taken = 0;
  while (bucket.take(kStart, kToken * 5 / 2)) ++taken;
  EXPECT_EQ(taken, 4);
}

TEST(TokenBucket, IsFullIfNeverUsed) { EXPECT_EQ(TokenBucket(1000, 10, kHz).full_at(), 0U); }

TEST(RateLimit, RecoversForTheConfiguredTimeAfterAnOverload) {
  RateLimit limit(TokenBucket(1000, 10, kHz), kHz / 2);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(limit.take(at(0), kToken), Passage::passes);
  EXPECT_EQ(limit.take(at(0), kToken), Passage::over_rate);
  EXPECT_EQ(limit.take(at(0.005), kToken), Passage::passes);  // still overloaded: the bucket isn't full
  // Eleven frames have passed, so the bucket is full after 11 ms.
  EXPECT_EQ(limit.take(at(0.012), kToken), Passage::recovering);
  EXPECT_EQ(limit.take(at(0.510), kToken), Passage::recovering);
  EXPECT_EQ(limit.take(at(0.512), kToken), Passage::passes);
}

TEST(RateLimit, WithoutRecoveryForwardsAllTheTime) {
  RateLimit limit(TokenBucket(1000, 1, kHz), 0);
  EXPECT_EQ(limit.take(at(0), kToken), Passage::passes);
  EXPECT_EQ(limit.take(at(0), kToken), Passage::over_rate);
  EXPECT_EQ(limit.take(at(0.002), kToken), Passage::passes);
}

}  // namespace
}  // namespace natxy::reference
