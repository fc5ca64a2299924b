// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/port_ranges.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace natxy::reference {
namespace {

std::vector<std::uint32_t> ports_of(const PortRanges& ports) {
  std::vector<std::uint32_t> all;
  all.reserve(ports.count());
  for (std::uint32_t i = 0; i < ports.count(); ++i) all.push_back(ports.at(i));
  return all;
}

void expect_exactly(const PortRanges& ports, const std::vector<std::uint32_t>& expected) {
  EXPECT_EQ(ports_of(ports), expected);
  std::size_t found = 0;
  for (std::uint32_t port = 0; port <= 65535; ++port) found += ports.contains(port) ? 1U : 0U;
  EXPECT_EQ(found, expected.size());
  for (const std::uint32_t port : expected) EXPECT_TRUE(ports.contains(port)) << port;
}

TEST(PortRanges, AreThoseBetweenTwoPorts) {
  expect_exactly(PortRanges::between(65533, 65535), {65533, 65534, 65535});
  EXPECT_EQ(PortRanges::between(1024, 65535).count(), 64512U);
}

TEST(PortRanges, AreThoseOfTheExampleOfRfc7597) {
  // Appendix A, Example 1: PSID 0x34 of 8 bits, an offset of 6: 63 ranges of four ports, the first at 1232.
  const PortRanges ports = PortRanges::of_set(0x34, 8, 6);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t start = 1232; start <= 64720; start += 1024) {
    for (std::uint32_t i = 0; i < 4; ++i) expected.push_back(start + i);
  }
  ASSERT_EQ(expected.size(), 252U);
  expect_exactly(ports, expected);
  expect_exactly(ports.first_alone(), {1232, 1233, 1234, 1235});
}

TEST(PortRanges, AreThoseOfAppendixB) {
  expect_exactly(PortRanges::of_set(0, 8, 6).first_alone(), {1024, 1025, 1026, 1027});
  const PortRanges without_offset = PortRanges::of_set(0, 6, 0);
  EXPECT_EQ(without_offset.count(), 1024U);
  EXPECT_EQ(without_offset.at(0), 0U);
  EXPECT_EQ(without_offset.at(1023), 1023U);
}

TEST(PortRanges, AreAllPortsOfAnAddressThatIsNotShared) { EXPECT_EQ(PortRanges::of_set(0, 0, 6).count(), 65536U); }

}  // namespace
}  // namespace natxy::reference
