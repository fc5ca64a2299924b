// SPDX-License-Identifier: Apache-2.0
#include "state/state_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace natxy {
namespace {

template <class T>
class StateTables : public testing::Test {};
using Tables = testing::Types<StateTable<Family::ipv4>, StateTable<Family::ipv6>>;
TYPED_TEST_SUITE(StateTables, Tables);

TYPED_TEST(StateTables, RemembersEachConnectionAndCountsItOnce) {
  TypeParam table;
  table.reset(1000);
  EXPECT_EQ(table.size(), 1000U);
  for (std::uint64_t i = 0; i < 1000; i += 2) {
    EXPECT_TRUE(table.record(i, {static_cast<std::uint32_t>(i), 7, static_cast<std::uint16_t>(i), 9}));
  }
  EXPECT_FALSE(table.record(10, {1, 2, 3, 4}));
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(table.is_established(i), i % 2 == 0);
  EXPECT_EQ(table.at(10).source_port, 3);
  EXPECT_EQ(table.at(12).source, 12U);
}

TYPED_TEST(StateTables, AResetForgetsAll) {
  TypeParam table;
  table.reset(10);
  table.record(3, {1, 2, 3, 4});
  table.reset(8);
  EXPECT_FALSE(table.is_established(3));
  EXPECT_TRUE(table.record(3, {1, 2, 3, 4}));
  table.reset(100);
  EXPECT_FALSE(table.is_established(3));
}

TYPED_TEST(StateTables, DifferentConnectionsMayBeRecordedAtOnce) {
  constexpr std::uint64_t kConnections = 100'000;
  TypeParam table;
  table.reset(kConnections);
  std::atomic<std::uint64_t> fresh = 0;
  const auto record = [&](std::uint64_t first) {
    std::uint64_t mine = 0;
    // Different threads write adjacent entries.
    for (std::uint64_t i = first; i < kConnections; i += 2) {
      if (table.record(i, {static_cast<std::uint32_t>(i), 7, static_cast<std::uint16_t>(first), 9})) ++mine;
    }
    fresh += mine;
  };
  std::thread odd(record, 1);
  record(0);
  odd.join();
  EXPECT_EQ(fresh, kConnections);
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    ASSERT_TRUE(table.is_established(i));
    ASSERT_EQ(table.at(i).source, i);
    ASSERT_EQ(table.at(i).source_port, i % 2);
  }
}

TYPED_TEST(StateTables, AnEnormousTableCostsNothingUntilUsed) {
  TypeParam table;
  table.reset(400'000'000);
  EXPECT_TRUE(table.record(399'999'999, {1, 2, 3, 4}));
  EXPECT_TRUE(table.is_established(399'999'999));
}

}  // namespace
}  // namespace natxy
