// SPDX-License-Identifier: Apache-2.0
#include "measure/lost_flows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace natxy {
namespace {

template <class T>
class LostFlowsOf : public testing::Test {};

template <Family F>
struct Of {
  static constexpr Family family = F;
};
using Families = testing::Types<Of<Family::ipv4>, Of<Family::ipv6>>;
TYPED_TEST_SUITE(LostFlowsOf, Families);

/// Returns a frame of each source port, from two hosts to one destination.
template <Family F>
std::vector<SentFrame<F>> frames(unsigned lowest, unsigned highest) {
  std::vector<SentFrame<F>> frames;
  for (unsigned port = lowest; port <= highest; ++port) {
    frames.push_back({{static_cast<Address<F>>(5 + port % 2), 9, static_cast<std::uint16_t>(port), 53}, 64});
  }
  return frames;
}

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TYPED_TEST(LostFlowsOf, SpreadsFramesOverTheValuesOfTheFieldsThatVary) {
  constexpr Family kFamily = TypeParam::family;
  const auto sent = frames<kFamily>(1024, 65535), lost = frames<kFamily>(33280, 65535);
  const LostFlows flows = lost_flows<kFamily>(sent, lost, true);
  EXPECT_EQ(flows.family, kFamily);
  ASSERT_EQ(flows.fields.size(), 2);
  const auto& [hosts, ports] = std::tie(flows.fields[0], flows.fields[1]);
  EXPECT_EQ(hosts.field, FlowField::source_address);
  EXPECT_TRUE(hosts.lowest == 5 && hosts.highest == 6);
  EXPECT_EQ(hosts.sent, (std::vector<std::uint64_t>{32256, 32256}));
  EXPECT_EQ(hosts.lost, (std::vector<std::uint64_t>{16128, 16128}));
  EXPECT_EQ(ports.field, FlowField::source_port);
  EXPECT_TRUE(ports.lowest == 1024 && ports.highest == 65535);
  EXPECT_TRUE(ports.lost_lowest == 33280 && ports.lost_highest == 65535);
  EXPECT_EQ(ports.sent, std::vector<std::uint64_t>(FieldLosses::kParts, 1008));
  EXPECT_TRUE(std::all_of(ports.lost.begin(), ports.lost.begin() + 32, [](auto count) { return count == 0; }));
  EXPECT_TRUE(std::all_of(ports.lost.begin() + 32, ports.lost.end(), [](auto count) { return count == 1008; }));
}

TYPED_TEST(LostFlowsOf, CountsLostFramesThatWereNotAmongThoseLookedAt) {
  constexpr Family kFamily = TypeParam::family;
  const auto sent = frames<kFamily>(2000, 2010), lost = frames<kFamily>(1990, 2015);
  const LostFlows flows = lost_flows<kFamily>(sent, lost, true);
  const FieldLosses& ports = flows.fields.back();
  EXPECT_TRUE(ports.lowest == 1990 && ports.highest == 2015);
  EXPECT_EQ(sum(ports.sent), 11);
  EXPECT_EQ(sum(ports.lost), 26);
}

TYPED_TEST(LostFlowsOf, TellsTheSizesOfLostFrames) {
  constexpr Family kFamily = TypeParam::family;
  std::vector<SentFrame<kFamily>> sent(30, {{1, 2, 3, 4}, 64});
  for (std::size_t i = 0; i < sent.size(); i += 3) sent[i].size = 1518;
  const LostFlows flows = lost_flows<kFamily>(sent, std::vector(7, sent[0]), true);
  ASSERT_EQ(flows.fields.size(), 1);
  EXPECT_EQ(flows.fields[0].field, FlowField::frame_size);
  EXPECT_TRUE(flows.fields[0].lowest == 64 && flows.fields[0].highest == 1518);
  EXPECT_TRUE(flows.fields[0].lost_lowest == 1518 && flows.fields[0].lost_highest == 1518);
  EXPECT_EQ(flows.fields[0].sent.back(), 10);
  EXPECT_EQ(flows.fields[0].lost.back(), 7);
}

TYPED_TEST(LostFlowsOf, MarksTheSameFlowsInTheSameWay) {
  constexpr Family kFamily = TypeParam::family;
  const auto sent = frames<kFamily>(1, 5000);
  auto lost = frames<kFamily>(1, 1000);
  const auto marks = *lost_flows<kFamily>(sent, lost, true).marks;
  EXPECT_EQ(marks.size(), LostFlows::kMarks);
  EXPECT_TRUE(std::ranges::is_sorted(marks));
  // In another order, and each twice.
  std::ranges::reverse(lost);
  lost.insert(lost.end(), lost.begin(), lost.end());
  EXPECT_EQ(lost_flows<kFamily>(sent, lost, true).marks, marks);
  const auto others = *lost_flows<kFamily>(sent, frames<kFamily>(1001, 2000), true).marks;
  std::vector<std::uint64_t> common;
  std::ranges::set_intersection(marks, others, std::back_inserter(common));
  EXPECT_TRUE(common.empty());
  EXPECT_EQ(lost_flows<kFamily>(sent, lost, false).marks, std::nullopt);
}

TYPED_TEST(LostFlowsOf, HasAMarkForEachOfFewFlows) {
  constexpr Family kFamily = TypeParam::family;
  const std::vector<SentFrame<kFamily>> sent(10, {{1, 2, 3, 4}, 64});
  const LostFlows flows = lost_flows<kFamily>(sent, sent, true);
  EXPECT_TRUE(flows.fields.empty());
  EXPECT_EQ(flows.marks->size(), 1);
  EXPECT_LT(flows.marks->front(), std::uint64_t{1} << 53);
}

}  // namespace
}  // namespace natxy
