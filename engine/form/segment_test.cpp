// SPDX-License-Identifier: Apache-2.0
#include "form/segment.hpp"

#include <gtest/gtest.h>

#include <array>

namespace natxy {
namespace {

using Header = std::array<std::uint8_t, 60>;

Header header_of(const Segment& segment, const Layout& layout = kTcpIpv4) {
  Header header{};
  fill_segment(segment, layout, header.data());
  return header;
}

TEST(Segment, HasTheNumbersOfItsSide) {
  const Header syn = header_of({.of_initiator = true, .flags = kTcpSyn});
  const Header syn_ack = header_of({.of_initiator = false, .flags = kTcpSyn | kTcpAck, .acknowledged = 1});
  const Header ack = header_of({.of_initiator = true, .flags = kTcpAck, .sequence = 1, .acknowledged = 1});
  EXPECT_EQ(load_be32(&syn[8]), 0U);
  EXPECT_EQ(load_be32(&syn_ack[8]), load_be32(&syn[4]) + 1);
  EXPECT_EQ(load_be32(&ack[4]), load_be32(&syn_ack[8]));
  EXPECT_EQ(load_be32(&ack[8]), load_be32(&syn_ack[4]) + 1);
  EXPECT_EQ(syn[13], 0x02);
  EXPECT_EQ(syn_ack[13], 0x12);
  EXPECT_EQ(ack[13], 0x10);
  EXPECT_EQ(load_be16(&ack[14]), 0xFFFF);
  EXPECT_EQ(ack[12], 0x50);  // five words of four bytes, without options
  for (const unsigned at : {0U, 1U, 2U, 3U, 16U, 17U, 18U, 19U, 20U}) EXPECT_EQ(ack.at(at), 0);
}

TEST(Segment, HasTheSignatureInAnOptionWhereItHasNoData) {
  const Layout layout = kTcpOptionIpv6;
  EXPECT_EQ(layout.tcp_header_bytes(), 48U);
  EXPECT_EQ(layout.signature() + kSignatureBytes, layout.transport() + layout.tcp_header_bytes());
  const Header syn = header_of({.flags = kTcpSyn}, layout);
  EXPECT_EQ(syn[12], 0xC0);
  EXPECT_EQ(load_be32(&syn[20]), 0x0204'04C4U);  // segments of up to 1220 bytes
  const Header ack = header_of({.flags = kTcpAck}, layout);
  EXPECT_EQ(load_be32(&ack[20]), 0x0101'0101U);
  for (const Header& header : {syn, ack}) {
    EXPECT_EQ(load_be16(&header[24]), 0x0101);
    EXPECT_EQ(header[26], 253);
    EXPECT_EQ(header[27], 22);
    EXPECT_EQ(load_be16(&header[28]), kExperimentId);
  }
}

}  // namespace
}  // namespace natxy
