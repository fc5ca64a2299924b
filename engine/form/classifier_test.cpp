// SPDX-License-Identifier: Apache-2.0
#include "form/classifier.hpp"

#include <gtest/gtest.h>

#include <random>

#include "form/frame_writer.hpp"
#include "form/test_frames.hpp"
#include "packet/neighbor_messages.hpp"

namespace natxy {
namespace {

template <Family F>
std::vector<std::uint8_t> test_frame(std::size_t size = 128) {
  FrameSettings settings;
  settings.size = size;
  const FrameWriter<layout_of(Form::udp, F)> frame(Form::udp, settings);
  std::vector<std::uint8_t> bytes(frame.length());
  std::uint8_t* const at = bytes.data();
  TupleLanes<F> tuples;
  tuples.set(0, {1, 2, 3, 4});
  frame.write({&at, 1}, tuples, Series{5, 1}, 6);
  return bytes;
}

TEST(Classifier, AnyFlippedBitBehindTheLinkHeaderIsNoticed) {
  for (const auto& intact : {test_frame<Family::ipv4>(), test_frame<Family::ipv6>()}) {
    const bool v6 = intact[12] == 0x86;
    for (std::size_t bit = kEthernetBytes * 8; bit < intact.size() * 8; ++bit) {
      // No checksum covers IPv6's traffic class, flow label and hop limit, because routers may change them.
      const std::size_t byte = bit / 8 - kEthernetBytes;
      if (v6 && ((byte == 0 && bit % 8 < 4) || (byte >= 1 && byte <= 3) || byte == 7)) continue;
      auto frame = intact;
      frame[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      EXPECT_NE(classify(frame).kind, FrameKind::test) << "bit " << bit;
    }
  }
}

TEST(Classifier, APacketInASoftwireIsThatWithin) {
  const Bytes up = plain_frame({Form::softwire_from_edge, Family::ipv4}, 128);
  const Classified judged = classify(up);
  EXPECT_EQ(judged.kind, FrameKind::test);
  EXPECT_EQ(judged.family, Family::ipv4);
  EXPECT_EQ(judged.outer, &up[kEthernetBytes]);
  EXPECT_EQ(judged.datagram.ip, &up[kEthernetBytes + kIpv6Bytes]);
  EXPECT_EQ(judged.between, 0U);
  // Linux's encapsulation limit is an option of 8 bytes (RFC 2473 §5.1).
  Bytes limited = up;
  const Bytes option = {kProtocolIpv4, 0, 4, 1, 4, 1, 0, 0};
  limited.insert(limited.begin() + kEthernetBytes + kIpv6Bytes, option.begin(), option.end());
  limited[kEthernetBytes + 6] = kProtocolDestinationOptions;
  store_be16(&limited[kEthernetBytes + 4], static_cast<std::uint16_t>(load_be16(&up[kEthernetBytes + 4]) + 8));
  EXPECT_EQ(classify(limited).kind, FrameKind::test);
  EXPECT_EQ(classify(limited).between, 8U);
  Bytes spoiled = up;
  spoiled.back() ^= 1;
  EXPECT_EQ(classify(spoiled).kind, FrameKind::corrupt_test);
  Bytes unsummed = up;
  store_be16(&unsummed[kEthernetBytes + kIpv6Bytes + kIpv4Bytes + 6], 0);
  EXPECT_EQ(classify(unsummed).kind, FrameKind::test);
  EXPECT_TRUE(classify(unsummed).lacks_checksum());
  EXPECT_FALSE(judged.lacks_checksum());
  Bytes fragment = up;
  store_be16(&fragment[kEthernetBytes + kIpv6Bytes + 6], 0x2000);
  EXPECT_EQ(classify(fragment).kind, FrameKind::ipv4_fragment);
  Bytes other = up;
  other[kEthernetBytes + kIpv6Bytes + 9] = kProtocolTcp;
  EXPECT_EQ(classify(other).kind, FrameKind::in_softwire);
}

TEST(Classifier, APaddedFrameIsJudgedByItsIpLength) {
  auto frame = test_frame<Family::ipv4>(64);
  frame.resize(100, 0x55);
  EXPECT_EQ(classify(frame).kind, FrameKind::test);
}

TEST(Classifier, AMissingUdpChecksumIsFineInIpv4AndCorruptInIpv6) {
  auto ipv4 = test_frame<Family::ipv4>();
  store_be16(ipv4.data() + kEthernetBytes + kIpv4Bytes + 6, 0);
  EXPECT_EQ(classify(ipv4).kind, FrameKind::test);
  auto ipv6 = test_frame<Family::ipv6>();
  store_be16(ipv6.data() + kEthernetBytes + kIpv6Bytes + 6, 0);
  EXPECT_EQ(classify(ipv6).kind, FrameKind::corrupt_test);
}

TEST(Classifier, ATruncatedFrameIsMalformedAtAnyLength) {
  for (const auto& whole : {test_frame<Family::ipv4>(), test_frame<Family::ipv6>()}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_EQ(classify({whole.data(), length}).kind, FrameKind::malformed) << length;
    }
  }
}

TEST(Classifier, RandomBytesAreNeverTestFrames) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    std::vector<std::uint8_t> frame(random() % 160);
    for (auto& byte : frame) byte = static_cast<std::uint8_t>(random());
    if (frame.size() > 14) store_be16(frame.data() + 12, random() % 2 == 0 ? kEtherTypeIpv4 : kEtherTypeIpv6);
    ASSERT_NE(classify(frame).kind, FrameKind::test);
  }
}

TEST(Classifier, KindsOfForeignFrames) {
  const auto v4 = *parse_address("198.18.0.1");
  const auto v6 = *parse_address("2001:2::1");
  EXPECT_EQ(classify(make_neighbor_request(v4, {}, v4)).kind, FrameKind::arp);
  EXPECT_EQ(classify(make_neighbor_request(v6, {}, v6)).kind, FrameKind::neighbor_solicitation);
  EXPECT_EQ(classify(make_neighbor_answer({true, v6, {}, v6}, {})).kind, FrameKind::neighbor_advertisement);

  auto frame = test_frame<Family::ipv4>();
  std::uint8_t* ip = frame.data() + kEthernetBytes;
  std::uint8_t* payload = ip + kIpv4Bytes;
  const auto kind_of_icmp = [&](std::uint8_t type, std::uint8_t code) {
    ip[9] = kProtocolIcmp;
    payload[0] = type;
    payload[1] = code;
    return classify(frame).kind;
  };
  EXPECT_EQ(kind_of_icmp(3, 1), FrameKind::icmp_unreachable);
  EXPECT_EQ(kind_of_icmp(3, 4), FrameKind::icmp_fragmentation_needed);
  EXPECT_EQ(kind_of_icmp(11, 0), FrameKind::icmp_time_exceeded);
  EXPECT_EQ(kind_of_icmp(8, 0), FrameKind::icmp_echo);
  EXPECT_EQ(kind_of_icmp(5, 0), FrameKind::icmp_other);
  ip[9] = kProtocolTcp;
  EXPECT_EQ(classify(frame).kind, FrameKind::tcp);
  ip[9] = 89;
  EXPECT_EQ(classify(frame).kind, FrameKind::other_ipv4);
  store_be16(ip + 6, 0x2000);
  EXPECT_EQ(classify(frame).kind, FrameKind::ipv4_fragment);
  store_be16(frame.data() + 12, kEtherTypeLldp);
  EXPECT_EQ(classify(frame).kind, FrameKind::lldp);
  store_be16(frame.data() + 12, 0x8100);
  EXPECT_EQ(classify(frame).kind, FrameKind::other_ethertype);
}

TEST(Classifier, EveryKindHasItsName) {
  for (std::size_t kind = 0; kind < kFrameKinds; ++kind) EXPECT_FALSE(name_of(static_cast<FrameKind>(kind)).empty());
  EXPECT_EQ(name_of(FrameKind::malformed), "malformed");
  EXPECT_EQ(name_of(FrameKind::ipv6_fragment), "ipv6_fragment");
}

}  // namespace
}  // namespace natxy
