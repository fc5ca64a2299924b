// SPDX-License-Identifier: Apache-2.0
#include "reference/delay_line.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace natxy::reference {
namespace {

TEST(DelayLine, GivesBackInTheOrderOfTimesAndThenOfArrival) {
  DelayLine<int> line(5);
  EXPECT_TRUE(line.empty());
  line.put(30, 1);
  line.put(10, 2);
  line.put(20, 3);
  line.put(10, 4);
  line.put(10, 5);
  EXPECT_TRUE(line.full());
  std::vector<int> order;
  std::vector<std::uint64_t> times;
  while (!line.empty()) {
    times.push_back(line.due());
    order.push_back(line.take());
  }
  EXPECT_EQ(order, (std::vector<int>{2, 4, 5, 3, 1}));
  EXPECT_EQ(times, (std::vector<std::uint64_t>{10, 10, 10, 20, 30}));
}

}  // namespace
}  // namespace natxy::reference
