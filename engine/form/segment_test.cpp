// SPDX-License-Identifier: Apache-2.0
#include "form/segment.hpp"

#include <gtest/gtest.h>

namespace natxy {
namespace {

struct Header {
  std::uint32_t sequence;
  std::uint32_t acknowledged;
  std::uint8_t flags;
};

Header header_of(Segment segment, std::size_t data) {
  std::array<std::uint8_t, kTcpBytes> bytes{};
  fill_segment(segment, data, bytes.data());
  EXPECT_EQ(bytes[12], 0x50);  // five words of four bytes, without options
  EXPECT_EQ(load_be16(&bytes[14]), 0xFFFF);
  for (const std::size_t at : {0, 1, 2, 3, 16, 17, 18, 19}) EXPECT_EQ(bytes[at], 0);
  return {load_be32(&bytes[4]), load_be32(&bytes[8]), bytes[13]};
}

TEST(Segment, EachAcknowledgesWhatTheOtherSideHasSent) {
  for (const std::uint32_t data : {18U, 1460U}) {
    const Header syn = header_of(Segment::syn, data);
    const Header syn_ack = header_of(Segment::syn_ack, data);
    const Header ack = header_of(Segment::ack, data);
    const Header answer = header_of(Segment::answer, data);
    EXPECT_EQ(syn.flags, 0x02);
    EXPECT_EQ(syn.acknowledged, 0U);
    EXPECT_EQ(syn_ack.flags, 0x12);
    EXPECT_EQ(syn_ack.acknowledged, syn.sequence + 1 + data);
    EXPECT_EQ(ack.flags, 0x18);
    EXPECT_EQ(ack.sequence, syn_ack.acknowledged);
    EXPECT_EQ(ack.acknowledged, syn_ack.sequence + 1 + data);
    EXPECT_EQ(answer.flags, 0x18);
    EXPECT_EQ(answer.sequence, ack.acknowledged);
    EXPECT_EQ(answer.acknowledged, ack.sequence + data);
  }
}

TEST(Segment, TheInitiatorSendsTheFirstAndTheLastOfAHandshake) {
  EXPECT_TRUE(is_of_initiator(Segment::syn));
  EXPECT_FALSE(is_of_initiator(Segment::syn_ack));
  EXPECT_TRUE(is_of_initiator(Segment::ack));
  EXPECT_FALSE(is_of_initiator(Segment::answer));
}

}  // namespace
}  // namespace natxy
