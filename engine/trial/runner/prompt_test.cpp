// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "packet/bytes.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

// By so much later does each stream use a connection.
constexpr double kStep_s = 0.4;
// A busy machine may keep a frame of a connection for longer, so that the next one comes too early.
constexpr int kTries = 8;

/// Returns a trial that makes connections and uses each in further streams of it, one after the other.
TrialSpec with_lives(TrialSpec spec, std::vector<StreamSpec> further) {
  double start_s = 0;
  for (StreamSpec& stream : further) {
    stream.order = Order::increasing;
    stream.start_s = start_s += kStep_s;
    spec.streams.push_back(stream);
  }
  return spec;
}

class Prompt : public testing::TestWithParam<Family> {
 protected:
  [[nodiscard]] static StreamSpec replies(std::uint64_t frames) {
    return phase2("reply", Side::right, StreamKind::replies, GetParam(), frames);
  }
  [[nodiscard]] static StreamSpec later(std::uint64_t frames) {
    return phase2("later", Side::left, StreamKind::connections, GetParam(), frames);
  }
  [[nodiscard]] static std::uint16_t source_port(Bytes frame) {
    return load_be16(frame.data() + kEthernetBytes + ip_bytes(GetParam()));
  }

  /// Runs a trial until no more replies are absent than the test makes absent. `before` comes before each try.
  TrialReport run(
      const TrialSpec& spec, std::uint64_t absent = 0, const std::function<void()>& before = [] {}) {
    for (int tries = 1;; ++tries) {
      before();
      const TrialReport report = bed.run(spec);
      std::uint64_t found = 0;
      for (const StreamReport& stream : report.streams) found += stream.absent;
      if (tries == kTries || (found == absent && report.verdict != Verdict::invalid)) return report;
    }
  }

  RingBed bed;
};
INSTANTIATE_TEST_SUITE_P(BothFamilies, Prompt, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& family) { return family.param == Family::ipv4 ? "IPv4" : "IPv6"; });

TEST_P(Prompt, ConnectionsAreUsedInTheTrialThatMakesThem) {
  const auto report = run(with_lives(phase1(GetParam(), 2000), {replies(2000), later(2000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.established, 2000U);
  for (const StreamReport& stream : report.streams) EXPECT_EQ(stream.received, 2000U);
  // Each trial forgets the connections of the one before, whose tuples are alike.
  bed.treat = [](Side, Bytes) { return 0; };
  const auto lost = bed.run(with_lives(phase1(GetParam(), 2000), {replies(2000)}));
  EXPECT_EQ(lost.streams[1].absent, 2000U);
  EXPECT_EQ(lost.streams[1].sent, 0U);
}

TEST_P(Prompt, RepliesToWhatHasNotArrivedAreAbsent) {
  std::set<std::uint16_t> refused;
  bed.treat = [&](Side from, Bytes frame) {
    // The first frame of each connection from an odd port is lost.
    const bool first = from == Side::left && source_port(frame) % 2 != 0 && refused.size() < 10 &&
                       refused.insert(source_port(frame)).second;
    return first ? 0 : 1;
  };
  const auto report =
      run(with_lives(phase1(GetParam(), 100), {replies(100), later(100)}), 10, [&] { refused.clear(); });
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.streams[0].received, 90U);
  EXPECT_EQ(report.streams[1].absent, 10U);
  EXPECT_EQ(report.streams[1].sent, 90U);
  EXPECT_EQ(report.streams[1].received, 90U);
  EXPECT_EQ(report.reason, "phase 1: 10 of 100 frames lost (10.0000 %); and 20 frames of other steps");
  // Nobody knows with which four-tuple the gateway sends frames of connections that have not arrived.
  EXPECT_EQ(report.streams[2].received, 90U);
  EXPECT_EQ(report.streams[2].misrouted, 10U);
}

TEST_P(Prompt, AConnectionIsUsedAsOftenAsItsStreamsAsk) {
  StreamSpec more = replies(5000);
  more.active_connections = 1000;
  const auto report = run(with_lives(phase1(GetParam(), 2000), {more}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.streams[1].received, 5000U);
}

TEST_P(Prompt, OneCoreRecordsConnectionsAndReplies) {
  RingBed several(2, 4);
  EXPECT_THROW(several.run(with_lives(phase1(GetParam(), 100), {replies(100)})), TrialError);
  EXPECT_THROW(several.run(with_lives(phase1(GetParam(), 100), {later(100)})), TrialError);
  EXPECT_EQ(several.run(phase1(GetParam(), 100)).verdict, Verdict::pass);
}

StreamSpec step(Family family, const Segment& segment) {
  StreamSpec spec = phase2("step", segment.of_initiator ? Side::left : Side::right,
                           segment.of_initiator ? StreamKind::connections : StreamKind::replies, family, 1000);
  spec.form = segment.flags == (kTcpPush | kTcpAck) ? Form::tcp : Form::tcp_option;
  spec.segment = segment;
  spec.frame_sizes = {128};
  return spec;
}

TEST_P(Prompt, TcpConnectionsAreOpenedUsedAndClosed) {
  TrialSpec spec = phase1(GetParam(), 1000);
  spec.streams[0].form = Form::tcp_option;
  spec.streams[0].frame_sizes = {128};
  std::vector<StreamSpec> further;
  for (const Segment& segment :
       {Segment{false, kTcpSyn | kTcpAck, 0, 1}, Segment{true, kTcpAck, 1, 1}, Segment{true, kTcpPush | kTcpAck, 1, 1},
        Segment{false, kTcpPush | kTcpAck, 1, 51}, Segment{true, kTcpFin | kTcpAck, 51, 51},
        Segment{false, kTcpFin | kTcpAck, 51, 52}, Segment{true, kTcpAck, 52, 52}}) {
    further.push_back(step(GetParam(), segment));
  }
  const auto report = run(with_lives(spec, further));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  for (const StreamReport& stream : report.streams) {
    EXPECT_EQ(stream.received, 1000U);
    EXPECT_EQ(stream.misrouted + stream.corrupt + stream.absent, 0U);
  }
}

}  // namespace
}  // namespace natxy
