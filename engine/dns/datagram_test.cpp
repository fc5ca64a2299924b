// SPDX-License-Identifier: Apache-2.0
#include "dns/datagram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace natxy::dns {
namespace {

using FrameBytes = std::vector<std::uint8_t>;

Way way(Family family) {
  const bool is_ipv6 = family == Family::ipv6;
  return {{2, 0, 0, 0, 0, 1},
          {2, 0, 0, 0, 0, 0x11},
          family,
          parse_address(is_ipv6 ? "2001:2::2" : "198.18.0.2")->value,
          parse_address(is_ipv6 ? "2001:2::1" : "198.18.0.1")->value,
          4321,
          53};
}

FrameBytes frame(Family family, std::size_t message_bytes) {
  FrameBytes bytes(message_at(family) + message_bytes);
  for (std::size_t i = 0; i < message_bytes; ++i) bytes[message_at(family) + i] = static_cast<std::uint8_t>(i + 1);
  write_headers(bytes, way(family), 64);
  return bytes;
}

class Datagrams : public testing::TestWithParam<Family> {};

TEST_P(Datagrams, AreReadAsTheyWereWritten) {
  for (const std::size_t length : {0U, 1U, 50U, 97U}) {
    const FrameBytes bytes = frame(GetParam(), length);
    const auto read = read_datagram(bytes);
    ASSERT_TRUE(read) << length;
    EXPECT_EQ(read->message.size(), length);
    EXPECT_EQ(read->message.data(), bytes.data() + message_at(GetParam()));
    EXPECT_EQ(read->way, way(GetParam()));
  }
}

TEST_P(Datagrams, EndWhereThePacketEndsInAPaddedFrame) {
  FrameBytes bytes = frame(GetParam(), 5);
  bytes.resize(bytes.size() + 9, 0xEE);
  ASSERT_TRUE(read_datagram(bytes));
  EXPECT_EQ(read_datagram(bytes)->message.size(), 5U);
}

TEST_P(Datagrams, WithAChangedByteAreNone) {
  const FrameBytes bytes = frame(GetParam(), 20);
  for (std::size_t at = message_at(GetParam()) - kUdpBytes; at < bytes.size(); ++at) {
    FrameBytes changed = bytes;
    changed[at] ^= 0x10;
    EXPECT_FALSE(read_datagram(changed)) << at;
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    FrameBytes cut = bytes;
    cut.resize(length);
    cut.shrink_to_fit();  // so that a sanitizer knows the end
    EXPECT_FALSE(read_datagram(cut)) << length;
  }
}

TEST_P(Datagrams, GoBackTheWayTheyCame) {
  const Way back = way(GetParam()).back();
  EXPECT_EQ(back.source, way(GetParam()).destination);
  EXPECT_EQ(back.source_port, 53);
  EXPECT_EQ(back.destination_mac, way(GetParam()).source_mac);
  EXPECT_EQ(back.back(), way(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, Datagrams, testing::Values(Family::ipv4, Family::ipv6));

TEST(Datagrams, OfIpv4MayHaveNoChecksumAndThoseOfIpv6MayNot) {
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    FrameBytes bytes = frame(family, 20);
    const std::size_t checksum_at = message_at(family) - 2;
    bytes[checksum_at] = bytes[checksum_at + 1] = 0;
    EXPECT_EQ(read_datagram(bytes).has_value(), family == Family::ipv4);
  }
}

}  // namespace
}  // namespace natxy::dns
