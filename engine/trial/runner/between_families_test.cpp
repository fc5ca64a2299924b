// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

/// Translates between IPv6 and IPv4. The IPv6 address of an IPv4 host is `prefix` plus its own. The only IPv6 host is
/// `host6`. Its IPv4 address is `host4`, and its ports are `shift` higher in IPv4.
class BetweenFamilies : public testing::Test {
 protected:
  BetweenFamilies() {
    bed.translate = [this](Side, Bytes frame) {
      return load_be16(frame.data() + 12) == kEtherTypeIpv6 ? to_ipv4(frame) : to_ipv6(frame);
    };
  }

  [[nodiscard]] std::vector<std::uint8_t> to_ipv4(Bytes frame) const {
    std::vector<std::uint8_t> result(std::max(frame.size() - 20, kMinFrameBytes - kFcsBytes));
    const std::uint8_t* ip = frame.data() + kEthernetBytes;
    std::uint8_t* to = result.data() + kEthernetBytes;
    const std::size_t length = load_be16(ip + 4);
    store_be16(result.data() + 12, kEtherTypeIpv4);
    to[0] = 0x45;
    store_be16(to + 2, static_cast<std::uint16_t>(kIpv4Bytes + length));
    to[8] = static_cast<std::uint8_t>(ip[7] - 1);
    to[9] = kProtocolUdp;
    std::memcpy(to + kIpv4Bytes, ip + kIpv6Bytes, length);
    std::uint8_t* udp = to + kIpv4Bytes;
    translate_host(ip + 8, to + 12, udp);
    translate_host(ip + 24, to + 16, udp + 2);
    recompute_udp_checksum(result);
    return result;
  }

  void translate_host(const std::uint8_t* ipv6, std::uint8_t* ipv4, std::uint8_t* port) const {
    const uint128 address = load_be128(ipv6);
    store_be32(ipv4, address == host6 ? host4 : static_cast<std::uint32_t>(address));
    if (address == host6) store_be16(port, static_cast<std::uint16_t>(load_be16(port) + shift));
  }

  [[nodiscard]] std::vector<std::uint8_t> to_ipv6(Bytes frame) const {
    const std::uint8_t* ip = frame.data() + kEthernetBytes;
    const std::size_t length = load_be16(ip + 2) - kIpv4Bytes;
    std::vector<std::uint8_t> result(kEthernetBytes + kIpv6Bytes + length);
    std::uint8_t* to = result.data() + kEthernetBytes;
    store_be16(result.data() + 12, kEtherTypeIpv6);
    to[0] = 0x60;
    store_be16(to + 4, static_cast<std::uint16_t>(length));
    to[6] = kProtocolUdp;
    to[7] = static_cast<std::uint8_t>(ip[8] - 1);
    std::memcpy(to + kIpv6Bytes, ip + kIpv4Bytes, length);
    std::uint8_t* udp = to + kIpv6Bytes;
    embed_host(ip + 12, to + 8, udp);
    embed_host(ip + 16, to + 24, udp + 2);
    store_be16(udp + 6, 0);
    store_raw(udp + 6, udp_checksum(checksum_of(to + 8, 32) + __builtin_bswap16(kProtocolUdp) +
                                    __builtin_bswap16(static_cast<std::uint16_t>(length)) + checksum_of(udp, length)));
    return result;
  }

  void embed_host(const std::uint8_t* ipv4, std::uint8_t* ipv6, std::uint8_t* port) const {
    const std::uint32_t address = load_be32(ipv4);
    store_be128(ipv6, address == host4 ? host6 : prefix + address);
    if (address == host4) store_be16(port, static_cast<std::uint16_t>(load_be16(port) - shift));
  }

  static StreamSpec stream_of(Side source, const char* from, const char* to) {
    StreamSpec spec = stream(source == Side::left ? "forward" : "reverse", source, parse_address(from)->family, 3000);
    spec.flows->source_address.address = *parse_address(from);
    spec.flows->destination_address.address = *parse_address(to);
    spec.arrives_as = spec.flows->source_address.address.family == Family::ipv4 ? Family::ipv6 : Family::ipv4;
    return spec;
  }

  TrialReport establish(StreamSpec initiator) {
    initiator.selection = Selection::enumerate;
    TrialSpec spec = trial({std::move(initiator)});
    spec.phase1 = true;
    return bed.run(spec);
  }

  TrialReport both_ways(Family left, Family right) {
    return bed.run(trial({phase2("forward", Side::left, StreamKind::connections, left, 5000),
                          phase2("reverse", Side::right, StreamKind::replies, right, 5000)}));
  }

  RingBed bed;
  uint128 prefix = parse_address("2001:2:0:64::")->value;
  uint128 host6 = parse_address("2001:2::2")->value;
  std::uint32_t host4 = 0xC6130001;
  std::uint16_t shift = 1000;
};

TEST_F(BetweenFamilies, Nat64RepliesInIpv4AndIsAnsweredInIpv6) {
  const auto first = establish(stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2"));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  EXPECT_EQ(first.established, 3000U);
  const auto* seen = bed.connections.seen.of<Family::ipv4>();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->at(7).source, 0xC6130001U);
  EXPECT_EQ(seen->at(7).destination, 0xC6130002U);
  const auto second = both_ways(Family::ipv6, Family::ipv4);
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
  EXPECT_EQ(second.streams[0].received + second.streams[1].received, 10'000U);
}

TEST_F(BetweenFamilies, Nat46RepliesInIpv6AndIsAnsweredInIpv4) {
  host4 = 0xC6130002;  // the responder is the IPv6 host
  const auto first = establish(stream_of(Side::left, "198.18.0.2", "198.19.0.2"));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  const auto* seen = bed.connections.seen.of<Family::ipv6>();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->at(7).destination, host6);
  const auto second = both_ways(Family::ipv4, Family::ipv6);
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
}

TEST_F(BetweenFamilies, ANewConnectionInPhaseTwoIsMisrouted) {
  ASSERT_EQ(establish(stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2")).verdict, Verdict::pass);
  shift = 1001;
  const auto report = both_ways(Family::ipv6, Family::ipv4);
  EXPECT_EQ(report.streams[0].misrouted, 5000U);
  EXPECT_EQ(report.streams[1].misrouted, 5000U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_F(BetweenFamilies, StatelessTrafficPassesBothWaysAtAnySize) {
  shift = 0;
  host4 = 0xC6120002;
  for (const std::size_t size : {84U, 85U, 512U}) {
    StreamSpec forward = stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2");
    StreamSpec reverse = stream_of(Side::right, "198.19.0.2", "198.18.0.2");
    forward.frame_sizes = reverse.frame_sizes = {size};
    const auto report = bed.run(trial({forward, reverse}));
    EXPECT_EQ(report.verdict, Verdict::pass) << size << ": " << report.reason;
  }
}

TEST_F(BetweenFamilies, AFrameOfTheOtherFamilyIsMisrouted) {
  bed.translate = nullptr;
  const auto report = bed.run(trial({stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2")}));
  EXPECT_EQ(report.streams[0].misrouted, 3000U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_F(BetweenFamilies, AFrameThatWouldGrowBeyondTheFarPortIsRefused) {
  StreamSpec reverse = stream_of(Side::right, "198.19.0.2", "198.18.0.2");
  reverse.frame_sizes = {1518};
  EXPECT_THROW(bed.run(trial({reverse})), TrialError);
}

}  // namespace
}  // namespace natxy
