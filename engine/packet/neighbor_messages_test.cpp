// SPDX-License-Identifier: Apache-2.0
#include "packet/neighbor_messages.hpp"

#include <gtest/gtest.h>

#include "packet/bytes.hpp"

namespace natxy {
namespace {

constexpr MacAddress kAsker = {2, 0, 0, 0, 0, 1};
constexpr MacAddress kAnswerer = {2, 0, 0, 0, 0, 2};

class NeighborMessages : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(NeighborMessages, RequestsAndAnswersAreParsed) {
  const auto sender = *parse_address(GetParam().first);
  const auto target = *parse_address(GetParam().second);
  const auto question = parse_neighbor_message(make_neighbor_request(sender, kAsker, target));
  ASSERT_TRUE(question);
  EXPECT_TRUE(question->is_request);
  EXPECT_EQ(question->sender, sender);
  EXPECT_EQ(question->sender_mac, kAsker);
  EXPECT_EQ(question->target, target);

  const auto answer = parse_neighbor_message(make_neighbor_answer(*question, kAnswerer));
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->is_request);
  EXPECT_EQ(answer->target, target);
  EXPECT_EQ(answer->sender_mac, kAnswerer);
}

INSTANTIATE_TEST_SUITE_P(BothFamilies, NeighborMessages,
                         testing::Values(std::pair{"198.18.0.2", "198.18.0.1"}, std::pair{"2001:2::2", "2001:2::1"}));

TEST(UntrustedNeighborMessages, AnyTruncationIsRefusedOrHarmless) {
  const auto v6 = *parse_address("2001:2::1");
  const auto v4 = *parse_address("198.18.0.1");
  for (const auto& whole : {make_neighbor_request(v6, kAsker, v6), make_neighbor_request(v4, kAsker, v4)}) {
    for (std::size_t length = 0; length < 42 && length < whole.size(); ++length) {
      EXPECT_FALSE(parse_neighbor_message({whole.data(), length})) << length;
    }
  }
}

TEST(UntrustedNeighborMessages, ANeighborSolicitationThatPassedARouterIsRefused) {
  const auto v6 = *parse_address("2001:2::1");
  auto frame = make_neighbor_request(v6, kAsker, v6);
  frame[kEthernetBytes + 7] = 254;  // a hop limit below 255 has passed a router (RFC 4861 §7.1.1)
  EXPECT_FALSE(parse_neighbor_message(frame));
}

TEST(UntrustedNeighborMessages, AnOptionOfLengthZeroEndsTheOptions) {
  const auto v6 = *parse_address("2001:2::1");
  auto frame = make_neighbor_request(v6, kAsker, v6);
  frame[kEthernetBytes + kIpv6Bytes + 25] = 0;
  EXPECT_TRUE(parse_neighbor_message(frame));
}

}  // namespace
}  // namespace natxy
