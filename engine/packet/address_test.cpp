// SPDX-License-Identifier: Apache-2.0
#include "packet/address.hpp"

#include <gtest/gtest.h>

#include "packet/headers.hpp"

namespace natxy {
namespace {

TEST(Address, ParsesAndFormatsBothFamilies) {
  const auto v4 = parse_address("198.18.0.2");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->family, Family::ipv4);
  EXPECT_EQ(v4->value, 0xC6120002U);
  EXPECT_EQ(format_address(*v4), "198.18.0.2");
  const auto v6 = parse_address("2001:2::8000:0:2");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->family, Family::ipv6);
  EXPECT_EQ(format_address(*v6), "2001:2::8000:0:2");
}

TEST(Address, RejectsInvalidAddresses) {
  for (const char* text : {"", "198.18.0", "198.18.0.256", "2001:::1", "host", "198.18.0.2 "}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Prefix, ContainsItsAddressesAndNoOthers) {
  const auto prefix = parse_prefix("198.18.0.0/15");
  ASSERT_TRUE(prefix);
  EXPECT_TRUE(prefix->contains(*parse_address("198.19.255.255")));
  EXPECT_FALSE(prefix->contains(*parse_address("198.20.0.0")));
  EXPECT_FALSE(prefix->contains(*parse_address("2001:2::1")));
  EXPECT_TRUE(parse_prefix("::/0")->contains(*parse_address("2001:2::1")));
  EXPECT_TRUE(parse_prefix("2001:2::1")->contains(*parse_address("2001:2::1")));
  EXPECT_FALSE(parse_prefix("2001:2::1")->contains(*parse_address("2001:2::2")));
}

TEST(Prefix, RejectsBadLengths) {
  for (const char* text : {"198.18.0.0/33", "198.18.0.0/", "198.18.0.0/x", "::/129"}) {
    EXPECT_FALSE(parse_prefix(text)) << text;
  }
}

TEST(Mac, RoundTripsAndRejects) {
  const auto mac = parse_mac("02:00:00:00:01:fe");
  ASSERT_TRUE(mac);
  EXPECT_EQ(format_mac(*mac), "02:00:00:00:01:fe");
  for (const char* text : {"", "02:00:00:00:01", "02:00:00:00:01:fg", "02-00-00-00-01-fe"}) {
    EXPECT_FALSE(parse_mac(text)) << text;
  }
}

}  // namespace
}  // namespace natxy
