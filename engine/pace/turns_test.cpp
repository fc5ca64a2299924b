// SPDX-License-Identifier: Apache-2.0
#include "pace/turns.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>

namespace natxy {
namespace {

std::string pattern(const Turns& turns, std::uint64_t slots) {
  std::string text;
  for (std::uint64_t slot = 0; slot < slots; ++slot) text += turns.at(slot).second ? 'b' : 'f';
  return text;
}

TEST(Turns, TheSharesOfRfc8219) {
  EXPECT_EQ(pattern({100, 0}, 6), "ffffff");
  EXPECT_EQ(pattern({90, 10}, 20), "fffffffffbfffffffffb");
  EXPECT_EQ(pattern({50, 50}, 6), "fbfbfb");
  EXPECT_EQ(pattern({10, 90}, 20), "fbbbbbbbbbfbbbbbbbbb");
}

TEST(Turns, EveryFrameOfBothHasOneSlotAndAnyCycleTheSameShare) {
  for (const auto& [first, second] : {std::tuple<std::uint64_t, std::uint64_t>{7, 3}, {1, 999}, {640, 360}, {1, 1}}) {
    const Turns turns(first, second);
    const std::uint64_t share = second * turns.cycle() / (first + second);
    const auto has_second = [&](std::uint64_t slot) { return std::uint64_t{turns.at(slot).second}; };
    std::array<std::uint64_t, 2> next{};
    std::uint64_t in_cycle = 0;
    for (std::uint64_t slot = 0; slot < 10 * turns.cycle(); ++slot) {
      const Turns::Turn turn = turns.at(slot);
      ASSERT_EQ(turn.sequence, next.at(turn.second ? 1 : 0)++);
      in_cycle += has_second(slot);
      if (slot >= turns.cycle()) in_cycle -= has_second(slot - turns.cycle());
      if (slot + 1 >= turns.cycle()) {
        ASSERT_EQ(in_cycle, share);
      }
    }
  }
}

TEST(Turns, TheLongestTrialHasRoom) {
  const std::uint64_t most = (std::uint64_t{1} << 48) - 1;
  const Turns turns(most / 1000, most / 1000 * 999);
  const std::uint64_t slot = most / 1000 * 1000 - 1;
  EXPECT_TRUE(turns.at(slot).second);
  EXPECT_EQ(turns.at(slot).sequence, most / 1000 * 999 - 1);
}

}  // namespace
}  // namespace natxy
