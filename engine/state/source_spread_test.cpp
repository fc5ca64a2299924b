// SPDX-License-Identifier: Apache-2.0
#include "state/source_spread.hpp"

#include <gtest/gtest.h>

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
    // Ports and destinations are no sources.
    const auto port = static_cast<std::uint16_t>(connection);
    table.record(connection, {connection < 5 ? 7U : 8U, port, port, port});
  }
  EXPECT_EQ(spread_of_sources(table), (SourceSpread{5, 2, 2, 3}));
  table.reset(10);
  EXPECT_EQ(spread_of_sources(table), std::nullopt);
}

TYPED_TEST(SpreadOfSources, CountsNoMoreAddressesThanAPoolCanHave) {
  StateTable<TypeParam::family> table;
  table.reset(kMostSources + 1);
  for (std::uint32_t i = 0; i < kMostSources; ++i) table.record(i, {i << 8, 1, 1, 1});
  EXPECT_EQ(spread_of_sources(table), (SourceSpread{kMostSources, kMostSources, 1, 1}));
  table.record(kMostSources, {1, 1, 1, 1});
  EXPECT_EQ(spread_of_sources(table), std::nullopt);
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
  EXPECT_EQ(*spread, (SourceSpread{half, 4, half / 4, half / 4 + 1}));
}

}  // namespace
}  // namespace natxy
