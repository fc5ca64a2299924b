// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/gateway.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "form/classifier.hpp"
#include "form/frame_writer.hpp"
#include "packet/bytes.hpp"

namespace natxy::reference {
namespace {

const Clock kClock(1'000'000'000);
constexpr std::uint64_t kSecond = 1'000'000'000;

uint128 address(const char* text) { return parse_address(text)->value; }

/// Makes a test frame with room for a longer header before it.
template <Family F, Form form = Form::udp>
std::vector<std::uint8_t> frame_bytes(const char* from, std::uint16_t from_port, const char* to, std::uint16_t to_port,
                                      std::size_t size = 100, std::uint8_t ttl = 64) {
  FrameSettings settings;
  settings.size = size;
  settings.ttl = ttl;
  const FrameWriter<layout_of(form, F)> frame(form, settings);
  std::vector<std::uint8_t> bytes(kGrowth + frame.length());
  std::uint8_t* at = bytes.data() + kGrowth;
  TupleLanes<F> tuples;
  tuples.set(0, {static_cast<Address<F>>(address(from)), static_cast<Address<F>>(address(to)), from_port, to_port});
  frame.write({&at, 1}, tuples, Series{42, 1}, 4711);
  return bytes;
}

struct Seen {
  FrameKind kind = FrameKind::malformed;
  std::string tuple;
  std::uint8_t hops = 0;

  bool operator==(const Seen&) const = default;
};

Seen look(const Departure& departure) {
  const std::span<const std::uint8_t> frame{departure.frame.data, departure.frame.length};
  const Classified seen = classify(frame);
  if (seen.datagram.transport == nullptr) return {seen.kind, "", 0};
  const auto told = [&](const auto& tuple) {
    const auto end = [&](uint128 host, std::uint16_t port) {
      return format_address({seen.family, host}) + " " + std::to_string(port);
    };
    return end(tuple.source, tuple.source_port) + " > " + end(tuple.destination, tuple.destination_port);
  };
  const bool v4 = seen.family == Family::ipv4;
  return {seen.kind, v4 ? told(seen.datagram.tuple<Family::ipv4>()) : told(seen.datagram.tuple<Family::ipv6>()),
          frame[v4 ? 22 : 21]};
}

class GatewayTest : public testing::Test {
 protected:
  Gateway& gateway() { return made ? *made : made.emplace(settings, kClock); }

  void translate(Mode mode, const char* pool, const char* prefix = nullptr) {
    settings.mode = mode;
    settings.table.capacity = 100;
    if (pool != nullptr) settings.translation.pool = *parse_prefix(pool);
    if (prefix != nullptr) settings.translation.prefix = parse_prefix(prefix);
  }
  void map(const char* ipv4, const char* ipv6) {
    settings.translation.mappings.push_back({*parse_prefix(ipv4), *parse_prefix(ipv6)});
  }
  std::optional<Departure> pass(Side side, std::vector<std::uint8_t>& bytes, std::uint64_t now = kSecond) {
    return gateway().forward(side, {bytes.data() + kGrowth, bytes.size() - kGrowth}, now, now);
  }
  template <Family F>
  Seen send(Side side, const char* from, std::uint16_t from_port, const char* to, std::uint16_t to_port,
            std::size_t size = 100) {
    auto bytes = frame_bytes<F>(from, from_port, to, to_port, size);
    const auto departure = pass(side, bytes);
    return departure ? look(*departure) : Seen{};
  }
  /// Sends `frames` frames at `rate_fps` from the left. Returns those that passed, with the times at which they are
  /// due.
  std::vector<Departure> stream(std::size_t frames, std::uint64_t gap_ns = 1000) {
    std::vector<Departure> passed;
    for (std::size_t i = 0; i < frames; ++i) {
      auto bytes = frame_bytes<Family::ipv4>("198.18.0.2", 1000, "198.19.0.2", 2000);
      if (auto departure = pass(Side::left, bytes, kSecond + i * gap_ns)) {
        seen.push_back(look(*departure));
        departure->frame = {};
        passed.push_back(*departure);
      }
    }
    return passed;
  }
  std::uint64_t dropped(Side side, Drop cause) {
    return gateway().counters(side).dropped.at(static_cast<std::size_t>(cause));
  }
  Faults& faults() { return of(settings.truth.faults, Side::left); }

  Settings settings;
  std::optional<Gateway> made;
  std::vector<Seen> seen;
};

TEST_F(GatewayTest, ForwardsBothFamiliesWithOneHopLess) {
  EXPECT_EQ(send<Family::ipv4>(Side::left, "198.18.0.2", 1000, "198.19.0.2", 2000),
            (Seen{FrameKind::test, "198.18.0.2 1000 > 198.19.0.2 2000", 63}));
  EXPECT_EQ(send<Family::ipv6>(Side::right, "2001:2::2", 1, "2001:2:0:8000::2", 65535),
            (Seen{FrameKind::test, "2001:2::2 1 > 2001:2:0:8000::2 65535", 63}));
}

TEST_F(GatewayTest, Nat44HidesTheLeftAndFindsTheWayBack) {
  translate(Mode::nat44, "198.19.0.1/32");
  EXPECT_EQ(send<Family::ipv4>(Side::left, "10.0.0.2", 1024, "198.19.0.2", 80),
            (Seen{FrameKind::test, "198.19.0.1 1024 > 198.19.0.2 80", 63}));
  EXPECT_EQ(send<Family::ipv4>(Side::right, "198.19.0.2", 80, "198.19.0.1", 1024),
            (Seen{FrameKind::test, "198.19.0.2 80 > 10.0.0.2 1024", 63}));
  EXPECT_EQ(send<Family::ipv4>(Side::right, "198.19.0.2", 81, "198.19.0.1", 1024).kind, FrameKind::malformed);
  EXPECT_EQ(dropped(Side::right, Drop::no_connection), 1U);
  EXPECT_EQ(gateway().connections(), 1U);
}

TEST_F(GatewayTest, Nat66HidesTheLeftAndFindsTheWayBack) {
  translate(Mode::nat66, "2001:2:0:8000::1/128");
  EXPECT_EQ(send<Family::ipv6>(Side::left, "fd00:2::2", 65535, "2001:2:0:8000::2", 1),
            (Seen{FrameKind::test, "2001:2:0:8000::1 65535 > 2001:2:0:8000::2 1", 63}));
  EXPECT_EQ(send<Family::ipv6>(Side::right, "2001:2:0:8000::2", 1, "2001:2:0:8000::1", 65535),
            (Seen{FrameKind::test, "2001:2:0:8000::2 1 > fd00:2::2 65535", 63}));
}

TEST_F(GatewayTest, Nat64TranslatesThereAndBackAtEverySize) {
  translate(Mode::nat64, "198.19.0.1/32", "2001:2:0:64::/96");
  for (const std::size_t size : {84U, 85U, 1518U}) {
    EXPECT_EQ(send<Family::ipv6>(Side::left, "2001:2::2", 4000, "2001:2:0:64::c613:2", 80, size),
              (Seen{FrameKind::test, "198.19.0.1 4000 > 198.19.0.2 80", 63}));
    EXPECT_EQ(send<Family::ipv4>(Side::right, "198.19.0.2", 80, "198.19.0.1", 4000, size - 20),
              (Seen{FrameKind::test, "2001:2:0:64::c613:2 80 > 2001:2::2 4000", 63}));
  }
}

TEST_F(GatewayTest, Nat64ForwardsNativeIpv6) {
  translate(Mode::nat64, "198.19.0.1/32", "2001:2:0:64::/96");
  EXPECT_EQ(send<Family::ipv6>(Side::left, "2001:2::2", 1, "2001:2:0:8000::2", 2).tuple,
            "2001:2::2 1 > 2001:2:0:8000::2 2");
  EXPECT_EQ(send<Family::ipv6>(Side::right, "2001:2:0:8000::2", 2, "2001:2::2", 1).tuple,
            "2001:2:0:8000::2 2 > 2001:2::2 1");
  EXPECT_EQ(gateway().connections(), 0U);
}

TEST_F(GatewayTest, Nat46TranslatesThereAndBack) {
  translate(Mode::nat46, "2001:2:0:8000::1/128");
  map("198.19.0.0/16", "2001:2:0:8001::/112");
  EXPECT_EQ(send<Family::ipv4>(Side::left, "198.18.0.2", 4000, "198.19.3.4", 80),
            (Seen{FrameKind::test, "2001:2:0:8000::1 4000 > 2001:2:0:8001::304 80", 63}));
  EXPECT_EQ(send<Family::ipv6>(Side::right, "2001:2:0:8001::304", 80, "2001:2:0:8000::1", 4000),
            (Seen{FrameKind::test, "198.19.3.4 80 > 198.18.0.2 4000", 63}));
}

TEST_F(GatewayTest, SiitTranslatesWithoutConnections) {
  translate(Mode::siit, nullptr, "2001:2:0:64::/96");
  map("198.18.0.2/32", "2001:2::2/128");
  EXPECT_EQ(send<Family::ipv6>(Side::left, "2001:2::2", 1, "2001:2:0:64::c613:2", 2).tuple,
            "198.18.0.2 1 > 198.19.0.2 2");
  EXPECT_EQ(send<Family::ipv4>(Side::right, "198.19.0.2", 2, "198.18.0.2", 1).tuple,
            "2001:2:0:64::c613:2 2 > 2001:2::2 1");
  EXPECT_EQ(send<Family::ipv6>(Side::left, "2001:2::3", 1, "2001:2:0:64::c613:2", 2).kind, FrameKind::malformed);
  EXPECT_EQ(dropped(Side::left, Drop::untranslatable), 1U);
  EXPECT_EQ(gateway().connections(), 0U);
}

TEST_F(GatewayTest, TranslatesStatelesslyFromIpv4OnTheLeft) {
  translate(Mode::clat, nullptr, "2001:2:0:64::/96");
  map("10.0.0.2/32", "2001:2:0:46::a00:2/128");
  EXPECT_EQ(send<Family::ipv4>(Side::left, "10.0.0.2", 1, "198.19.0.2", 2).tuple,
            "2001:2:0:46::a00:2 1 > 2001:2:0:64::c613:2 2");
  EXPECT_EQ(send<Family::ipv6>(Side::right, "2001:2:0:64::c613:2", 2, "2001:2:0:46::a00:2", 1).tuple,
            "198.19.0.2 2 > 10.0.0.2 1");
  // Native IPv6 is routed.
  EXPECT_EQ(send<Family::ipv6>(Side::right, "2001:2:0:9::1", 2, "2001:2:0:1::5", 1).tuple,
            "2001:2:0:9::1 2 > 2001:2:0:1::5 1");
  EXPECT_EQ(gateway().connections(), 0U);
}

TEST_F(GatewayTest, LongIpv4FramesMustNotBeFragmented) {
  translate(Mode::nat64, "198.19.0.1/32", "2001:2:0:64::/96");
  for (const std::size_t total : {1260U, 1261U}) {
    auto bytes = frame_bytes<Family::ipv6>("2001:2::2", 1, "2001:2:0:64::c613:2", 2, total + 20 + 18);
    const auto departure = pass(Side::left, bytes);
    ASSERT_TRUE(departure);
    EXPECT_EQ(load_be16(departure->frame.data + 16), total);
    EXPECT_EQ(load_be16(departure->frame.data + 20), total > 1260 ? 0x4000 : 0);
  }
}

TEST_F(GatewayTest, PaddingIsNotTranslated) {
  translate(Mode::nat46, "2001:2:0:8000::1/128");
  map("198.19.0.2/32", "2001:2:0:8000::2/128");
  auto bytes = frame_bytes<Family::ipv4>("198.18.0.2", 1, "198.19.0.2", 2, 64);
  bytes.resize(bytes.size() + 7);
  const auto departure = pass(Side::left, bytes);
  ASSERT_TRUE(departure);
  EXPECT_EQ(departure->frame.length, 80U);
  EXPECT_EQ(look(*departure).kind, FrameKind::test);
}

TEST_F(GatewayTest, TranslatesTcpAsUdp) {
  translate(Mode::nat64, "198.19.0.1/32", "2001:2:0:64::/96");
  auto there = frame_bytes<Family::ipv6, Form::tcp>("2001:2::2", 5000, "2001:2:0:64::c613:2", 80);
  const auto left = pass(Side::left, there);
  ASSERT_TRUE(left);
  EXPECT_EQ(look(*left), (Seen{FrameKind::test, "198.19.0.1 5000 > 198.19.0.2 80", 63}));
  auto back = frame_bytes<Family::ipv4, Form::tcp>("198.19.0.2", 80, "198.19.0.1", 5000);
  const auto right = pass(Side::right, back);
  ASSERT_TRUE(right);
  EXPECT_EQ(look(*right), (Seen{FrameKind::test, "2001:2:0:64::c613:2 80 > 2001:2::2 5000", 63}));
}

TEST_F(GatewayTest, AnswersASynByAReset) {
  settings.truth.tcp.reset_every = 2;
  for (const bool refused : {false, true}) {
    auto bytes = frame_bytes<Family::ipv4, Form::tcp_option>("198.18.0.2", 5000, "198.19.0.2", 80);
    const auto departure = pass(Side::left, bytes);
    ASSERT_TRUE(departure);
    EXPECT_EQ(departure->back, refused);
    EXPECT_EQ(look(*departure).kind, refused ? FrameKind::tcp : FrameKind::test);
    if (!refused) continue;
    ASSERT_EQ(departure->frame.length, 54U);
    const std::uint8_t* frame = departure->frame.data;
    EXPECT_EQ(load_be32(frame + 26), 0xC613'0002U);
    EXPECT_EQ(load_be16(frame + 34), 80);
    EXPECT_EQ(frame[47], 0x14);  // RST and ACK
    EXPECT_TRUE(is_intact(checksum_of(frame + 14, 20)));
    EXPECT_TRUE(is_intact(checksum_of(frame + 26, 28) + __builtin_bswap16(6) + __builtin_bswap16(20)));
  }
}

TEST_F(GatewayTest, ShiftsSequenceNumbersAndLosesSynAcks) {
  settings.truth.tcp = {.drop_syn_ack_every = 1, .shift_sequence_every = 1};
  auto syn = frame_bytes<Family::ipv6, Form::tcp_option>("2001:2::2", 5000, "2001:2:0:8000::2", 80, 110);
  const std::uint32_t before = load_be32(syn.data() + kGrowth + 58);
  const auto departure = pass(Side::left, syn);
  ASSERT_TRUE(departure);
  EXPECT_EQ(load_be32(departure->frame.data + 58), before + 1);
  EXPECT_EQ(look(*departure).kind, FrameKind::test);  // with a right checksum
  auto syn_ack = frame_bytes<Family::ipv6, Form::tcp_option>("2001:2:0:8000::2", 80, "2001:2::2", 5000, 110);
  syn_ack[kGrowth + 54 + 13] = kTcpSyn | kTcpAck;
  EXPECT_FALSE(pass(Side::right, syn_ack));
  EXPECT_EQ(dropped(Side::right, Drop::loss), 1U);
}

TEST_F(GatewayTest, AMissingIpv4ChecksumIsComputedForIpv6) {
  translate(Mode::nat46, "2001:2:0:8000::1/128");
  map("198.19.0.2/32", "2001:2:0:8000::2/128");
  auto bytes = frame_bytes<Family::ipv4>("198.18.0.2", 1, "198.19.0.2", 2);
  store_be16(bytes.data() + kGrowth + 40, 0);
  const auto departure = pass(Side::left, bytes);
  ASSERT_TRUE(departure);
  EXPECT_EQ(look(*departure).kind, FrameKind::test);
}

TEST_F(GatewayTest, DropsFramesThatItCannotForward) {
  auto spent = frame_bytes<Family::ipv4>("198.18.0.2", 1, "198.19.0.2", 2, 64, 1);
  EXPECT_FALSE(pass(Side::left, spent));
  EXPECT_EQ(dropped(Side::left, Drop::ttl), 1U);
  auto fragment = frame_bytes<Family::ipv6>("2001:2::2", 1, "2001:2:0:8000::2", 2);
  fragment[kGrowth + 20] = 44;
  EXPECT_FALSE(pass(Side::left, fragment));
  EXPECT_EQ(dropped(Side::left, Drop::foreign), 1U);
  auto cut = frame_bytes<Family::ipv4>("198.18.0.2", 1, "198.19.0.2", 2);
  cut.pop_back();
  EXPECT_FALSE(pass(Side::left, cut));
  EXPECT_EQ(dropped(Side::left, Drop::malformed), 1U);
}

TEST_F(GatewayTest, ReadsNothingOutsideAnUntrustedFrame) {
  translate(Mode::nat64, "198.19.0.1/32", "2001:2:0:64::/96");
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; ++i) {
    auto bytes = i % 2 == 0 ? frame_bytes<Family::ipv6>("2001:2::2", 1, "2001:2:0:64::c613:2", 2)
                            : frame_bytes<Family::ipv4>("198.19.0.2", 2, "198.19.0.1", 1);
    for (int spoiled = 0; spoiled < 3; ++spoiled) {
      bytes[kGrowth + 12 + random() % 40] = static_cast<std::uint8_t>(random());
    }
    bytes.resize(kGrowth + random() % (bytes.size() - kGrowth + 1));
    bytes.shrink_to_fit();
    static_cast<void>(pass(i % 4 < 2 ? Side::left : Side::right, bytes));
  }
}

TEST_F(GatewayTest, LosesFramesByPattern) {
  faults().loss = {10, 2};
  EXPECT_EQ(stream(100).size(), 80U);
  EXPECT_EQ(dropped(Side::left, Drop::loss), 20U);
  gateway().clear();
  EXPECT_EQ(stream(8).size(), 8U);
}

TEST_F(GatewayTest, SpoilsChecksumsAndPortsOfEveryNth) {
  faults().corrupt_checksum_every = 4;
  faults().wrong_port_every = 3;
  stream(12);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].kind, i % 4 == 3 ? FrameKind::corrupt_test : FrameKind::test) << i;
    EXPECT_EQ(seen[i].tuple, i % 3 == 2 ? "198.18.0.2 1001 > 198.19.0.2 2000" : "198.18.0.2 1000 > 198.19.0.2 2000");
  }
  EXPECT_EQ(gateway().counters(Side::left).corrupted, 3U);
  EXPECT_EQ(gateway().counters(Side::left).wrong_port, 4U);
}

TEST_F(GatewayTest, DuplicatesReordersAndDelays) {
  faults().duplicate_every = 5;
  faults().reorder_every = 4;
  faults().reorder_by = 3;
  faults().delay = {{1, 7000, 7000}};
  const auto departures = stream(20);
  ASSERT_EQ(departures.size(), 20U);
  for (std::size_t i = 0; i < departures.size(); ++i) {
    EXPECT_EQ(departures[i].copies, i % 5 == 4 ? 2U : 1U);
    EXPECT_EQ(departures[i].behind, i % 4 == 3 ? 3U : 0U);
    EXPECT_EQ(departures[i].due, kSecond + i * 1000 + 7000);
  }
}

TEST_F(GatewayTest, KeepsTheOrderOfDelayedFramesIfConfigured) {
  faults().delay = {{0.5, 0, 0}, {0.5, 50'000, 50'000}};
  faults().keep_order = true;
  const auto departures = stream(100);
  EXPECT_TRUE(std::ranges::is_sorted(departures, {}, &Departure::due));
}

TEST_F(GatewayTest, HasARateOfEachDirectionOrOfBoth) {
  for (const bool aggregate : {false, true}) {
    settings.truth.rate = {1000.0, 10, aggregate, 0};
    made.reset();
    int passed = 0;
    for (int i = 0; i < 20; ++i) {
      const bool from_left = i % 2 == 0;
      passed += send<Family::ipv4>(from_left ? Side::left : Side::right, "198.18.0.2", 1, "198.19.0.2", 2).kind ==
                        FrameKind::test
                    ? 1
                    : 0;
    }
    EXPECT_EQ(passed, aggregate ? 10 : 20);
  }
}

TEST_F(GatewayTest, HasOutagesWhetherFramesFlowOrNot) {
  settings.truth.outages = {1'000'000, 500'000};
  int lost = 0;
  for (int i = 0; i < 1000; ++i) {
    auto bytes = frame_bytes<Family::ipv4>("198.18.0.2", 1, "198.19.0.2", 2);
    // Much later each time, so that many outages lie between two frames.
    if (!pass(Side::left, bytes, kSecond + static_cast<std::uint64_t>(i) * 50'000'000)) ++lost;
  }
  EXPECT_NEAR(lost, 333, 75);  // five standard deviations
  EXPECT_EQ(dropped(Side::left, Drop::outage), static_cast<std::uint64_t>(lost));
}

TEST_F(GatewayTest, IsDeafForTheConfiguredTimeAndForgetsInARestart) {
  translate(Mode::nat44, "198.19.0.1/32");
  EXPECT_EQ(stream(3).size(), 3U);
  EXPECT_EQ(gateway().connections(), 1U);
  gateway().deafen(kSecond + 5000);
  EXPECT_EQ(stream(10).size(), 5U);
  EXPECT_EQ(dropped(Side::left, Drop::deaf), 5U);
  gateway().restart();
  EXPECT_EQ(gateway().connections(), 0U);
}

}  // namespace
}  // namespace natxy::reference
