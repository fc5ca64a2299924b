// SPDX-License-Identifier: Apache-2.0
#include "flow/stand_ins.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "flow/cycle.hpp"

namespace natxy {
namespace {

std::vector<std::uint64_t> replaced(const StandIns& stand_ins, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  stand_ins.replace(numbers);
  return numbers;
}

TEST(StandIns, TheNextLowerConnectionStandsIn) {
  const StandIns stand_ins(6, [](std::uint64_t number) { return number != 2 && number != 3 && number != 5; });
  EXPECT_EQ(replaced(stand_ins, 6), (std::vector<std::uint64_t>{0, 1, 1, 1, 4, 4}));
}

TEST(StandIns, WithoutALowerOneTheNextHigherDoes) {
  const StandIns stand_ins(5, [](std::uint64_t number) { return number == 2 || number == 4; });
  EXPECT_EQ(replaced(stand_ins, 5), (std::vector<std::uint64_t>{2, 2, 2, 2, 4}));
}

TEST(StandIns, NobodyStandsInIfAllOrNoneExist) {
  for (const bool exist : {false, true}) {
    const StandIns stand_ins(5, [exist](std::uint64_t) { return exist; });
    EXPECT_TRUE(stand_ins.empty());
    EXPECT_EQ(replaced(stand_ins, 5), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  }
}

TEST(StandIns, ACycleVisitsExistingConnectionsOnly) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t count = 1 + random() % 200;
    std::set<std::uint64_t> existing = {random() % count};
    for (std::uint64_t i = 0; i < count; ++i) existing.insert(random() % count);
    const StandIns stand_ins(count, [&](std::uint64_t number) { return existing.contains(number); });
    for (const Order order : {Order::increasing, Order::decreasing, Order::pseudorandom}) {
      const Cycle whole(count, order, 8);
      const Cycle cycle(count, order, 8, &stand_ins);
      std::vector<std::uint64_t> expected(count);
      std::vector<std::uint64_t> visited(count);
      whole.at({0, 1}, expected);
      cycle.at({0, 1}, visited);
      for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_TRUE(existing.contains(visited[i]));
        if (existing.contains(expected[i])) {
          EXPECT_EQ(visited[i], expected[i]);
        }
      }
      EXPECT_EQ(std::set(visited.begin(), visited.end()), existing);
    }
  }
}

}  // namespace
}  // namespace natxy
