// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/bindings.hpp"

#include <gtest/gtest.h>

namespace natxy::reference {
namespace {

const Clock kClock(1'000'000'000);
constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(Bindings, AllSubscribersHaveOneAtFirst) {
  const Bindings bindings({}, kClock);
  EXPECT_TRUE(bindings.has(7, 0));
  EXPECT_FALSE(bindings.silent(0));
}

TEST(Bindings, AreChangedAtOnceUnlessThereIsADelay) {
  Bindings bindings({}, kClock);
  bindings.change({{10, 19}, {40, 40}}, kSecond);
  for (const unsigned address : {10U, 15U, 19U, 40U}) {
    EXPECT_TRUE(bindings.has(address, kSecond - 1)) << address;
    EXPECT_FALSE(bindings.has(address, kSecond)) << address;
  }
  for (const unsigned address : {9U, 20U, 39U, 41U}) EXPECT_TRUE(bindings.has(address, kSecond)) << address;
  bindings.change({}, 2 * kSecond);
  EXPECT_FALSE(bindings.has(15, 2 * kSecond - 1));
  EXPECT_TRUE(bindings.has(15, 2 * kSecond));
}

TEST(Bindings, AreChangedLaterWithADelay) {
  Bindings bindings({.delay_s = 0.5}, kClock);
  bindings.change({{1, 1}}, kSecond);
  EXPECT_TRUE(bindings.has(1, kSecond + kSecond / 2 - 1));
  EXPECT_FALSE(bindings.has(1, kSecond + kSecond / 2));
  // A change that has not come into force is replaced by the next one.
  bindings.change({{2, 2}}, 2 * kSecond);
  bindings.change({{3, 3}}, 2 * kSecond + 1);
  EXPECT_FALSE(bindings.has(1, 2 * kSecond + kSecond / 2));
  EXPECT_FALSE(bindings.has(3, 2 * kSecond + kSecond / 2 + 1));
  EXPECT_TRUE(bindings.has(1, 2 * kSecond + kSecond / 2 + 1));
  EXPECT_TRUE(bindings.has(2, 2 * kSecond + kSecond / 2 + 1));
}

TEST(Bindings, AChangeMayKeepAllFramesFromPassing) {
  Bindings bindings({.delay_s = 0, .outage_s = 0.25}, kClock);
  bindings.change({}, kSecond);
  EXPECT_TRUE(bindings.silent(kSecond));
  EXPECT_TRUE(bindings.silent(kSecond + kSecond / 4 - 1));
  EXPECT_FALSE(bindings.silent(kSecond + kSecond / 4));
}

}  // namespace
}  // namespace natxy::reference
