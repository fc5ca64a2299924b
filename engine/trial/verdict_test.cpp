// SPDX-License-Identifier: Apache-2.0
#include "trial/verdict.hpp"

#include <gtest/gtest.h>

namespace natxy {
namespace {

constexpr std::uint64_t kHz = 1'000'000'000;  // a tick is a nanosecond

/// Starts with the report of a perfect trial of one stream, 100,000 frames in one second. Each test adds faults to it.
class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    spec.streams.resize(1);
    spec.streams[0].name = "forward";
    spec.streams[0].source = Side::left;
    spec.streams[0].rate_fps = 100'000;
    spec.streams[0].frames = 100'000;
    report.streams.resize(1);
    report.streams[0].sent = 100'000;
    report.streams[0].received = 100'000;
    report.ports.resize(2);
    report.ports[0].place = {Side::left};
    report.ports[1].place = {Side::right};
  }

  /// Adds the same in the other direction.
  void add_reverse() {
    spec.streams.push_back(spec.streams[0]);
    spec.streams[1].name = "reverse";
    spec.streams[1].source = Side::right;
    report.streams.push_back(report.streams[0]);
  }

  /// Adds a pause, and so many frames due when it may have harmed them, of which as many were lost as `lost` says.
  void pause(std::size_t stream, std::uint64_t ticks, std::uint64_t lost, std::uint64_t near = 10'000) {
    report.streams[stream].pacing.paused = ticks;
    report.streams[stream].near_pauses = near;
    report.streams[stream].lost_near_pauses = lost;
  }

  void expect(Verdict verdict, Cause cause) {
    judge(spec, Clock{kHz}, report);
    EXPECT_EQ(report.verdict, verdict) << report.reason;
    EXPECT_EQ(report.cause, cause) << report.reason;
    EXPECT_FALSE(report.reason.empty());
  }

  TrialSpec spec;
  TrialReport report;
};

TEST_F(VerdictTest, AllArrivedPasses) { expect(Verdict::pass, Cause::lossless); }

TEST_F(VerdictTest, OfLivesOfConnectionsTheFirstLossIsDescribed) {
  add_reverse();
  add_reverse();
  spec.phase1 = true;
  spec.streams[1].name = "reply";
  spec.streams[1].kind = StreamKind::replies;
  spec.streams[2].kind = StreamKind::connections;
  report.streams[1].sent = 99'000;
  report.streams[1].absent = 1'000;
  report.streams[1].received = 99'000;
  report.streams[2].received = 98'000;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason,
            "reply: 1,000 of 100,000 frames lost (1.0000 %), 1,000 not sent, because what they reply to had not "
            "arrived; and 2,000 frames of other steps");
}

TEST_F(VerdictTest, OneLostFrameFails) {
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, LossOfSpoofedFramesCountsForNothing) {
  add_reverse();
  spec.streams[1].role = StreamRole::spoofed;
  report.streams[1].received = 0;
  expect(Verdict::pass, Cause::lossless);
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 1 of 100,000 frames lost (0.0010 %)");
}

TEST_F(VerdictTest, MoreFramesThanAskedAreNoLoss) {
  report.streams[0].received += 1;
  expect(Verdict::pass, Cause::lossless);
}

TEST_F(VerdictTest, ToleratedLossPassesAndOneMoreFails) {
  spec.streams[0].max_loss_ratio = 0.0001;
  report.streams[0].received -= 10;
  expect(Verdict::pass, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 10 of 100,000 frames lost (0.0100 %), which is tolerated");
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, HalfAFrameIsNotTolerated) {
  spec.streams[0].max_loss_ratio = 0.000015;  // 1.5 frames
  report.streams[0].received -= 1;
  expect(Verdict::pass, Cause::loss);
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, AQueueThatGrowsFailsWhereItsBacklogIsLimited) {
  report.streams[0].backlog = 5'000'001;
  expect(Verdict::pass, Cause::lossless);
  spec.streams[0].max_backlog_s = 0.005;
  expect(Verdict::fail, Cause::backlog);
  report.streams[0].backlog = 5'000'000;
  expect(Verdict::pass, Cause::lossless);
}

TEST_F(VerdictTest, LossComesBeforeABacklogAndLatenessBeforeBoth) {
  report.streams[0].backlog = 5'000'001;
  spec.streams[0].max_backlog_s = 0.005;
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
  report.streams[0].pacing.overrun = 10'001;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, AnOverrunAboveAHundredThousandthIsInvalidEvenWithoutLoss) {
  report.streams[0].pacing.overrun = 10'000;
  expect(Verdict::pass, Cause::lossless);
  report.streams[0].pacing.overrun = 10'001;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, TheFloorAllowsShortTrialsMore) {
  spec.limits.overrun_floor_s = 0.001;
  report.streams[0].pacing.overrun = 1'000'000;
  expect(Verdict::pass, Cause::lossless);
}

TEST_F(VerdictTest, UnsentFramesAreInvalidAndNeverLoss) {
  report.streams[0].sent -= 1;
  report.streams[0].received -= 1;
  expect(Verdict::invalid, Cause::unsent);
  report.streams[0].sent = 90'000;
  report.streams[0].received = 90'000;
  expect(Verdict::invalid, Cause::unsent);
}

TEST_F(VerdictTest, EveryStreamHasToBeSentInTime) {
  add_reverse();
  report.streams[1].pacing.overrun = 10'001;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, BackPressureFailsTheDutOnAVethOrMemifAndIsInvalidOnANic) {
  report.streams[0].pacing.overrun = 500'000'000;
  report.streams[0].pacing.refused = 100;
  report.streams[0].pacing.blocked = 400'000'000;
  expect(Verdict::fail, Cause::back_pressure);
  report.ports[0].medium = Medium::memif;
  expect(Verdict::fail, Cause::back_pressure);
  report.ports[0].medium = Medium::nic;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, ThePortExplainsADelayOfWhichHalfWasWaitingForIt) {
  report.streams[0].pacing.overrun = 500'000'000;
  report.streams[0].pacing.refused = 1;
  report.streams[0].pacing.blocked = 250'000'000;
  expect(Verdict::fail, Cause::back_pressure);
  report.streams[0].pacing.blocked -= 1;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, AFewRefusalsDoNotExcuseASlowCore) {
  report.streams[0].pacing.overrun = 500'000'000;
  report.streams[0].pacing.refused = 1;
  report.streams[0].pacing.blocked = 1'000;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, UnsentFramesAreThePortsDoingOnlyIfWaitingForItTookMostOfTheTime) {
  report.streams[0].sent = 50'000;
  report.streams[0].received = 50'000;
  report.streams[0].pacing.overrun = 1'000'000'000;
  report.streams[0].pacing.refused = 1;
  report.streams[0].pacing.blocked = 1;
  expect(Verdict::invalid, Cause::unsent);
  report.streams[0].pacing.blocked = 600'000'000;
  expect(Verdict::fail, Cause::back_pressure);
}

TEST_F(VerdictTest, FramesThatTheKernelRejectedAreNotTheDutsLoss) {
  report.streams[0].received -= 5;
  report.ports[0].rejected = 5;
  expect(Verdict::invalid, Cause::unsent);
  report.ports[0].rejected = 0;
  report.ports[1].rejected = 1;
  expect(Verdict::invalid, Cause::unsent);
  EXPECT_EQ(report.reason, "the kernel rejected 1 frame that the tester sent on the right port");
}

TEST_F(VerdictTest, DropsAndPausesExplainLossTogether) {
  pause(0, 2'000'000, 401);  // 200 frames
  report.ports[1].drops.kernel = 200;
  report.streams[0].received -= 400;
  expect(Verdict::invalid, Cause::tester_drops);
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, TheTestersOwnDropsAreNotTheDutsLoss) {
  report.streams[0].received -= 5;
  report.ports[1].drops.kernel = 5;
  expect(Verdict::invalid, Cause::tester_drops);
  report.streams[0].received -= 1;  // one more than the tester dropped
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, AToleratedLossIsTheDutsButForAFewDrops) {
  spec.streams[0].max_loss_ratio = 0.9;
  report.streams[0].received = 50'000;
  report.ports[1].drops.kernel = 500;
  expect(Verdict::pass, Cause::loss);
  report.ports[1].drops.kernel = 501;
  expect(Verdict::invalid, Cause::tester_drops);
  EXPECT_EQ(report.reason, "forward: of 50,000 frames lost, the tester itself dropped 501 on reception");
  spec.streams[0].role = StreamRole::spoofed;
  report.cause = Cause::lossless;
  expect(Verdict::pass, Cause::lossless);
}

TEST_F(VerdictTest, AnOverloadMayTakeManyTimesAsLong) {
  spec.limits.max_overrun_ratio = 9;
  const double planned_s = static_cast<double>(spec.streams[0].frames) / spec.streams[0].rate_fps;
  report.streams[0].pacing.overrun = Clock{kHz}.ticks(9 * planned_s);
  expect(Verdict::pass, Cause::lossless);
  report.streams[0].pacing.overrun += 1000;
  expect(Verdict::invalid, Cause::late);
}

TEST_F(VerdictTest, DropsOfEveryKindAddUp) {
  report.streams[0].received -= 6;
  report.ports[1].drops.missed = 1;
  report.ports[1].drops.no_buffer = 2;
  report.ports[1].drops.kernel = 3;
  expect(Verdict::invalid, Cause::tester_drops);
}

TEST_F(VerdictTest, DropsOfForeignFramesDoNotMatterWhenAllArrived) {
  report.ports[1].drops.missed = 5;
  expect(Verdict::pass, Cause::lossless);
}

TEST_F(VerdictTest, LossThatAPauseExplainsIsInvalidAndMoreIsTheDuts) {
  pause(0, 2'000'000, 201);  // 200 frames at this rate
  report.streams[0].received -= 200;
  expect(Verdict::invalid, Cause::paused);
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, APauseSpoilsAsManyFramesAsItsOwnStreamSends) {
  add_reverse();
  spec.streams[1].rate_fps = 50'000;
  spec.streams[1].frames = report.streams[1].sent = report.streams[1].received = 50'000;
  pause(1, 2'000'000, 101);  // 100 frames
  report.streams[1].received -= 100;
  expect(Verdict::invalid, Cause::paused);
  report.streams[1].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, LossThatIsAsFrequentApartFromPausesIsTheDuts) {
  report.streams[0].received -= 10;
  pause(0, 2'000'000, 1);  // 200 frames, and one in ten of all frames near the pause
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 10 of 100,000 frames lost (0.0100 %), 9 of them apart from the tester's pauses");
  pause(0, 2'000'000, 0);
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, AQueueThatABurstHasFilledMayLoseFewFramesLater) {
  report.streams[0].received -= 150;
  pause(0, 2'000'000, 140);
  expect(Verdict::invalid, Cause::paused);
  report.streams[0].lost_near_pauses = 46;  // 46 of 10,000 frames, and 104 of 90,000: a quarter as frequent
  expect(Verdict::fail, Cause::loss);
  report.streams[0].lost_near_pauses = 47;
  expect(Verdict::invalid, Cause::paused);
}

TEST_F(VerdictTest, PausesAtAllTimesExplainAsManyFramesAsTheirBursts) {
  report.streams[0].received -= 200;
  pause(0, 2'000'000, 200, 100'000);
  expect(Verdict::invalid, Cause::paused);
  report.streams[0].received -= 1;
  report.streams[0].lost_near_pauses += 1;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 201 of 100,000 frames lost (0.2010 %)");
}

TEST_F(VerdictTest, PausesExplainNoMoreThanTheirBurstsWhateverIsLostAtOtherTimes) {
  spec.streams[0].max_loss_ratio = 0.01;  // 1000 frames
  pause(0, 2'000'000, 300);               // 200 frames
  report.streams[0].received -= 1200;
  expect(Verdict::invalid, Cause::paused);
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, DropsExplainLossApartFromPausesToo) {
  report.streams[0].received -= 10;
  pause(0, 2'000'000, 1);
  report.ports[1].drops.kernel = 9;
  expect(Verdict::invalid, Cause::tester_drops);
  report.ports[1].drops.kernel = 8;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, ToleratedLossApartFromPausesIsNoFailure) {
  spec.streams[0].max_loss_ratio = 0.0001;  // 10 frames
  report.streams[0].received -= 10;
  pause(0, 2'000'000, 1);
  expect(Verdict::pass, Cause::loss);
  report.streams[0].received -= 1;
  report.streams[0].lost_near_pauses += 1;
  expect(Verdict::invalid, Cause::paused);
  report.streams[0].received -= 1;
  report.streams[0].lost_near_pauses -= 2;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, CorruptFramesAreLostAndReportedAsArrived) {
  report.streams[0].received -= 1;
  report.streams[0].corrupt = 1;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 1 of 100,000 frames lost (0.0010 %), 1 arrived with a wrong checksum or length");
  spec.streams[0].max_loss_ratio = 0.0001;
  expect(Verdict::pass, Cause::loss);
  EXPECT_EQ(report.reason,
            "forward: 1 of 100,000 frames lost (0.0010 %), 1 arrived with a wrong checksum or length, which is "
            "tolerated");
}

TEST_F(VerdictTest, FramesAfterTheirTimeoutAreLost) {
  spec.streams[0].frame_timeout_s = 0.005;
  report.streams[0].received -= 12;
  report.streams[0].timed_out = 10;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 12 of 100,000 frames lost (0.0120 %), 10 frames came later than 5 ms");
  spec.streams[0].max_loss_ratio = 0.0002;
  expect(Verdict::pass, Cause::loss);
  EXPECT_EQ(report.reason,
            "forward: 12 of 100,000 frames lost (0.0120 %), 10 frames came later than 5 ms, which is tolerated");
}

TEST_F(VerdictTest, APauseExplainsFramesAfterTheirTimeoutAndADropDoesNot) {
  spec.streams[0].frame_timeout_s = 0.005;
  report.streams[0].received -= 6;
  report.streams[0].timed_out = 5;
  report.ports[1].drops.kernel = 6;
  expect(Verdict::fail, Cause::loss);
  pause(0, 50'000, 1);  // 5 frames
  expect(Verdict::invalid, Cause::paused);
  pause(0, 40'000, 1);
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, TheLossOfEveryStreamIsNamed) {
  add_reverse();
  report.streams[0].received -= 1;
  report.streams[1].received -= 20;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason,
            "forward: 1 of 100,000 frames lost (0.0010 %); reverse: 20 of 100,000 frames lost (0.0200 %)");
  spec.streams[1].max_loss_ratio = 0.001;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason,
            "forward: 1 of 100,000 frames lost (0.0010 %); reverse: 20 of 100,000 frames lost (0.0200 %), which is "
            "tolerated");
}

TEST_F(VerdictTest, APauseOrOwnDropsExplainNothingThatArrivedCorrupt) {
  report.streams[0].received -= 1;
  report.streams[0].corrupt = 1;
  pause(0, 2'000'000, 1);  // 200 frames
  report.ports[1].drops.kernel = 5;
  expect(Verdict::fail, Cause::loss);
  report.streams[0].corrupt = 3;  // two of them were duplicates
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, WithinTheToleranceAPauseExplainsTheRest) {
  spec.streams[0].max_loss_ratio = 0.0001;  // 10 frames
  pause(0, 2'000'000, 30);
  report.streams[0].received -= 30;
  report.streams[0].corrupt = 10;
  expect(Verdict::invalid, Cause::paused);
  EXPECT_EQ(report.reason,
            "forward: 30 frames lost, but the tester paused for 2.000 ms and sent 200 frames in bursts afterwards");
  report.streams[0].corrupt = 11;  // more than is tolerated, whatever explains the other losses
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, AFailingStreamOutweighsOneSpoiltByAPause) {
  add_reverse();
  report.streams[0].received -= 100;
  pause(0, 2'000'000, 100);
  expect(Verdict::invalid, Cause::paused);
  report.streams[1].received -= 50'000;
  expect(Verdict::fail, Cause::loss);
}

TEST_F(VerdictTest, ALinkThatCameUpAgainSpoilsATrialUnlessItMayFall) {
  report.streams[0].received = 0;
  report.ports[1].link_fell = true;
  expect(Verdict::invalid, Cause::link_down);
  EXPECT_EQ(report.reason, "the link of the right port went down and up again");
  spec.limits.link_may_fall = true;
  expect(Verdict::fail, Cause::loss);
  report.ports[1].link_up = false;
  expect(Verdict::invalid, Cause::link_down);
}

TEST_F(VerdictTest, AbortAndLinkLossComeFirst) {
  report.streams[0].received = 0;
  report.ports[1].link_up = false;
  expect(Verdict::invalid, Cause::link_down);
  report.aborted = true;
  expect(Verdict::invalid, Cause::aborted);
}

TEST_F(VerdictTest, ASuspensionIsTheReasonWhateverElseItCaused) {
  report.suspended = "the machine was suspended for 2.000 s";
  expect(Verdict::invalid, Cause::suspended);
  EXPECT_EQ(report.reason, *report.suspended);
  report.streams[0].received = 0;
  report.streams[0].pacing.overrun = 2'000'000'000;
  report.ports[1].link_fell = true;
  report.aborted = true;
  expect(Verdict::invalid, Cause::suspended);
}

TEST_F(VerdictTest, FramesThatArriveAfterTheTrialWasEndedMakeItInvalid) {
  report.streams[0].ended_early = true;
  report.streams[0].sent = report.streams[0].received = 10;
  expect(Verdict::invalid, Cause::aborted);
}

TEST_F(VerdictTest, ATrialThatEndedEarlyFailsByTheFramesThatWereSent) {
  report.streams[0].ended_early = true;
  report.streams[0].sent = 2'000;
  report.streams[0].received = 1'998;
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason, "forward: 2 of 2,000 frames lost (0.1000 %); then the trial was ended");
}

TEST_F(VerdictTest, ATrialThatEndedEarlyIsInvalidWhereTheTesterWasLate) {
  report.streams[0].ended_early = true;
  report.streams[0].sent = 2'000;
  report.streams[0].received = 1'998;
  report.streams[0].pacing.overrun = 20'000'000;
  expect(Verdict::invalid, Cause::late);
}

/// Makes the stream one of queries.
class VerdictOfQueries : public VerdictTest {
 protected:
  VerdictOfQueries() {
    spec.streams[0].name = "queries";
    spec.streams[0].queries.emplace();
    report.streams[0].queries.emplace();
  }
};

TEST_F(VerdictOfQueries, NamesEachKindOfWrongAnswer) {
  report.streams[0].received -= 1003;
  report.streams[0].queries->answers = {98'997, 0, 0, 0, 1000, 1, 2, 0};
  expect(Verdict::fail, Cause::loss);
  EXPECT_EQ(report.reason,
            "queries: 1,003 of 100,000 queries had no right answer in time (1.0030 %), wrong answers: 1,000 SERVFAIL, "
            "1 other error, 2 without an address");
}

TEST_F(VerdictOfQueries, WhatTheAuthorityDoesNotAnswerIsTheTesters) {
  report.streams[0].received -= 10;
  report.ports[1].drops.missed = 4;
  report.streams[0].queries->unsent = 6;
  expect(Verdict::invalid, Cause::tester_drops);
  report.streams[0].received -= 1;
  expect(Verdict::fail, Cause::loss);
}

}  // namespace
}  // namespace natxy
