// SPDX-License-Identifier: Apache-2.0
#include "state/source_spread.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace natxy {
namespace {

template <class T>
class SpreadOfSources : public testing::Test {};

template <Family F>
struct Of {
  static constexpr Family family = F;
};
using Families = testing::Types<Of<Family::ipv4>, Of<Family::ipv6>>;
TYPED_TEST_SUITE(SpreadOfSources, Families);

TYPED_TEST(SpreadOfSources, CountsEstablishedConnectionsByAddress) {
  StateTable<TypeParam::family> table;
  table.reset(10);
  EXPECT_EQ(spread_of_sources(table), std::nullopt);
  for (const std::uint64_t connection : {1U, 2U, 5U, 6U, 7U}) {
    // Destinations are no sources, and several of them may have the same source.
    const auto destination = static_cast<std::uint16_t>(connection);
    const std::uint16_t port = connection == 6 ? 5 : destination;
    table.record(connection, {connection < 5 ? 7U : 8U, destination, port, destination});
  }
  constexpr Family kFamily = TypeParam::family;
  EXPECT_EQ(spread_of_sources(table), (SourceSpread{5, 2, 2, 3, {kFamily, 7}, {kFamily, 8}, 4, 1, 7, std::nullopt}));
  table.reset(10);
  EXPECT_EQ(spread_of_sources(table), std::nullopt);
}

TYPED_TEST(SpreadOfSources, CountsNoMoreAddressesThanAPoolCanHave) {
  StateTable<TypeParam::family> table;
  table.reset(kMostSources + 1);
  for (std::uint32_t i = 0; i < kMostSources; ++i) table.record(i, {i << 8, 1, 1, 1});
  constexpr Family kFamily = TypeParam::family;
  constexpr AnyAddress kHighest{kFamily, (kMostSources - 1) << 8};
  EXPECT_EQ(spread_of_sources(table),
            (SourceSpread{kMostSources, kMostSources, 1, 1, {kFamily, 0}, kHighest, std::nullopt, 1, 1, std::nullopt}));
  table.record(kMostSources, {1, 1, 1, 1});
  EXPECT_EQ(spread_of_sources(table), std::nullopt);
}

TYPED_TEST(SpreadOfSources, CountsPortsOfAThousandAddresses) {
  StateTable<TypeParam::family> table;
  table.reset(2 * kMostWithPorts + 2);
  for (std::uint32_t i = 0; i < 2 * kMostWithPorts; ++i) {
    table.record(i, {i / 2, 1, static_cast<std::uint16_t>(50000 + i % 2), 1});
  }
  const auto spread = spread_of_sources(table);
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->endpoints, 2 * kMostWithPorts);
  EXPECT_EQ(spread->lowest_port, 50000);
  EXPECT_EQ(spread->highest_port, 50001);
  table.record(2 * kMostWithPorts, {kMostWithPorts, 1, 1, 1});
  EXPECT_EQ(spread_of_sources(table)->endpoints, std::nullopt);
}

TYPED_TEST(SpreadOfSources, ListsPortsInRangesOfEqualUse) {
  StateTable<TypeParam::family> table;
  table.reset(7);
  std::uint64_t connection = 0;
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{65535, 16, 17, 18, 18, 20})
    table.record(connection++, {1, 1, port, 1});
  const auto spread = spread_of_sources(table, true);
  ASSERT_TRUE(spread);
  const std::vector<PortUse> expected = {{16, 17, 1}, {18, 18, 2}, {20, 20, 1}, {65535, 65535, 1}};
  EXPECT_EQ(spread->ports, expected);
}

TYPED_TEST(SpreadOfSources, LooksAtLargeTablesInSteps) {
  StateTable<TypeParam::family> table;
  table.reset(kMostLookedAt + 4);
  for (std::uint64_t i = 0; i < table.size(); ++i) {
    const auto source = static_cast<std::uint32_t>(i / 2 % 4);
    table.record(i, {source, 1, 1, 1});
  }
  const std::uint64_t half = (kMostLookedAt + 4) / 2;
  const auto spread = spread_of_sources(table);
  ASSERT_TRUE(spread);
  constexpr Family kFamily = TypeParam::family;
  EXPECT_EQ(*spread,
            (SourceSpread{half, 4, half / 4, half / 4 + 1, {kFamily, 0}, {kFamily, 3}, 4, 1, 1, std::nullopt}));
}

TEST(JoinedSpreads, HaveTheEndsOfBoth) {
  const AnyAddress one{Family::ipv4, 1}, two{Family::ipv4, 2}, three{Family::ipv4, 3};
  const SourceSpread left{5, 2, 2, 3, two, three, 5, 7, 9, std::nullopt},
      right{4, 2, 1, 3, one, two, 3, 8, 10, std::nullopt};
  EXPECT_EQ(joined(left, right), (SourceSpread{9, 4, 1, 3, one, three, 8, 7, 10, std::nullopt}));
  SourceSpread unknown = right;
  unknown.endpoints.reset();
  EXPECT_EQ(joined(left, unknown)->endpoints, std::nullopt);
}

}  // namespace
}  // namespace natxy
