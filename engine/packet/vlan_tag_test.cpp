// SPDX-License-Identifier: Apache-2.0
#include "packet/vlan_tag.hpp"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace natxy {
namespace {

std::vector<std::uint8_t> tagged(const VlanTag& tag, std::size_t length) {
  std::vector<std::uint8_t> bytes(kVlanTagBytes + length);
  std::iota(bytes.begin() + kVlanTagBytes, bytes.end(), std::uint8_t{1});
  tag.insert(bytes.data() + kVlanTagBytes);
  return bytes;
}

TEST(VlanTag, StandsBetweenAddressesAndEtherType) {
  const std::vector<std::uint8_t> expected = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0, 0x0F, 0xFE, 13, 14, 15};
  EXPECT_EQ(tagged(VlanTag(4094), 15), expected);
}

TEST(VlanTag, LeavesTheFrameAsItWas) {
  auto bytes = tagged(VlanTag(10), 60);
  VlanTag::remove(bytes.data());
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(bytes[kVlanTagBytes + i], i + 1);
}

TEST(VlanTag, IsKnownByItsIdWhateverThePriority) {
  const VlanTag tag(10);
  auto bytes = tagged(tag, 60);
  EXPECT_TRUE(tag.is_on(bytes));
  EXPECT_FALSE(VlanTag(11).is_on(bytes));
  bytes[14] = 0xE0;  // the highest priority
  EXPECT_TRUE(tag.is_on(bytes));
  bytes[14] = 0x01;
  EXPECT_FALSE(tag.is_on(bytes));
  bytes[14] = 0;
  EXPECT_FALSE(tag.is_on(std::span(bytes).first(17)));
  bytes[13] = 0xA8;  // the start of another tag's type
  EXPECT_FALSE(tag.is_on(bytes));
}

}  // namespace
}  // namespace natxy
