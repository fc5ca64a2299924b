// SPDX-License-Identifier: Apache-2.0
#include "packet/vlan_tag.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace natxy {
namespace {

std::vector<std::uint8_t> tagged(const VlanTag& tag, std::size_t length) {
  std::vector<std::uint8_t> bytes(tag.bytes() + length);
  const auto untagged = bytes.begin() + static_cast<std::ptrdiff_t>(tag.bytes());
  std::iota(untagged, bytes.end(), std::uint8_t{1});
  tag.insert(&*untagged);
  return bytes;
}

TEST(VlanTag, StandsBetweenAddressesAndEtherType) {
  const std::vector<std::uint8_t> expected = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0, 0x0F, 0xFE, 13, 14, 15};
  EXPECT_EQ(tagged(VlanTag({4094, {}}), 15), expected);
}

TEST(VlanTag, LeavesTheFrameAsItWas) {
  for (const VlanTag& tag : {VlanTag({10, {}}), VlanTag({10, 20})}) {
    auto bytes = tagged(tag, 60);
    tag.remove(bytes.data());
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(bytes[tag.bytes() + i], i + 1);
  }
}

TEST(VlanTag, IsKnownByItsIdWhateverThePriority) {
  const VlanTag tag({10, {}});
  auto bytes = tagged(tag, 60);
  EXPECT_TRUE(tag.is_on(bytes));
  EXPECT_FALSE(VlanTag({11, {}}).is_on(bytes));
  bytes[14] = 0xE0;  // the highest priority
  EXPECT_TRUE(tag.is_on(bytes));
  bytes[14] = 0x01;
  EXPECT_FALSE(tag.is_on(bytes));
  bytes[14] = 0;
  EXPECT_FALSE(tag.is_on(std::span(bytes).first(17)));
  bytes[13] = 0xA8;  // the start of another tag's type
  EXPECT_FALSE(tag.is_on(bytes));
}

TEST(VlanTag, OfAServiceStandsBeforeTheInnerOne) {
  const VlanTag tag({10, 300});
  auto bytes = tagged(tag, 15);
  const std::vector<std::uint8_t> tags = {0x88, 0xA8, 0x01, 0x2C, 0x81, 0, 0, 10};
  EXPECT_TRUE(std::equal(tags.begin(), tags.end(), bytes.begin() + 12));
  EXPECT_TRUE(tag.is_on(bytes));
  EXPECT_FALSE(VlanTag({10, 301}).is_on(bytes));
  EXPECT_FALSE(VlanTag({11, 300}).is_on(bytes));
  EXPECT_FALSE(VlanTag({300, {}}).is_on(bytes));
  EXPECT_FALSE(tag.is_on(std::span(bytes).first(21)));
  bytes[12] = 0x81;
  bytes[13] = 0;
  EXPECT_TRUE(tag.is_on(bytes)) << "as a driver puts an outer tag back";
  bytes[16] = 0x88;
  bytes[17] = 0xA8;
  EXPECT_FALSE(tag.is_on(bytes));
}

}  // namespace
}  // namespace natxy
