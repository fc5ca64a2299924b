// SPDX-License-Identifier: Apache-2.0
#include "measure/lost_bursts.hpp"

#include <gtest/gtest.h>

namespace natxy {
namespace {

TEST(LostBursts, JoinFramesThatAreNearEachOther) {
  LostBursts bursts(10);
  bursts.add(5, 6);
  bursts.add(14, 15);
  bursts.add(15, 20);
  bursts.add(29, 30);
  EXPECT_EQ(std::move(bursts).take(), (std::vector<LostBurst>{{5, 19, 7}, {29, 29, 1}}));
}

TEST(LostBursts, NoneWithoutALoss) { EXPECT_TRUE(LostBursts(2).take().empty()); }

TEST(LostBursts, KeepTheFirstOnesWhole) {
  LostBursts bursts(2);
  constexpr std::uint64_t kEvery = 100;
  for (std::uint64_t i = 0; i < LostBursts::kMost; ++i) {
    EXPECT_FALSE(bursts.full());
    bursts.add(i * kEvery, i * kEvery + 3);
  }
  const std::uint64_t last = (LostBursts::kMost - 1) * kEvery;
  bursts.add(last + 3, last + 5);
  EXPECT_FALSE(bursts.full());
  bursts.add(last + kEvery, last + kEvery + 1);
  EXPECT_TRUE(bursts.full());
  const auto kept = std::move(bursts).take();
  ASSERT_EQ(kept.size(), LostBursts::kMost);
  EXPECT_EQ(kept.back(), (LostBurst{last, last + 4, 5}));
}

TEST(LostStride, IsThatOfAllLostFrames) {
  LostStride stride;
  for (std::uint64_t i = 0; i < LostStride::kFewest; ++i) {
    EXPECT_FALSE(stride.take());
    stride.add(7 + 16 * i, 8 + 16 * i);
  }
  EXPECT_EQ(stride.take(), 16U);
  stride.add(7 + 16 * LostStride::kFewest + 1, 9 + 16 * LostStride::kFewest);
  EXPECT_FALSE(stride.take());
}

TEST(LostStride, FramesBesideEachOtherHaveNone) {
  LostStride beside, several;
  for (std::uint64_t i = 0; i < 2 * LostStride::kFewest; ++i) {
    beside.add(i, i + 1);
    several.add(10 * i, 10 * i + 2);
  }
  EXPECT_FALSE(beside.take() || several.take());
}

}  // namespace
}  // namespace natxy
