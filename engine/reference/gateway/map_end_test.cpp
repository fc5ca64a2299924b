// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/map_end.hpp"

#include <gtest/gtest.h>

#include <random>

#include "form/classifier.hpp"
#include "form/test_frames.hpp"
#include "reference/gateway/gateway.hpp"

namespace natxy::reference {
namespace {

const Clock kClock(1'000'000'000);
constexpr std::uint64_t kNow = 1'000'000'000;
constexpr unsigned kSize = 128;
constexpr std::uint8_t kTtl = 64;

uint128 ipv6(const char* text) { return parse_address(text)->value; }
std::uint32_t ipv4(const char* text) { return static_cast<std::uint32_t>(parse_address(text)->value); }

// RFC 7599, Appendix A, Examples 1 and 2: a subscriber with PSID 0x34, and a host that is none.
const Tuple<Family::ipv4> kDown4 = {ipv4("10.2.3.4"), ipv4("192.0.2.18"), 80, 1232};
const Tuple<Family::ipv6> kDown6 = {ipv6("2001:db8:ffff:0:a:203:400:0"), ipv6("2001:db8:12:3400:0:c000:212:34"), 80,
                                    1232};

/// Returns a frame, built byte by byte, with this TTL and room for a longer header before it.
template <Family F>
Bytes frame_of(const Tuple<F>& tuple, std::size_t size = kSize, std::uint8_t ttl = kTtl + 1) {
  Bytes frame = plain_frame<F>(Form::udp, size, tuple, 42, 4711);
  frame[kEthernetBytes + (F == Family::ipv4 ? 8 : 7)] = ttl;
  put_checksums({Form::udp, F}, frame);
  frame.insert(frame.begin(), kGrowth, 0);
  return frame;
}

class MapEndTest : public testing::TestWithParam<Outer> {
 protected:
  MapEndTest() {
    settings.map = {.sends = GetParam(),
                    .subscribers = kSoftwire.subscribers,
                    .ipv4 = *parse_prefix("192.0.2.0/24"),
                    .prefix = *parse_prefix("2001:db8:ffff::/64")};
  }

  [[nodiscard]] bool at_edge() const { return GetParam() == Outer::from_edge; }
  [[nodiscard]] Side plain_side() const { return at_edge() ? Side::left : Side::right; }
  [[nodiscard]] Side mapped_side() const { return opposite(plain_side()); }
  // The core sends to the subscriber, the edge receives from it what the core sends.
  [[nodiscard]] Tuple<Family::ipv4> sent4() const { return at_edge() ? kDown4.swapped() : kDown4; }
  [[nodiscard]] Tuple<Family::ipv6> sent6() const { return at_edge() ? kDown6.swapped() : kDown6; }

  std::optional<Bytes> forward(Side side, Bytes frame) {
    if (!gateway) gateway.emplace(settings, kClock);
    const Frame given{frame.data() + kGrowth, frame.size() - kGrowth};
    const auto departure = gateway->forward(side, given, kNow, kNow);
    if (!departure) return std::nullopt;
    return Bytes(departure->frame.data, departure->frame.data + departure->frame.length);
  }
  [[nodiscard]] std::uint64_t dropped(Side side, Drop cause) {
    return gateway->counters(side).dropped.at(static_cast<std::size_t>(cause));
  }

  Settings settings;
  std::optional<Gateway> gateway;
};

TEST_P(MapEndTest, TranslatesToTheAddressesOfRfc7599) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{65}, std::size_t{1280}}) {
    EXPECT_EQ(forward(plain_side(), frame_of(sent4(), size)),
              (plain_frame<Family::ipv6>(Form::udp, size + 20, sent6(), 42, 4711)))
        << size;
  }
}

TEST_P(MapEndTest, TranslatesBack) {
  for (const std::size_t size : {std::size_t{84}, std::size_t{85}, std::size_t{1298}}) {
    EXPECT_EQ(forward(mapped_side(), frame_of(sent6().swapped(), size)),
              (plain_frame<Family::ipv4>(Form::udp, size - 20, sent4().swapped(), 42, 4711)))
        << size;
  }
}

class MapCoreTest : public MapEndTest {};

TEST_P(MapCoreTest, ForwardsNothingOfSubscribersWithoutABinding) {
  for (const bool accepts_any : {false, true}) {
    settings.map->accepts_any_subscriber = accepts_any;
    gateway.emplace(settings, kClock);
    const uint128 own = kDown4.destination;
    gateway->change_bindings({{own + 1, own + 9}}, kNow);
    EXPECT_TRUE(forward(plain_side(), frame_of(sent4())));
    gateway->change_bindings({{own, own}}, kNow);
    EXPECT_FALSE(forward(plain_side(), frame_of(sent4())));
    EXPECT_EQ(dropped(plain_side(), Drop::no_binding), 1U);
    EXPECT_EQ(forward(mapped_side(), frame_of(sent6().swapped())).has_value(), accepts_any);
    EXPECT_EQ(dropped(mapped_side(), Drop::no_binding), accepts_any ? 0U : 1U);
  }
}

TEST_P(MapEndTest, ComputesAChecksumThatIsMissing) {
  Bytes unsummed = frame_of(sent4());
  store_be16(&unsummed[kGrowth + kEthernetBytes + kIpv4Bytes + 6], 0);
  EXPECT_EQ(forward(plain_side(), unsummed), (plain_frame<Family::ipv6>(Form::udp, kSize + 20, sent6(), 42, 4711)));
}

TEST_P(MapEndTest, DropsWhatIsNotItsSubscribersAddress) {
  // The bits of the subscriber's address, as RFC 7597 has them.
  const Bytes good = frame_of(sent6().swapped());
  const std::size_t at = kGrowth + kEthernetBytes + (at_edge() ? 24 : 8);
  for (std::size_t bit = 0; bit < 128; ++bit) {
    Bytes wrong = good;
    wrong[at + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    EXPECT_FALSE(forward(mapped_side(), wrong)) << bit;
  }
  EXPECT_EQ(dropped(mapped_side(), Drop::wrong_softwire), 128U);
  Tuple<Family::ipv6> other = sent6().swapped();
  (at_edge() ? other.destination_port : other.source_port) += 4;
  EXPECT_FALSE(forward(mapped_side(), frame_of(other)));
  EXPECT_TRUE(forward(mapped_side(), good));
}

TEST_P(MapEndTest, MayAcceptAnySubscribersAddress) {
  settings.map->accepts_any_subscriber = true;
  Tuple<Family::ipv6> spoofed = sent6().swapped();
  (at_edge() ? spoofed.destination : spoofed.source) ^= uint128{1} << 72;
  EXPECT_EQ(forward(mapped_side(), frame_of(spoofed)),
            (plain_frame<Family::ipv4>(Form::udp, kSize - 20, sent4().swapped(), 42, 4711)));
}

TEST_P(MapEndTest, ForwardsNativeIpv6AndDropsIpv4WhereItsAddressesAreMapped) {
  const Tuple<Family::ipv6> native = {ipv6("2001:2::1"), ipv6("2001:2:0:1::1"), 1, 2};
  for (const Side side : {Side::left, Side::right}) {
    EXPECT_EQ(forward(side, frame_of(native)), (plain_frame<Family::ipv6>(Form::udp, kSize, native, 42, 4711)));
  }
  EXPECT_FALSE(forward(mapped_side(), frame_of(sent4().swapped())));
  EXPECT_EQ(dropped(mapped_side(), Drop::foreign), 1U);
}

TEST_P(MapEndTest, HasEachFaultAtItsTurn) {
  settings.map->wrong_subscriber_every = 2;
  settings.map->leak_every = 5;
  settings.map->stale_binding = {.every = 10, .frames = 2};
  Faults& faults = of(settings.truth.faults, plain_side());
  faults.zero_checksum_every = 3;
  const char* const neighbor = "2001:db8:12:3500:0:c000:212:35";
  const char* const stale = "2001:db8:12:3400:0:c000:212:35";
  for (unsigned i = 1; i <= 30; ++i) {
    const auto sent = forward(plain_side(), frame_of(sent4()));
    ASSERT_TRUE(sent);
    const Classified seen = classify(*sent);
    ASSERT_EQ(seen.family, i % 5 == 0 ? Family::ipv4 : Family::ipv6) << i;
    const bool unsummed = i % 3 == 0;
    // Over IPv6, a checksum of 0 is wrong.
    EXPECT_EQ(seen.kind, unsummed && i % 5 != 0 ? FrameKind::corrupt_test : FrameKind::test) << i;
    EXPECT_EQ(load_be16(seen.datagram.transport + 6) == 0, unsummed) << i;
    if (i % 5 == 0) continue;
    const auto tuple = seen.datagram.tuple<Family::ipv6>();
    const uint128 expected = i % 10 == 9  ? ipv6(stale)
                             : i % 2 == 0 ? ipv6(neighbor)
                                          : ipv6("2001:db8:12:3400:0:c000:212:34");
    EXPECT_EQ(at_edge() ? tuple.source : tuple.destination, expected) << i;
  }
  const Counters& counters = gateway->counters(plain_side());
  EXPECT_EQ(counters.leaked, 6U);
  EXPECT_EQ(counters.wrong_subscriber, 12U);
  EXPECT_EQ(counters.stale_binding, 3U);
  EXPECT_EQ(counters.zero_checksum, 10U);
}

class MapEdgeTest : public MapEndTest {};

TEST_P(MapEdgeTest, StandsBehindANat) {
  // A customer's edge is a NAT44 to the ports of a set, and a translator.
  settings.mode = Mode::nat44;
  settings.table.capacity = 1000;
  settings.translation.pool = *parse_prefix("192.0.2.18/32");
  settings.translation.ports = PortRanges::of_set(0x34, 8, 6);
  settings.translation.gives_port_set = true;
  const Tuple<Family::ipv4> home = {ipv4("192.168.1.2"), ipv4("10.2.3.4"), 5000, 80};
  const auto sent = forward(Side::left, frame_of(home));
  ASSERT_TRUE(sent);
  const auto tuple = classify(*sent).datagram.tuple<Family::ipv6>();
  EXPECT_EQ(tuple.source, kDown6.destination);
  EXPECT_EQ(tuple.destination, kDown6.source);
  EXPECT_TRUE(settings.translation.ports.contains(tuple.source_port));
  EXPECT_EQ(forward(Side::right, frame_of(tuple.swapped())),
            (plain_frame<Family::ipv4>(Form::udp, kSize - 20, home.swapped(), 42, 4711)));
}

TEST_P(MapEndTest, ReadsNothingOutsideAnUntrustedFrame) {
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; ++i) {
    const bool closing = i % 2 == 0;
    Bytes frame = closing ? frame_of(sent4()) : frame_of(sent6().swapped());
    for (int spoiled = 0; spoiled < 3; ++spoiled) {
      frame[kGrowth + 12 + random() % 60] = static_cast<std::uint8_t>(random());
    }
    frame.resize(kGrowth + random() % (frame.size() - kGrowth + 1));
    frame.shrink_to_fit();
    static_cast<void>(forward(closing ? plain_side() : mapped_side(), frame));
  }
}

INSTANTIATE_TEST_SUITE_P(Core, MapCoreTest, testing::Values(Outer::from_core));
INSTANTIATE_TEST_SUITE_P(Edge, MapEdgeTest, testing::Values(Outer::from_edge));
INSTANTIATE_TEST_SUITE_P(BothEnds, MapEndTest, testing::Values(Outer::from_edge, Outer::from_core));

}  // namespace
}  // namespace natxy::reference
