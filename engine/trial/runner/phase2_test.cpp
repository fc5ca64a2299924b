// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

/// Counts how often each pair of source and destination port leaves each side.
class PhaseTwo : public testing::TestWithParam<Family> {
 protected:
  using Ports = std::pair<std::uint16_t, std::uint16_t>;

  PhaseTwo() {
    bed.treat = [this](Side from, Bytes frame) {
      const std::uint8_t* udp = frame.data() + kEthernetBytes + ip_bytes(GetParam());
      ++sent[from][{load_be16(udp), load_be16(udp + 2)}];
      return 1;
    };
  }

  RingBed bed;
  std::map<Side, std::map<Ports, int>> sent;
};
INSTANTIATE_TEST_SUITE_P(BothFamilies, PhaseTwo, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& family) { return family.param == Family::ipv4 ? "IPv4" : "IPv6"; });

TEST_P(PhaseTwo, MayUseOnlyTheFirstConnections) {
  ASSERT_EQ(bed.run(phase1(GetParam(), 2000)).verdict, Verdict::pass);
  const auto established = sent[Side::left];
  EXPECT_EQ(established.size(), 2000U);
  sent.clear();
  StreamSpec forward = phase2("forward", Side::left, StreamKind::connections, GetParam(), 600);
  forward.active_connections = 200;
  StreamSpec reverse = phase2("reverse", Side::right, StreamKind::replies, GetParam(), 600);
  reverse.active_connections = 1;
  const auto report = bed.run(trial({forward, reverse}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  ASSERT_EQ(sent[Side::left].size(), 200U);
  for (const auto& [ports, count] : sent[Side::left]) {
    EXPECT_EQ(count, 3);
    EXPECT_TRUE(established.contains(ports));
  }
  ASSERT_EQ(sent[Side::right].size(), 1U);
  const auto& [ports, count] = *sent[Side::right].begin();
  EXPECT_EQ(count, 600);
  EXPECT_TRUE(sent[Side::left].contains({ports.second, ports.first}));
}

TEST_P(PhaseTwo, HasNoMoreConnectionsThanPhaseOneMade) {
  ASSERT_EQ(bed.run(phase1(GetParam(), 100)).verdict, Verdict::pass);
  StreamSpec reverse = phase2("reverse", Side::right, StreamKind::replies, GetParam(), 10);
  reverse.active_connections = 100;
  EXPECT_EQ(bed.run(trial({reverse})).verdict, Verdict::pass);
  reverse.active_connections = 101;
  EXPECT_THROW(bed.run(trial({reverse})), TrialError);
}

}  // namespace
}  // namespace natxy
