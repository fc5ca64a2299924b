// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "trial/runner/ring_bed.hpp"

// Trials whose ports have workers of their own for sending and for receiving.
namespace natxy {
namespace {

/// Each of the four workers has one task.
const std::array<RingBed::OwnWorkers, 2> kFour = {{{{0}, {1}}, {{2}, {3}}}};
/// The first worker sends on both ports, and the second receives on both.
const std::array<RingBed::OwnWorkers, 2> kTwo = {{{{0}, {1}}, {{0}, {1}}}};

class OwnCores : public testing::TestWithParam<Family> {
 protected:
  static TrialSpec both_ways(std::uint64_t frames) {
    return trial(
        {stream("forward", Side::left, GetParam(), frames), stream("reverse", Side::right, GetParam(), frames)});
  }
};
INSTANTIATE_TEST_SUITE_P(BothFamilies, OwnCores, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& family) { return family.param == Family::ipv4 ? "IPv4" : "IPv6"; });

TEST_P(OwnCores, BothDirectionsArriveWhole) {
  for (const auto& [workers, own] : {std::pair{4U, kFour}, std::pair{2U, kTwo}}) {
    RingBed bed(1, workers, Medium::loop, own);
    const auto report = bed.run(both_ways(3000));
    EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
    for (const StreamReport& found : report.streams) {
      EXPECT_EQ(found.sent, 3000U);
      EXPECT_EQ(found.received, 3000U);
      EXPECT_EQ(found.pacing.lateness.count(), 3000U);
    }
  }
}

TEST_P(OwnCores, NeighborsAreAnsweredOnEveryQueue) {
  const bool v4 = GetParam() == Family::ipv4;
  const auto gateway = *parse_address(v4 ? "198.18.0.1" : "2001:2::1");
  const auto tester = *parse_address(v4 ? "198.18.0.2" : "2001:2::2");
  RingBed bed(2, 4, Medium::loop, kFour);
  for (const Side side : {Side::left, Side::right}) {
    for (const std::size_t queue : {0U, 1U}) {
      bed.inject(side, make_neighbor_request(gateway, kGatewayMac, tester), queue);
    }
  }
  const auto report = bed.run(both_ways(2000));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(bed.neighbor_answers.size(), 4U);
}

TEST_P(OwnCores, ReceiversThatShareAPortFindDuplicatesTogether) {
  RingBed bed(2, 4, Medium::loop, {{{{0}, {1}}, {{0}, {2, 3}}}});
  int count = 0;
  // A copy comes on the other queue, and so to the other receiver.
  bed.treat = [&](Side, Bytes) { return ++count == 100 ? 2 : 1; };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 1000)}));
  EXPECT_EQ(report.streams[0].received, 1000U);
  EXPECT_EQ(report.streams[0].duplicate, 1U);
  EXPECT_EQ(report.ports[0].received_by_queue, (std::vector<std::uint64_t>{0, 0}));
  std::vector<std::uint64_t> by_queue = report.ports[1].received_by_queue;
  std::ranges::sort(by_queue);
  EXPECT_EQ(by_queue, (std::vector<std::uint64_t>{500, 501}));
  StreamSpec pairs = stream("forward", Side::left, GetParam(), 100);
  pairs.ipdv = true;
  EXPECT_THROW(bed.run(trial({pairs})), TrialError);
  pairs.source = Side::right;
  EXPECT_NO_THROW(bed.run(trial({pairs})));
}

TEST_P(OwnCores, RepliesFollowTheStateTableThatOtherCoresFilled) {
  RingBed bed(1, 4, Medium::loop, kFour);
  ASSERT_EQ(bed.run(phase1(GetParam(), 5000)).established, 5000U);
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 5000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 5000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.streams[0].misrouted + report.streams[1].misrouted, 0U);
}

}  // namespace
}  // namespace natxy
