// SPDX-License-Identifier: Apache-2.0
#include "measure/own_lines.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace natxy {
namespace {

TEST(OwnLines, NoTwoShareACacheLine) {
  std::vector<OwnLines<std::uint64_t>> all;
  std::set<std::uintptr_t> lines;
  std::size_t expected = 0;
  constexpr std::size_t kMost = 40;
  all.reserve(kMost);
  for (std::size_t size = 1; size <= kMost; ++size) {
    all.emplace_back(size);
    const auto first = reinterpret_cast<std::uintptr_t>(all.back().data());
    ASSERT_EQ(first % kCacheLine, 0U);
    const std::size_t bytes = size * sizeof(std::uint64_t);
    expected += (bytes + kCacheLine - 1) / kCacheLine;
    for (std::size_t at = 0; at < bytes; ++at) lines.insert((first + at) / kCacheLine);
  }
  EXPECT_EQ(lines.size(), expected);
}

TEST(OwnLines, KeepWhatTheyHoldAsTheyGrow) {
  OwnLines<std::uint16_t> numbers;
  for (std::uint16_t i = 0; i < 1000; ++i) numbers.push_back(i);
  for (std::uint16_t i = 0; i < 1000; ++i) ASSERT_EQ(numbers[i], i);
}

}  // namespace
}  // namespace natxy
