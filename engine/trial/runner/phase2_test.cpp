// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "packet/bytes.hpp"
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

TEST_P(PhaseTwo, TellsWhichFlowsLoseFrames) {
  const auto drops_high_ports = [](Side, Bytes frame) {
    const std::uint8_t* udp = frame.data() + kEthernetBytes + ip_bytes(GetParam());
    return std::max(load_be16(udp), load_be16(udp + 2)) < 10050 ? 1 : 0;
  };
  const auto ports_of = [](const StreamReport& stream) {
    return std::ranges::find(stream.lost_flows->fields, FlowField::source_port, &FieldLosses::field);
  };
  const auto complete = bed.run(phase1(GetParam(), 2000));
  EXPECT_FALSE(complete.streams[0].lost_flows);
  bed.treat = drops_high_ports;
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 2000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 2000)}));
  EXPECT_EQ(report.verdict, Verdict::fail);
  std::vector<std::vector<std::uint64_t>> marks;
  for (const StreamReport& stream : report.streams) {
    ASSERT_TRUE(stream.lost_flows) << report.reason;
    const auto ports = ports_of(stream);
    ASSERT_NE(ports, stream.lost_flows->fields.end());
    // The flows are those of the initiator in both directions.
    EXPECT_TRUE(ports->lost_lowest == 10050 && ports->lost_highest == 10099);
    EXPECT_EQ(std::accumulate(ports->lost.begin(), ports->lost.end(), std::uint64_t{0}), 2000 - stream.received);
    EXPECT_EQ(std::accumulate(ports->sent.begin(), ports->sent.end(), std::uint64_t{0}), 2000);
    marks.push_back(stream.lost_flows->marks.value());
  }
  EXPECT_EQ(marks.front(), marks.back());
}

TEST_P(PhaseTwo, TellsWhichConnectionsWereNotMade) {
  bed.treat = [](Side, Bytes frame) {
    return load_be16(frame.data() + kEthernetBytes + ip_bytes(GetParam())) % 2 == 0 ? 1 : 0;
  };
  const auto first = bed.run(phase1(GetParam(), 2000));
  const auto second = bed.run(phase1(GetParam(), 2000));
  ASSERT_TRUE(first.streams[0].lost_flows && second.streams[0].lost_flows);
  EXPECT_EQ(first.streams[0].lost_flows->marks, second.streams[0].lost_flows->marks);
}

/// Returns a phase 1 of 2000 frames whose tuples are drawn from only 100.
TrialSpec repeating_phase1(Family family) {
  TrialSpec spec = phase1(family, 2000);
  spec.streams[0].selection = Selection::random;
  spec.streams[0].flows = flows(family, 10, 10);
  return spec;
}

TEST_P(PhaseTwo, UsesTheFourTuplesThatPhaseOneDrew) {
  const auto established = bed.run(repeating_phase1(GetParam()));
  EXPECT_EQ(established.verdict, Verdict::pass) << established.reason;
  EXPECT_EQ(established.established, 2000U);
  const auto drawn = sent[Side::left];
  EXPECT_EQ(drawn.size(), 100U);
  sent.clear();
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 2000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 2000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(sent[Side::left], drawn);
  for (const auto& [ports, count] : sent[Side::right]) {
    EXPECT_EQ(count, drawn.at({ports.second, ports.first}));
  }
}

TEST_P(PhaseTwo, MisroutesWhatArrivesForAnotherDraw) {
  ASSERT_EQ(bed.run(repeating_phase1(GetParam())).verdict, Verdict::pass);
  bed.treat = [](Side from, Bytes frame) {
    std::uint8_t* udp = frame.data() + kEthernetBytes + ip_bytes(GetParam());
    std::uint8_t* port = from == Side::left ? udp : udp + 2;
    // The checksum stays right, because it is a sum of 16-bit words.
    const std::uint16_t before = load_be16(port);
    store_be16(port, static_cast<std::uint16_t>(before + 100));
    const std::uint32_t sum = std::uint32_t{load_be16(udp + 6)} + 0xFFFFU - 100;
    store_be16(udp + 6, static_cast<std::uint16_t>((sum & 0xFFFF) + (sum >> 16)));
    return 1;
  };
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 500),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 500)}));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.streams[0].misrouted, 500U);
  EXPECT_EQ(report.streams[1].misrouted, 500U);
}

TEST_P(PhaseTwo, AnswersConnectionsOfSeveralPrefixes) {
  const bool v4 = GetParam() == Family::ipv4;
  TrialSpec first = phase1(GetParam(), 3000);
  FlowFields& made = *first.streams[0].flows;
  made.source_address.others = {parse_address(v4 ? "10.0.0.2" : "fd00::2")->value};
  made.destination_address.others = {parse_address(v4 ? "203.0.113.3" : "2001:db8::3")->value};
  ASSERT_EQ(bed.run(first).verdict, Verdict::pass);
  // The initiator accepts a reply to exactly what it sent.
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 3000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 3000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.streams[0].misrouted + report.streams[1].misrouted, 0U);
}

TEST_P(PhaseTwo, UsesTheConnectionsThatExistIfPhaseOneMayLoseSome) {
  std::set<Ports> lost;
  bed.treat = [&, count = 0](Side, Bytes frame) mutable {
    ++count;
    if (count != 1 && count != 500 && count != 501) return 1;
    const std::uint8_t* udp = frame.data() + kEthernetBytes + ip_bytes(GetParam());
    lost.insert({load_be16(udp), load_be16(udp + 2)});
    return 0;
  };
  TrialSpec first = phase1(GetParam(), 1000);
  first.streams[0].max_loss_ratio = 0.0035;
  const auto established = bed.run(first);
  EXPECT_EQ(established.verdict, Verdict::pass) << established.reason;
  EXPECT_EQ(established.established, 997U);
  ASSERT_EQ(lost.size(), 3U);
  bed.treat = [this](Side from, Bytes frame) {
    const std::uint8_t* udp = frame.data() + kEthernetBytes + ip_bytes(GetParam());
    ++sent[from][{load_be16(udp), load_be16(udp + 2)}];
    return 1;
  };
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 2000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 2000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.streams[0].misrouted + report.streams[1].misrouted, 0U);
  EXPECT_EQ(sent[Side::left].size(), 997U);
  EXPECT_EQ(sent[Side::right].size(), 997U);
  for (const auto& [ports, count] : sent[Side::left]) EXPECT_FALSE(lost.contains(ports));
}

TEST_P(PhaseTwo, NeedsAPhaseOneThatLostNoMoreThanItMay) {
  bed.treat = [count = 0](Side, Bytes) mutable { return ++count <= 3 ? 0 : 1; };
  TrialSpec first = phase1(GetParam(), 1000);
  first.streams[0].max_loss_ratio = 0.0025;
  ASSERT_EQ(bed.run(first).verdict, Verdict::fail);
  EXPECT_THROW(bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 10)})), TrialError);
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
