// SPDX-License-Identifier: Apache-2.0
#include "packet/layers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace natxy {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Returns an IPv6 packet whose header names `first`, with these bytes behind it.
Bytes ipv6(std::uint8_t first, const Bytes& behind) {
  Bytes packet(kIpv6Bytes);
  packet[0] = 0x60;
  store_be16(packet.data() + 4, static_cast<std::uint16_t>(behind.size()));
  packet[6] = first;
  packet.insert(packet.end(), behind.begin(), behind.end());
  return packet;
}

TEST(Layers, AnIpv4HeaderMayHaveOptions) {
  Bytes packet(40);
  packet[0] = 0x47;
  store_be16(packet.data() + 2, 36);
  packet[9] = kProtocolUdp;
  const auto read = read_ipv4(packet);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->header.size(), 28U);
  EXPECT_EQ(read->protocol, kProtocolUdp);
  EXPECT_EQ(read->payload.data(), packet.data() + 28);
  EXPECT_EQ(read->payload.size(), 8U) << "the last four bytes are Ethernet's padding";
  EXPECT_FALSE(read->fragment);
  packet[7] = 1;
  EXPECT_TRUE(read_ipv4(packet)->fragment);
}

TEST(Layers, Ipv6ExtensionHeadersAreWalked) {
  const Bytes behind = {60, 0, 1, 4, 0,  0, 0, 0, 43, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0,
                        0,  0, 0, 0, 17, 0, 0, 0, 0,  0, 0, 0,  1, 2, 3, 4, 0, 8, 0, 0};
  const Bytes packet = ipv6(kProtocolHopByHop, behind);
  const auto read = read_ipv6(packet);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->protocol, kProtocolUdp);
  EXPECT_EQ(read->payload.data(), packet.data() + kIpv6Bytes + 32);
  EXPECT_EQ(read->payload.size(), 8U);
}

TEST(Layers, TheWalkEndsWhereNothingIsKnown) {
  const auto protocol_of = [](const Bytes& packet) { return read_ipv6(packet)->protocol; };
  EXPECT_EQ(protocol_of(ipv6(kProtocolDestinationOptions, {0, 0, 1, 4, 0, 0, 0, 0})), kProtocolHopByHop);
  const Bytes fragment = ipv6(kProtocolDestinationOptions, {44, 0, 1, 4, 0, 0, 0, 0, 17, 0, 0, 1, 0, 0, 0, 9});
  EXPECT_EQ(protocol_of(fragment), kProtocolFragment);
  EXPECT_TRUE(read_ipv6(fragment)->fragment);
  EXPECT_EQ(protocol_of(ipv6(4, {})), 4);
}

TEST(Layers, WhatContradictsItselfIsNoPacket) {
  EXPECT_FALSE(read_ipv4(Bytes{}));
  EXPECT_FALSE(read_ipv4(Bytes(19, 0x45)));
  EXPECT_FALSE(read_ipv4(Bytes(20, 0x45))) << "its length is more than the bytes";
  Bytes short_header(20);
  short_header[0] = 0x44;
  store_be16(short_header.data() + 2, 20);
  EXPECT_FALSE(read_ipv4(short_header));
  EXPECT_FALSE(read_ipv6(Bytes(39, 0x60)));
  Bytes too_long = ipv6(kProtocolUdp, Bytes(8));
  too_long.pop_back();
  EXPECT_FALSE(read_ipv6(too_long));
  EXPECT_FALSE(read_ipv6(ipv6(kProtocolRouting, Bytes(7))));
  EXPECT_FALSE(read_ipv6(ipv6(kProtocolRouting, {17, 1, 0, 0, 0, 0, 0, 0})));
}

}  // namespace
}  // namespace natxy
