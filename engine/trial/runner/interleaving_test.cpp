// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "packet/bytes.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

/// Makes a trial of `foreground` IPv4 frames and `background` IPv6 frames in turn, together 50,000 a second.
TrialSpec mixed(std::uint64_t foreground, std::uint64_t background) {
  const double total_s = static_cast<double>(foreground + background) / 50'000;
  StreamSpec first = stream("forward", Side::left, Family::ipv4, foreground);
  StreamSpec second = stream("background", Side::left, Family::ipv6, background);
  first.rate_fps = static_cast<double>(foreground) / total_s;
  second.rate_fps = static_cast<double>(background) / total_s;
  second.interleaved_with = 0;
  return trial({first, second});
}

TEST(Interleaved, TheOrderOnTheWireIsTheTurnsWhateverTheTesterDoes) {
  RingBed bed;
  std::string wire;
  bed.treat = [&](Side, Bytes frame) {
    wire += load_be16(frame.data() + 12) == kEtherTypeIpv6 ? 'b' : 'f';
    return 1;
  };
  // Delayed frames leave in bursts later.
  bed.observe = [polls = 0]() mutable {
    if (++polls % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  const auto report = bed.run(mixed(4500, 500));
  std::string expected;
  for (int i = 0; i < 500; ++i) expected += "fffffffffb";
  EXPECT_EQ(wire, expected);
  EXPECT_EQ(report.streams[0].sent, 4500U);
  EXPECT_EQ(report.streams[1].sent, 500U);
}

TEST(Interleaved, TheTwoAreCountedApart) {
  RingBed bed;
  int background = 0;
  bed.treat = [&](Side, Bytes frame) {
    const bool is_background = load_be16(frame.data() + 12) == kEtherTypeIpv6;
    return is_background && ++background % 5 == 0 ? 0 : 1;
  };
  const auto report = bed.run(mixed(2000, 2000));
  EXPECT_EQ(report.streams[0].sent, 2000U);
  EXPECT_EQ(report.streams[0].received, 2000U);
  EXPECT_EQ(report.streams[1].sent, 2000U);
  EXPECT_EQ(report.streams[1].received, 1600U);
  for (const auto& stream : report.streams) {
    EXPECT_EQ(std::accumulate(stream.sent_per_second.begin(), stream.sent_per_second.end(), std::uint64_t{0}), 2000U);
  }
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_NE(report.reason.find("background"), std::string::npos);
}

TEST(Interleaved, EveryFrameIsSentOnceOverSeveralQueues) {
  RingBed bed(2, 2);
  const auto report = bed.run(mixed(900, 2100));
  EXPECT_EQ(report.streams[0].sent, 900U);
  EXPECT_EQ(report.streams[1].sent, 2100U);
  EXPECT_EQ(report.streams[0].duplicate + report.streams[1].duplicate, 0U);
}

}  // namespace
}  // namespace natxy
