// SPDX-License-Identifier: Apache-2.0
#include "state/state_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>
#include <vector>

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

TYPED_TEST(StateTables, HoldsExactlyWhatWasRecorded) {
  using TableTuple = decltype(std::declval<TypeParam>().at(0));
  using TableAddress = decltype(TableTuple::source);
  std::mt19937_64 random(1);
  // Few values for each 32 bits of an address, so that connections share some; among them no bits and all bits.
  const auto word = [&](std::uint64_t choices) -> uint128 {
    const std::uint64_t chosen = random() % (choices + 1);
    return chosen == choices ? random() & 0xFFFF'FFFF : chosen == 0 ? 0xFFFF'FFFF : (chosen - 1) * 0x2001'0DB8;
  };
  TypeParam table;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t size = 1 + random() % 200;
    const std::uint64_t prefixes = 1 + random() % 4;
    const auto address = [&] {
      return static_cast<TableAddress>(word(prefixes) << 96 | word(4) << 64 | word(4) << 32 | word(4));
    };
    table.reset(size);
    std::vector<std::optional<TableTuple>> plain(size);
    for (std::uint64_t i = 0; i < 2 * size; ++i) {
      const std::uint64_t index = random() % size;
      const TableTuple tuple{address(), address(), static_cast<std::uint16_t>(random()),
                             static_cast<std::uint16_t>(random())};
      ASSERT_EQ(table.record(index, tuple), !plain[index]);
      plain[index] = tuple;
    }
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_EQ(table.is_established(i), plain[i].has_value());
      if (!plain[i]) continue;
      ASSERT_EQ(table.at(i), *plain[i]);
    }
  }
}

TYPED_TEST(StateTables, DifferentConnectionsMayBeRecordedAtOnce) {
  constexpr std::uint64_t kConnections = 100'000;
  using TableTuple = decltype(std::declval<TypeParam>().at(0));
  const auto tuple_of = [](std::uint64_t i) {
    TableTuple tuple{static_cast<std::uint32_t>(i), 7, static_cast<std::uint16_t>(i), 9};
    if constexpr (sizeof tuple.source == sizeof(uint128)) tuple.source |= uint128{i % 3} << 96;
    return tuple;
  };
  TypeParam table;
  table.reset(kConnections);
  std::atomic<std::uint64_t> fresh = 0;
  const auto record = [&](std::uint64_t first) {
    std::uint64_t mine = 0;
    // Different threads write adjacent entries.
    for (std::uint64_t i = first; i < kConnections; i += 2) {
      if (table.record(i, tuple_of(i))) ++mine;
    }
    fresh += mine;
  };
  std::thread odd(record, 1);
  record(0);
  odd.join();
  EXPECT_EQ(fresh, kConnections);
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    ASSERT_TRUE(table.is_established(i));
    ASSERT_EQ(table.at(i), tuple_of(i));
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
