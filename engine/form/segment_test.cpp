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
  for (const unsigned at : {0U, 1U, 2U, 3U, 16U, 17U, 18U, 19U}) EXPECT_EQ(bytes[at], 0);
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

TEST(Segment, EachSideMayCloseFirst) {
  struct Closing {
    Segment first;
    Segment second;
    Segment last;
  };
  for (const Closing& each :
       {Closing{Segment::initiator_fin, Segment::responder_fin_ack, Segment::initiator_last_ack},
        Closing{Segment::responder_fin, Segment::initiator_fin_ack, Segment::responder_last_ack}}) {
    constexpr std::uint32_t kData = 18;
    const bool of_initiator = fields_of(each.first).of_initiator;
    const Header before = header_of(of_initiator ? Segment::ack : Segment::answer, kData);
    const Header other = header_of(of_initiator ? Segment::answer : Segment::ack, kData);
    const Header first = header_of(each.first, kData);
    const Header second = header_of(each.second, kData);
    const Header last = header_of(each.last, kData);
    EXPECT_EQ(first.flags, 0x11);
    EXPECT_EQ(first.sequence, before.sequence + kData);
    EXPECT_EQ(first.acknowledged, other.sequence + kData);
    EXPECT_EQ(second.flags, 0x11);
    EXPECT_EQ(second.sequence, first.acknowledged);
    EXPECT_EQ(second.acknowledged, first.sequence + kData + 1);
    EXPECT_EQ(last.flags, 0x10);
    EXPECT_EQ(last.sequence + kData, second.acknowledged - 1);  // repeats what is acknowledged, before the FIN
    EXPECT_EQ(last.acknowledged, second.sequence + kData + 1);
    EXPECT_NE(fields_of(each.second).of_initiator, of_initiator);
    EXPECT_EQ(fields_of(each.last).of_initiator, of_initiator);
  }
}

TEST(Segment, TheInitiatorAcknowledgesAnAnswer) {
  const Header acknowledges = header_of(Segment::initiator_ack, 18);
  EXPECT_EQ(acknowledges.flags, 0x10);
  EXPECT_EQ(acknowledges.sequence, header_of(Segment::ack, 18).sequence);
  EXPECT_EQ(acknowledges.acknowledged, header_of(Segment::answer, 18).sequence + 18);
}

TEST(Segment, TheInitiatorResetsBehindWhatItHasSent) {
  const Header reset = header_of(Segment::reset, 18);
  EXPECT_EQ(reset.flags, 0x14);
  EXPECT_EQ(reset.sequence, header_of(Segment::ack, 18).sequence + 18);
  EXPECT_EQ(reset.acknowledged, header_of(Segment::answer, 18).sequence + 18);
}

TEST(Segment, TheInitiatorSendsTheFirstAndTheLastOfAHandshake) {
  EXPECT_TRUE(fields_of(Segment::syn).of_initiator);
  EXPECT_FALSE(fields_of(Segment::syn_ack).of_initiator);
  EXPECT_TRUE(fields_of(Segment::ack).of_initiator);
  EXPECT_FALSE(fields_of(Segment::answer).of_initiator);
}

}  // namespace
}  // namespace natxy
