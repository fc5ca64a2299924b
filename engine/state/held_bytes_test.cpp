// SPDX-License-Identifier: Apache-2.0
#include "state/held_bytes.hpp"

#include <gtest/gtest.h>

#include <random>

namespace natxy {
namespace {

using Places = std::array<unsigned, HeldBytes::kCount>;

TEST(HeldBytes, AreTheLastOnesIfNothingVaries) { EXPECT_EQ(HeldBytes().places(), (Places{0, 1, 2, 3})); }

TEST(HeldBytes, IncludeTheLastFourThatVary) {
  EXPECT_EQ(HeldBytes(uint128{0xFF'0100} << 56).places(), (Places{8, 9, 0, 1}));
  EXPECT_EQ(HeldBytes(~uint128{0} << 24).places(), (Places{3, 4, 5, 6}));
}

TEST(HeldBytes, MakeTheAddressTogetherWithTheOthers) {
  std::mt19937_64 random(1);
  const auto draw = [&] { return uint128{random()} << 64 | random(); };
  for (int i = 0; i < 1000; ++i) {
    const HeldBytes held(draw() & draw() & draw() & draw() & draw());
    const uint128 address = draw();
    EXPECT_EQ(held.placed(held.of(address)) | (address & held.others()), address);
    EXPECT_EQ(held.placed(held.of(address)) & held.others(), 0U);
  }
}

}  // namespace
}  // namespace natxy
