// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "trial/runner/ring_bed.hpp"

// Trials whose frames are of several sizes, or have extension headers.
namespace natxy {
namespace {

const std::vector<std::size_t> kSizes = {64, 594, 64, 64, 1518, 64};

TEST(Mix, TheSizesOnTheWireRepeatInTheirOrder) {
  RingBed bed;
  std::vector<std::size_t> wire;
  bed.treat = [&](Side, Bytes frame) {
    wire.push_back(frame.size() + kFcsBytes);
    return 1;
  };
  // Delayed frames leave in bursts later.
  bed.observe = [polls = 0]() mutable {
    if (++polls % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 3000);
  spec.frame_sizes = kSizes;
  const auto report = bed.run(trial({spec}));
  ASSERT_EQ(wire.size(), 3000U);
  for (std::size_t i = 0; i < wire.size(); ++i) ASSERT_EQ(wire[i], kSizes[i % kSizes.size()]) << i;
  EXPECT_EQ(report.streams[0].received, 3000U);
  EXPECT_EQ(report.streams[0].reordered, 0U);
}

TEST(Mix, AnIntactFrameOfASizeThatAnotherHasIsCorrupt) {
  RingBed bed;
  bed.translate = [count = std::size_t{0}](Side, Bytes frame) mutable {
    std::vector<std::uint8_t> bytes(frame.begin(), frame.end());
    // One of each size, in the end, gets that of another.
    if (count++ % 7 != 4) return bytes;
    const std::size_t size = bytes.size() + kFcsBytes == 594 ? 64 : 594;
    bytes.resize(size - kFcsBytes, 0);
    std::uint8_t* ip = &bytes[kUdpIpv4.ip()];
    store_be16(ip + 2, static_cast<std::uint16_t>(bytes.size() - kUdpIpv4.ip()));
    store_be16(ip + 10, 0);
    store_raw(ip + 10, ip_checksum(checksum_of(ip, kIpv4Bytes)));
    store_be16(&bytes[kUdpIpv4.transport() + 4], static_cast<std::uint16_t>(bytes.size() - kUdpIpv4.transport()));
    recompute_udp_checksum(bytes);
    return bytes;
  };
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 700);
  spec.frame_sizes = kSizes;
  const auto report = bed.run(trial({spec}));
  EXPECT_EQ(report.streams[0].received, 600U);
  EXPECT_EQ(report.streams[0].corrupt, 100U);
}

TEST(Mix, EveryConnectionIsMadeOnceWhateverItsFramesSize) {
  RingBed bed;
  std::set<std::uint32_t> ports;
  bed.treat = [&](Side, Bytes frame) {
    ports.insert(load_be32(frame.data() + kUdpIpv4.transport()));
    return 1;
  };
  TrialSpec first = phase1(Family::ipv4, 1000);
  first.streams[0].frame_sizes = kSizes;
  EXPECT_EQ(bed.run(first).streams[0].received, 1000U);
  EXPECT_EQ(ports.size(), 1000U);
  std::vector<StreamSpec> second = {phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 1200),
                                    phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 1200)};
  for (StreamSpec& each : second) each.frame_sizes = kSizes;
  for (const StreamReport& each : bed.run(trial(second)).streams) {
    EXPECT_EQ(each.received, 1200U);
    EXPECT_EQ(each.misrouted, 0U);
  }
}

TEST(Mix, BesideBackgroundTheSizesGoByTheirOwnStream) {
  RingBed bed;
  std::vector<std::size_t> wire;
  bed.treat = [&](Side, Bytes frame) {
    if (load_be16(frame.data() + 12) == kEtherTypeIpv4) wire.push_back(frame.size() + kFcsBytes);
    return 1;
  };
  StreamSpec own = stream("forward", Side::left, Family::ipv4, 900);
  StreamSpec background = stream("background", Side::left, Family::ipv6, 300);
  own.frame_sizes = kSizes;
  own.rate_fps = 3 * background.rate_fps;
  background.interleaved_with = 0;
  const auto report = bed.run(trial({own, background}));
  ASSERT_EQ(wire.size(), 900U);
  for (std::size_t i = 0; i < wire.size(); ++i) ASSERT_EQ(wire[i], kSizes[i % kSizes.size()]) << i;
  EXPECT_EQ(report.streams[0].received, 900U);
  EXPECT_EQ(report.streams[1].received, 300U);
}

StreamSpec with_options(const std::string& name, Side side, Form form) {
  StreamSpec spec = stream(name, side, Family::ipv6, 500);
  spec.form = form;
  spec.frame_sizes = {128};
  return spec;
}

TEST(ExtensionHeaders, FramesArriveInTheFormOfTheirStream) {
  for (const Form form : {Form::hop_by_hop, Form::destination_options, Form::both_options}) {
    RingBed bed;
    const auto report = bed.run(trial({with_options("forward", Side::left, form)}));
    EXPECT_EQ(report.streams[0].received, 500U);
    EXPECT_EQ(report.streams[0].corrupt, 0U);
  }
}

TEST(ExtensionHeaders, AGatewayThatTakesThemOutSpoilsTheFrames) {
  RingBed bed;
  bed.translate = [](Side, Bytes frame) {
    std::vector<std::uint8_t> bytes(frame.begin(), frame.end());
    bytes.erase(bytes.begin() + 54, bytes.begin() + 62);
    bytes[kEthernetBytes + 6] = kProtocolUdp;
    store_be16(&bytes[kEthernetBytes + 4], static_cast<std::uint16_t>(bytes.size() - 54));
    return bytes;
  };
  const auto report = bed.run(trial({with_options("forward", Side::left, Form::hop_by_hop)}));
  EXPECT_EQ(report.streams[0].received, 0U);
  EXPECT_EQ(report.streams[0].corrupt, 500U);
}

TEST(ExtensionHeaders, PhasesHaveThemToo) {
  RingBed bed;
  TrialSpec first = phase1(Family::ipv6, 1000);
  first.streams[0].form = Form::both_options;
  first.streams[0].frame_sizes = {100, 1000};
  EXPECT_EQ(bed.run(first).streams[0].received, 1000U);
  StreamSpec replies = phase2("reverse", Side::right, StreamKind::replies, Family::ipv6, 1000);
  replies.form = Form::destination_options;
  replies.frame_sizes = {92};
  EXPECT_EQ(bed.run(trial({replies})).streams[0].received, 1000U);
}

TEST(ExtensionHeaders, OnlyIpv6HasThem) {
  RingBed bed;
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 10);
  spec.form = Form::hop_by_hop;
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
  spec = with_options("forward", Side::left, Form::hop_by_hop);
  spec.frame_sizes = {91};
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
}

StreamSpec segments(StreamSpec spec, const Segment& segment, Form form = Form::tcp) {
  spec.form = form;
  spec.segment = segment;
  spec.frame_sizes = {128};
  return spec;
}

TEST(Tcp, ConnectionsAreMadeByHandshakesAndThenCarryData) {
  constexpr Segment kSyn{};
  constexpr Segment kSynAck{false, kTcpSyn | kTcpAck, 0, 1};
  constexpr Segment kLastAck{true, kTcpAck, 1, 1};
  constexpr Segment kAnswer{false, kTcpPush | kTcpAck, 1, 1};
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    RingBed bed;
    TrialSpec syns = phase1(family, 1000);
    syns.streams[0] = segments(syns.streams[0], kSyn, Form::tcp_option);
    EXPECT_EQ(bed.run(syns).streams[0].received, 1000U);
    const std::vector<StreamSpec> further = {
        segments(phase2("syn-ack", Side::right, StreamKind::replies, family, 1000), kSynAck, Form::tcp_option),
        segments(phase2("ack", Side::left, StreamKind::connections, family, 1000), kLastAck, Form::tcp_option),
        segments(phase2("answer", Side::right, StreamKind::replies, family, 2500), kAnswer)};
    for (const StreamSpec& each : further) {
      const StreamReport found = bed.run(trial({each})).streams[0];
      EXPECT_EQ(found.received, each.frames);
      EXPECT_EQ(found.misrouted + found.corrupt, 0U);
    }
  }
}

TEST(Tcp, ASegmentWithAnotherSequenceNumberIsCorrupt) {
  RingBed bed;
  constexpr std::size_t kSequenceAt = kTcpIpv4.transport() + 4;
  bed.translate = [count = std::size_t{0}](Side, Bytes frame) mutable {
    std::vector<std::uint8_t> bytes(frame.begin(), frame.end());
    if (++count % 5 != 0) return bytes;
    // One more in the number and one less in the checksum leave the sum as it is.
    store_be32(&bytes[kSequenceAt], load_be32(&bytes[kSequenceAt]) + 1);
    std::uint8_t* checksum = &bytes[kTcpIpv4.checksum()];
    const std::uint32_t less = load_be16(checksum) + 0xFFFEU;
    store_be16(checksum, static_cast<std::uint16_t>((less & 0xFFFF) + (less >> 16)));
    return bytes;
  };
  const auto report =
      bed.run(trial({segments(stream("forward", Side::left, Family::ipv4, 500), {true, kTcpAck, 1, 1})}));
  EXPECT_EQ(report.streams[0].received, 400U);
  EXPECT_EQ(report.streams[0].corrupt, 100U);
}

}  // namespace
}  // namespace natxy
