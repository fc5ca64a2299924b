// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/trial_runner.hpp"

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "packet/bytes.hpp"
#include "packet/neighbor_messages.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

class Trials : public testing::TestWithParam<Family> {
 protected:
  RingBed bed;
};
INSTANTIATE_TEST_SUITE_P(BothFamilies, Trials, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& family) { return family.param == Family::ipv4 ? "IPv4" : "IPv6"; });

TEST_P(Trials, BothDirectionsArriveWhole) {
  const auto report = bed.run(
      trial({stream("forward", Side::left, GetParam(), 3000), stream("reverse", Side::right, GetParam(), 2000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  ASSERT_EQ(report.streams.size(), 2U);
  EXPECT_EQ(report.streams[0].received, 3000U);
  EXPECT_EQ(report.streams[1].received, 2000U);
  EXPECT_EQ(report.streams[0].delay.count(), 3000U);
  EXPECT_GT(report.streams[0].delay.min(), 0U);
}

TEST_P(Trials, ItBeginsWhenItIsAskedTo) {
  const Clock clock{rte_get_tsc_hz()};
  TrialSpec spec = trial({stream("forward", Side::left, GetParam(), 100)});
  const std::uint64_t asked = now_ticks() + clock.ticks(0.3);
  spec.begin_at_ns = clock.nanoseconds(asked);
  const auto report = bed.run(spec);
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  // Whoever is not ready in time says so.
  EXPECT_GE(report.began + clock.ticks(1e-8), asked);
  EXPECT_EQ(report.streams[0].received, 100U);
  spec.begin_at_ns = 1;
  EXPECT_GT(bed.run(spec).began, asked);
  spec.begin_at_ns = clock.nanoseconds(now_ticks() + clock.ticks(3600));
  EXPECT_THROW(bed.run(spec), TrialError);
}

TEST_P(Trials, ADuplicateDoesNotHideALoss) {
  int count = 0;
  bed.treat = [&](Side, Bytes) {
    ++count;
    return count == 10 ? 0 : count == 20 ? 2 : 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 1000)}));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.cause, Cause::loss);
  EXPECT_EQ(report.streams[0].received, 999U);
  EXPECT_EQ(report.streams[0].duplicate, 1U);
}

TEST_P(Trials, AFrameThatComesAfterItsTimeoutIsLost) {
  using Time = std::chrono::steady_clock;
  constexpr double timeout_s = 0.05;
  std::vector<std::uint8_t> held;
  Time::time_point since;
  bed.treat = [&, count = 0](Side, Bytes frame) mutable {
    if (++count != 10) return 1;
    held.assign(frame.begin(), frame.end());
    since = Time::now();
    return 0;
  };
  bed.observe = [&] {
    if (held.empty() || Time::now() - since < std::chrono::duration<double>(timeout_s)) return;
    bed.inject(Side::right, held);
    held.clear();
  };
  StreamSpec spec = stream("forward", Side::left, GetParam(), 1000);
  spec.frame_timeout_s = timeout_s;
  TrialSpec waiting = trial({spec});
  waiting.drain_s = 10;
  waiting.drain_ends_early = true;
  const auto report = bed.run(waiting);
  EXPECT_EQ(report.verdict, Verdict::fail) << report.reason;
  EXPECT_EQ(report.cause, Cause::loss);
  const StreamReport& found = report.streams[0];
  EXPECT_EQ(found.received + found.timed_out, 1000U);
  EXPECT_EQ(found.delay.count(), 1000U);
  EXPECT_FALSE(found.lost);
  EXPECT_EQ(std::reduce(found.received_per_second.begin(), found.received_per_second.end()), found.received);
  // A busy machine may delay others too: the delays tell how many, to the accuracy of their classes.
  const std::uint64_t limit = Clock{rte_get_tsc_hz()}.ticks(timeout_s);
  std::uint64_t in_time = 0;
  std::uint64_t late = 0;
  found.delay.for_each([&](std::uint64_t bound, std::uint64_t frames) {
    if (bound <= limit) in_time += frames;
    if (bound > limit + limit / 512) late += frames;
  });
  EXPECT_GE(found.received, in_time);
  EXPECT_GE(found.timed_out, std::max<std::uint64_t>(late, 1));
}

TEST_P(Trials, TaggedFramesReportTheirDelaysAndTheirLoss) {
  int count = 0;
  bed.treat = [&](Side, Bytes) { return ++count == 31 ? 0 : 1; };  // frame 30, the third tagged one
  StreamSpec spec = stream("forward", Side::left, GetParam(), 1000);
  spec.tagged = TaggedFrames{10, 10, 5};
  spec.ipdv = true;
  const auto report = bed.run(trial({spec}));
  ASSERT_EQ(report.streams[0].tagged_delays.size(), 5U);
  for (std::size_t tag = 0; tag < 5; ++tag) EXPECT_EQ(report.streams[0].tagged_delays[tag].has_value(), tag != 2);
  EXPECT_EQ(report.streams[0].ipdv.count(), 997U);
  EXPECT_EQ(report.streams[0].lost, (SequenceRange{30, 30}));
}

TEST_P(Trials, TellsInWhichBurstsFramesWereLost) {
  int count = 0;
  bed.treat = [&](Side, Bytes) { return count++ % 200 < 3 ? 0 : 1; };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 1000)}));
  std::vector<LostBurst> expected;
  for (std::uint64_t first = 0; first < 1000; first += 200) expected.push_back({first, first + 2, 3});
  EXPECT_EQ(report.streams[0].lost_bursts, expected);
  EXPECT_FALSE(report.streams[0].lost_stride);
}

TEST_P(Trials, TellsThatEveryNthFrameWasLostAtAnyRate) {
  int count = 0;
  bed.treat = [&](Side, Bytes) { return count++ % 20 == 7 ? 0 : 1; };
  EXPECT_EQ(bed.run(trial({stream("forward", Side::left, GetParam(), 1000)})).streams[0].lost_stride, 20U);
}

TEST_P(Trials, AStreamMayBeginLaterAndInBursts) {
  StreamSpec late = stream("late", Side::left, GetParam(), 640);
  late.start_s = 0.2;
  late.burst = 64;
  const auto report = bed.run(trial({stream("early", Side::right, GetParam(), 100), late}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_GT(report.duration_s, 0.2);
}

TEST_P(Trials, ASilenceIsMeasured) {
  // 20,000 frames a second: frames 1000 to 5999 are a quarter of a second.
  int count = 0;
  bed.treat = [&](Side, Bytes) {
    ++count;
    if (count == 6001) {
      // All frames may arrive here at once if tester and gateway wait for their cores.
      bed.await_reception();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return count > 1000 && count <= 6000 ? 0 : 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 8000)}));
  const Clock clock{rte_get_tsc_hz()};
  // Frames forwarded together shorten the silence; a late tester lengthens it.
  EXPECT_GT(clock.seconds(report.streams[0].silence), 0.001);
  EXPECT_EQ(report.streams[0].lost, (SequenceRange{1000, 5999}));
  EXPECT_EQ(report.streams[0].arrived, (SequenceRange{0, 7999}));
}

TEST_P(Trials, ACorruptFrameIsNotReceived) {
  int count = 0;
  bed.treat = [&](Side, Bytes frame) {
    if (++count == 5) frame.back() ^= 1;
    return 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 100)}));
  EXPECT_EQ(report.streams[0].corrupt, 1U);
  EXPECT_EQ(report.streams[0].received, 99U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_P(Trials, NumbersThatTheStreamDoesNotHaveAreMisrouted) {
  int count = 0;
  bed.treat = [&](Side, Bytes frame) {
    ++count;
    // Two words of the number change places, which leaves the checksum valid.
    auto* const number = frame.data() + frame.size() - kSignatureBytes + kSequenceOffset;
    if (count > 40 && count <= 190) std::swap_ranges(number, number + 2, number + 4);
    return 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 250)}));
  EXPECT_EQ(report.streams[0].misrouted, 150U);
  EXPECT_EQ(report.streams[0].received, 100U);
}

TEST_P(Trials, PhaseOneFillsTheStateTableAndPhaseTwoUsesIt) {
  const auto first = bed.run(phase1(GetParam(), 5000));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  EXPECT_EQ(first.established, 5000U);
  const auto second = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 7000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 7000)}));
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
  EXPECT_EQ(second.streams[0].misrouted + second.streams[1].misrouted, 0U);
}

TEST(PhaseOne, ReusesTheMemoryOfThePreviousOne) {
  RingBed bed;
  ASSERT_EQ(bed.run(phase1(Family::ipv4, 5000)).established, 5000U);
  const auto* table = bed.connections.seen.of<Family::ipv4>();
  bed.treat = [](Side, Bytes) { return 0; };
  EXPECT_EQ(bed.run(phase1(Family::ipv4, 100)).established, 0U);
  EXPECT_EQ(bed.connections.seen.of<Family::ipv4>(), table);
  EXPECT_FALSE(table->is_established(7));
  EXPECT_THROW(bed.run(trial({phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 100)})), TrialError);
}

TEST_P(Trials, PhaseTwoIsRefusedAfterAnIncompletePhaseOne) {
  int count = 0;
  bed.treat = [&](Side, Bytes) { return ++count == 3 ? 0 : 1; };
  const auto first = bed.run(phase1(GetParam(), 100));
  EXPECT_EQ(first.verdict, Verdict::fail);
  EXPECT_EQ(first.established, 99U);
  EXPECT_THROW(bed.run(trial({phase2("reverse", Side::right, StreamKind::replies, GetParam(), 100)})), TrialError);
}

TEST_P(Trials, PhaseOneNeedsAsManyTuplesAsConnections) {
  EXPECT_THROW(bed.run(phase1(GetParam(), 10'001)), TrialError);
}

TEST_P(Trials, AnAbortedTrialIsInvalid) {
  bed.keep_going = false;
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 1'000'000)}));
  EXPECT_EQ(report.verdict, Verdict::invalid);
  EXPECT_EQ(report.cause, Cause::aborted);
  // Without the abort it would take 50 s.
  EXPECT_LT(report.duration_s, 40);
  EXPECT_LT(report.streams[0].sent_per_second.size(), 42U);
}

TEST_P(Trials, NeighborsAreAnsweredWhileTrafficRuns) {
  const bool v4 = GetParam() == Family::ipv4;
  const auto gateway = *parse_address(v4 ? "198.18.0.1" : "2001:2::1");
  const auto tester = *parse_address(v4 ? "198.18.0.2" : "2001:2::2");
  const auto nobody = *parse_address(v4 ? "198.18.0.9" : "2001:2::9");
  bed.inject(Side::left, make_neighbor_request(gateway, kGatewayMac, tester));
  bed.inject(Side::left, make_neighbor_request(gateway, kGatewayMac, nobody));
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 100)}));
  ASSERT_EQ(bed.neighbor_answers.size(), 1U);
  const auto answer = parse_neighbor_message(bed.neighbor_answers[0]);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->target, tester);
  EXPECT_EQ(report.ports[0].foreign.at(v4 ? FrameKind::arp : FrameKind::neighbor_solicitation), 2U);
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
}

TEST_P(Trials, AGatewaysOwnAddressInAPrefixIsNotTakenFromIt) {
  const bool v4 = GetParam() == Family::ipv4;
  const auto gateway = *parse_address(v4 ? "198.18.0.1" : "2001:2::1");
  const auto tester = *parse_address(v4 ? "198.18.0.2" : "2001:2::2");
  const auto of_prefix = *parse_address(v4 ? "198.18.0.17" : "2001:2::11");
  const AnyAddress unspecified{GetParam(), 0};
  bed.inject(Side::left, make_neighbor_request(unspecified, kGatewayMac, of_prefix));
  bed.inject(Side::left, make_neighbor_request(of_prefix, kGatewayMac, of_prefix));
  bed.inject(Side::left, make_neighbor_request(gateway, kGatewayMac, of_prefix));
  bed.inject(Side::left, make_neighbor_request(unspecified, kGatewayMac, tester));
  bed.run(trial({stream("forward", Side::left, GetParam(), 100)}));
  ASSERT_EQ(bed.neighbor_answers.size(), 2U);
  EXPECT_EQ(parse_neighbor_message(bed.neighbor_answers[0])->target, of_prefix);
  EXPECT_EQ(parse_neighbor_message(bed.neighbor_answers[1])->target, tester);
}

TEST_P(Trials, FramesOfAnEarlierTrialAreStale) {
  std::vector<std::vector<std::uint8_t>> kept;
  bed.treat = [&](Side, Bytes frame) {
    kept.emplace_back(frame.begin(), frame.end());
    return 1;
  };
  ASSERT_EQ(bed.run(trial({stream("forward", Side::left, GetParam(), 50)})).verdict, Verdict::pass);
  bed.treat = [](Side, Bytes) { return 1; };
  for (const auto& frame : kept) bed.inject(Side::right, frame);
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 50)}));
  EXPECT_EQ(report.stale, 50U);
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
}

class Spread : public testing::TestWithParam<std::pair<unsigned, unsigned>> {};
INSTANTIATE_TEST_SUITE_P(QueuesAndWorkers, Spread,
                         testing::Values(std::pair{1U, 1U}, std::pair{1U, 2U}, std::pair{2U, 1U}, std::pair{2U, 2U},
                                         std::pair{3U, 2U}, std::pair{2U, 4U}, std::pair{3U, 4U}));

TEST_P(Spread, BothPhasesWorkOverAnyNumberOfQueuesAndWorkers) {
  RingBed bed(GetParam().first, GetParam().second);
  const auto first = bed.run(phase1(Family::ipv4, 5000));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  const auto second = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 7001),
                                     phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 6999)}));
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
  EXPECT_EQ(second.streams[0].received, 7001U);
  EXPECT_EQ(second.streams[1].received, 6999U);
}

TEST_P(Spread, LossesAndDuplicatesAreTheStreamsAndNotItsQueues) {
  RingBed bed(GetParam().first, GetParam().second);
  constexpr std::uint64_t frames = 6000;
  constexpr std::uint64_t lost = frames / 40 - 1;  // every 40th, but not the last
  bool doubles = false;                            // every 7th of the others
  bed.treat = [&](Side, Bytes frame) {
    const std::uint64_t place = classify(frame).signature().sequence + 1;
    if (place % 40 == 0 && place != frames) return 0;
    return doubles && place % 7 == 0 ? 2 : 1;
  };
  for (const std::uint64_t duplicate : {std::uint64_t{0}, frames / 7 - lost / 7}) {
    doubles = duplicate != 0;
    const auto report = bed.run(trial({stream("forward", Side::left, Family::ipv4, frames)}));
    const StreamReport& found = report.streams[0];
    EXPECT_EQ(found.received, frames - lost);
    EXPECT_EQ(found.lost, (SequenceRange{39, frames - 41}));
    EXPECT_EQ(found.duplicate, duplicate);
    EXPECT_EQ(found.reordered, GetParam().first == 1 ? std::optional{0U} : std::nullopt);
  }
}

TEST_P(Spread, FramesThatWereOvertakenAreCountedWhereOneQueueKeepsTheirOrder) {
  RingBed bed(GetParam().first, GetParam().second);
  std::vector<std::uint8_t> held;
  std::uint64_t last = 0;
  bed.treat = [&](Side, Bytes frame) {
    last = classify(frame).signature().sequence;
    if (last != 40) return 1;
    held.assign(frame.begin(), frame.end());
    return 0;
  };
  bed.observe = [&] {
    if (!held.empty() && last > 40) bed.inject(Side::right, std::exchange(held, {}));
  };
  const auto report = bed.run(trial({stream("forward", Side::left, Family::ipv4, 60)}));
  EXPECT_EQ(report.streams[0].received, 60U);
  EXPECT_EQ(report.streams[0].reordered, GetParam().first == 1 ? std::optional{1U} : std::nullopt);
}

TEST_P(Spread, DelaysVaryBetweenAllFramesOfAStreamOrAreRefused) {
  RingBed bed(GetParam().first, GetParam().second);
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 2000);
  spec.ipdv = true;
  if (std::min(GetParam().first, GetParam().second / 2) > 1) {
    EXPECT_THROW(bed.run(trial({spec})), TrialError);
    return;
  }
  const auto report = bed.run(trial({spec}));
  ASSERT_EQ(report.streams[0].received, 2000U);
  EXPECT_EQ(report.streams[0].ipdv.count(), 1999U);
}

TEST(Refusal, APortThatTakesNoMoreIsTheDutsPathOnAVethAndTheTestersOnANic) {
  for (const Medium medium : {Medium::veth, Medium::nic}) {
    RingBed bed(1, 1, medium);
    bed.carries = false;
    const auto report = bed.run(hasty_trial({stream("forward", Side::left, Family::ipv4, 30'000)}));
    EXPECT_LT(report.streams[0].sent, 30'000U);
    EXPECT_LE(report.streams[0].offered_rate_fps, 20'000);
    EXPECT_EQ(report.verdict, medium == Medium::veth ? Verdict::fail : Verdict::invalid) << report.reason;
    EXPECT_EQ(report.cause, medium == Medium::veth ? Cause::back_pressure : Cause::unsent);
  }
}

TEST(Failure, AnExceptionInTheMiddleStopsTheWorkers) {
  RingBed bed;
  bed.observe = [] { throw std::runtime_error("no more memory"); };
  EXPECT_THROW(bed.run(trial({stream("forward", Side::left, Family::ipv4, 10'000)})), std::runtime_error);
  bed.observe = [] {};
  EXPECT_EQ(bed.run(trial({stream("forward", Side::left, Family::ipv4, 100)})).verdict, Verdict::pass);
}

TEST(Failure, AFrameThatChangedItsLengthIsCorrupt) {
  RingBed bed;
  bed.treat = [](Side, Bytes frame) {
    std::uint8_t* ip = frame.data() + kEthernetBytes;
    store_be16(ip + 2, static_cast<std::uint16_t>(load_be16(ip + 2) - 2));
    store_be16(ip + kIpv4Bytes + 4, static_cast<std::uint16_t>(load_be16(ip + kIpv4Bytes + 4) - 2));
    recompute_udp_checksum(frame);
    return 1;
  };
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 100);
  spec.frame_sizes = {128};
  const auto report = bed.run(trial({spec}));
  EXPECT_EQ(report.streams[0].corrupt, 100U);
  EXPECT_EQ(report.streams[0].received, 0U);
}

TEST(Failure, AFrameLongerThanABufferIsRefused) {
  RingBed bed;
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 100);
  spec.frame_sizes = {2053};
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
}

}  // namespace
}  // namespace natxy
