// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/softwire_end.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

#include "form/classifier.hpp"
#include "form/test_frames.hpp"
#include "reference/gateway/gateway.hpp"

namespace natxy::reference {
namespace {

const Clock kClock(1'000'000'000);
constexpr std::uint64_t kNow = 1'000'000'000;
constexpr std::uint32_t kSubscriber = 0xC000'0212;  // 192.0.2.18
constexpr std::uint16_t kPort = 1232;
constexpr Tuple<Family::ipv4> kUp = {kSubscriber, 0xC612'0002, kPort, 53};

/// Returns a frame, built byte by byte, with this TTL and room for an outer header before it.
Bytes frame_of(Form form, const Tuple<Family::ipv4>& tuple, std::uint8_t ttl, std::size_t size = 128) {
  Bytes frame = plain_frame<Family::ipv4>(form, size, tuple, 42, 4711);
  const FormInFamily of{form, Family::ipv4};
  frame[of.layout().ip() + 8] = ttl;
  put_checksums(of, frame);
  frame.insert(frame.begin(), kGrowth, 0);
  return frame;
}

class SoftwireEndTest : public testing::TestWithParam<Outer> {
 protected:
  SoftwireEndTest() { settings.softwire = {.sends = GetParam(), .softwire = kSoftwire}; }

  [[nodiscard]] bool at_edge() const { return GetParam() == Outer::from_edge; }
  /// The side with plain packets.
  [[nodiscard]] Side plain_side() const { return at_edge() ? Side::left : Side::right; }
  [[nodiscard]] Side softwire_side() const { return opposite(plain_side()); }
  [[nodiscard]] Form sent_form() const { return at_edge() ? Form::softwire_from_edge : Form::softwire_from_core; }
  [[nodiscard]] Form received_form() const { return at_edge() ? Form::softwire_from_core : Form::softwire_from_edge; }
  [[nodiscard]] Tuple<Family::ipv4> sent_tuple() const { return at_edge() ? kUp : kUp.swapped(); }
  [[nodiscard]] Tuple<Family::ipv4> received_tuple() const { return sent_tuple().swapped(); }

  /// Forwards a frame. Returns it as it leaves, or nothing.
  std::optional<Bytes> forward(Side side, Bytes frame) {
    if (!gateway) gateway.emplace(settings, kClock);
    const Frame given{frame.data() + kGrowth, frame.size() - kGrowth};
    const auto departure = gateway->forward(side, given, kNow, kNow);
    if (!departure) return std::nullopt;
    second = departure->second;
    return Bytes(departure->frame.data, departure->frame.data + departure->frame.length);
  }
  std::optional<Bytes> close(std::size_t size = 128) {
    return forward(plain_side(), frame_of(Form::udp, sent_tuple(), 65, size));
  }
  [[nodiscard]] std::uint64_t dropped(Side side, Drop cause) {
    return gateway->counters(side).dropped.at(static_cast<std::size_t>(cause));
  }

  /// Returns the frame that `close` makes without a fault.
  [[nodiscard]] Bytes good() const {
    return plain_frame<Family::ipv4>(sent_form(), 128 + kIpv6Bytes, sent_tuple(), 42, 4711);
  }

  Settings settings;
  std::optional<Gateway> gateway;
  Bytes second;  // the frame that followed the last one
};

constexpr std::size_t kOuter = kEthernetBytes;
constexpr std::size_t kInner = kOuter + kIpv6Bytes;

/// Returns the bytes of a frame from an offset on.
Bytes from(const Bytes& frame, std::size_t at) {
  return {frame.begin() + static_cast<std::ptrdiff_t>(at), frame.end()};
}
Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_P(SoftwireEndTest, PutsPacketsIntoTheFramesThatAreBuiltByteByByte) {
  for (const std::size_t size : std::array<std::size_t, 4>{64, 65, 128, 1518}) {
    const Bytes expected = plain_frame<Family::ipv4>(sent_form(), size + kIpv6Bytes, sent_tuple(), 42, 4711);
    EXPECT_EQ(close(size), expected) << size;
  }
}

TEST_P(SoftwireEndTest, TakesPacketsOut) {
  for (const std::size_t size : std::array<std::size_t, 3>{104, 128, 1558}) {
    const auto opened = forward(softwire_side(), frame_of(received_form(), received_tuple(), 65, size));
    EXPECT_EQ(opened, (plain_frame<Family::ipv4>(Form::udp, size - kIpv6Bytes, received_tuple(), 42, 4711))) << size;
  }
}

TEST_P(SoftwireEndTest, DropsPacketsWhoseOuterAddressesAreNotThoseOfTheInnerOnes) {
  const Bytes good = frame_of(received_form(), received_tuple(), 65);
  for (const std::size_t address : {std::size_t{8}, std::size_t{24}}) {
    for (std::size_t bit = 0; bit < 128; ++bit) {
      Bytes wrong = good;
      wrong[kGrowth + kEthernetBytes + address + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
      EXPECT_FALSE(forward(softwire_side(), wrong)) << address << " " << bit;
    }
  }
  EXPECT_EQ(dropped(softwire_side(), Drop::wrong_softwire), 256U);
  // An inner port of another subscriber.
  Bytes other = good;
  const FormInFamily of{received_form(), Family::ipv4};
  const Layout layout = of.layout();
  other.erase(other.begin(), other.begin() + kGrowth);
  store_be16(&other[layout.transport() + (at_edge() ? 2 : 0)], kPort + 4);
  put_checksums(of, other);
  other.insert(other.begin(), kGrowth, 0);
  EXPECT_FALSE(forward(softwire_side(), other));
  EXPECT_EQ(dropped(softwire_side(), Drop::wrong_softwire), 257U);
  EXPECT_TRUE(forward(softwire_side(), good));
}

TEST_P(SoftwireEndTest, MayAcceptAnySubscribersAddress) {
  settings.softwire->accepts_any_subscriber = true;
  Bytes spoofed = frame_of(received_form(), received_tuple(), 65);
  spoofed[kGrowth + kEthernetBytes + (at_edge() ? 24 : 8) + 15] ^= 1;
  EXPECT_TRUE(forward(softwire_side(), spoofed));
}

TEST_P(SoftwireEndTest, DropsPlainIpv4FromTheSoftwiresAndForwardsNativeIpv6) {
  EXPECT_FALSE(forward(softwire_side(), frame_of(Form::udp, received_tuple(), 65)));
  EXPECT_EQ(dropped(softwire_side(), Drop::foreign), 1U);
  Bytes native = plain_frame({Form::udp, Family::ipv6}, 128);
  native.insert(native.begin(), kGrowth, 0);
  for (const Side side : {Side::left, Side::right}) {
    const auto forwarded = forward(side, native);
    ASSERT_TRUE(forwarded);
    EXPECT_EQ(forwarded->size(), native.size() - kGrowth);
  }
}

TEST_P(SoftwireEndTest, HasEachFaultAtItsTurn) {
  settings.softwire->wrong_subscriber_every = 2;
  settings.softwire->option_every = 3;
  settings.softwire->leak_every = 5;
  const Bytes good = plain_frame<Family::ipv4>(sent_form(), 128 + kIpv6Bytes, sent_tuple(), 42, 4711);
  // The PSID is the port without its last two bits.
  Tuple<Family::ipv4> neighbors = sent_tuple();
  (at_edge() ? neighbors.source_port : neighbors.destination_port) ^= 4;
  const Bytes wrong = plain_frame<Family::ipv4>(sent_form(), 128 + kIpv6Bytes, neighbors, 42, 4711);
  for (unsigned i = 1; i <= 30; ++i) {
    const auto sent = close();
    ASSERT_TRUE(sent);
    const Classified seen = classify(*sent);
    EXPECT_EQ(seen.kind, FrameKind::test) << i;
    EXPECT_EQ(seen.outer == nullptr, i % 5 == 0) << i;
    if (seen.outer == nullptr) continue;
    EXPECT_EQ(seen.between, i % 3 == 0 ? kExtensionUnitBytes : 0) << i;
    const auto subscriber = [&](const Bytes& frame) {
      return load_be128(&frame[kEthernetBytes + (at_edge() ? 8 : 24)]);
    };
    EXPECT_EQ(subscriber(*sent), subscriber(i % 2 == 0 ? wrong : good)) << i;
  }
  const Counters& counters = gateway->counters(plain_side());
  EXPECT_EQ(counters.leaked, 6U);
  EXPECT_EQ(counters.wrong_subscriber, 12U);
  EXPECT_EQ(counters.with_option, 8U);
}

TEST_P(SoftwireEndTest, MayHaveTheAddressOfItsInterface) {
  settings.softwire->interface_source_every = 2;
  const uint128 own = parse_address("2001:2::1")->value;
  settings.links = {{.place = {softwire_side(), 0}, .addresses = {{Family::ipv6, own}}, .neighbors = {}}};
  EXPECT_EQ(close(), good());
  Bytes expected = good();
  store_be128(&expected[kOuter + 8], own);
  EXPECT_EQ(close(), expected);
  EXPECT_EQ(gateway->counters(plain_side()).interface_source, 1U);
}

TEST_P(SoftwireEndTest, MayHaveAHopLimitThatReachesNoOtherLink) {
  settings.softwire->hop_limit_every = 2;
  EXPECT_EQ(close(), good());
  Bytes expected = good();
  expected[kOuter + 7] = 1;
  EXPECT_EQ(close(), expected);
  EXPECT_EQ(gateway->counters(plain_side()).low_hop_limit, 1U);
}

TEST_P(SoftwireEndTest, MaySendToTheEndThatASubscriberHadBefore) {
  settings.softwire->stale_binding = {.every = 4, .frames = 2};
  Bytes stale = good();
  stale[kOuter + (at_edge() ? 8 : 24) + 15] ^= 1;
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(close(), i % 4 < 2 ? good() : stale) << i;
  EXPECT_EQ(gateway->counters(plain_side()).stale_binding, 4U);
}

TEST_P(SoftwireEndTest, MayRemoveTheChecksumOfTheInnerPacket) {
  of(settings.truth.faults, plain_side()).zero_checksum_every = 1;
  Bytes expected = good();
  store_be16(&expected[kInner + kIpv4Bytes + 6], 0);
  EXPECT_EQ(close(), expected);
}

TEST_P(SoftwireEndTest, MayFragmentTheInnerPacket) {
  settings.softwire->inner_fragments_every = 2;
  for (const std::size_t size : {std::size_t{64}, std::size_t{128}, std::size_t{129}, std::size_t{1518}}) {
    const auto whole = close(size);
    EXPECT_TRUE(second.empty());
    auto first = close(size);
    ASSERT_TRUE(whole && first);
    const Bytes payload = from(*whole, kInner + kIpv4Bytes);
    const std::size_t part = first->size() - kInner - kIpv4Bytes;
    EXPECT_EQ(part % 8, 0U);
    EXPECT_EQ(joined(from(*first, kInner + kIpv4Bytes), from(second, kInner + kIpv4Bytes)), payload) << size;
    for (const Bytes& each : {*first, second}) {
      EXPECT_EQ(load_be16(&each[kOuter + 4]), each.size() - kInner);
      EXPECT_EQ(load_be16(&each[kInner + 2]), each.size() - kInner);
      EXPECT_EQ(plain_checksum({each.begin() + kInner, each.begin() + kInner + kIpv4Bytes}), 0);
      EXPECT_EQ(Bytes(each.begin() + kOuter + 6, each.begin() + kInner),
                Bytes(whole->begin() + kOuter + 6, whole->begin() + kInner));
      EXPECT_EQ(Bytes(each.begin(), each.begin() + kOuter), Bytes(whole->begin(), whole->begin() + kOuter));
    }
    EXPECT_EQ(load_be16(&(*first)[kInner + 6]), 0x2000);
    EXPECT_EQ(load_be16(&second[kInner + 6]), part / 8);
  }
}

TEST_P(SoftwireEndTest, MayFragmentTheOuterPacket) {
  settings.softwire->outer_fragments_every = 2;
  for (const std::size_t size : {std::size_t{64}, std::size_t{129}, std::size_t{1518}}) {
    const auto whole = close(size);
    const auto first = close(size);
    ASSERT_TRUE(whole && first);
    constexpr std::size_t kBehind = kInner + kExtensionUnitBytes;
    EXPECT_EQ(joined(from(*first, kBehind), from(second, kBehind)), from(*whole, kInner)) << size;
    const std::size_t part = first->size() - kBehind;
    EXPECT_EQ(Bytes(first->begin() + kInner, first->begin() + kBehind), (Bytes{4, 0, 0, 1, 0, 0, 0, 1}));
    EXPECT_EQ(load_be16(&second[kInner + 2]), part);
    for (const Bytes& each : {*first, second}) {
      EXPECT_EQ(load_be16(&each[kOuter + 4]), each.size() - kInner);
      EXPECT_EQ(each[kOuter + 6], kProtocolFragment);
      EXPECT_EQ(classify(each).kind, FrameKind::ipv6_fragment);
    }
  }
}

class SoftwireEdgeTest : public SoftwireEndTest {};
INSTANTIATE_TEST_SUITE_P(Edge, SoftwireEdgeTest, testing::Values(Outer::from_edge));

TEST_P(SoftwireEdgeTest, GivesASubscriberThePortsOfItsSetBehindANat) {
  settings.mode = Mode::nat44;
  settings.table.capacity = 1000;
  settings.translation.pool = *parse_prefix("192.0.2.18/32");
  settings.translation.ports = PortRanges::of_set(0x34, 8, 6);
  settings.translation.gives_port_set = true;
  const Tuple<Family::ipv4> home = {0xC0A8'0102, kUp.destination, 0, 53};
  std::set<std::uint16_t> ports;
  for (std::uint16_t port = 5000; port < 5252; ++port) {
    const auto sent = forward(Side::left, frame_of(Form::udp, {home.source, home.destination, port, 53}, 65));
    ASSERT_TRUE(sent) << port;
    const auto tuple = classify(*sent).datagram.tuple<Family::ipv4>();
    EXPECT_EQ(tuple.source, kSubscriber);
    ports.insert(tuple.source_port);
    // The whole frame is that of the subscriber, whatever its port.
    EXPECT_EQ(*sent, (plain_frame<Family::ipv4>(sent_form(), 128 + kIpv6Bytes, tuple, 42, 4711)));
    const auto reply = forward(Side::right, frame_of(received_form(), tuple.swapped(), 65, 168));
    EXPECT_EQ(reply, (plain_frame<Family::ipv4>(Form::udp, 128, {home.destination, home.source, 53, port}, 42, 4711)));
  }
  EXPECT_EQ(ports.size(), 252U);
  EXPECT_FALSE(forward(Side::left, frame_of(Form::udp, {home.source, home.destination, 6000, 53}, 65)));
  EXPECT_EQ(dropped(Side::left, Drop::no_port), 1U);
  // Another host has all ports anew.
  EXPECT_TRUE(forward(Side::left, frame_of(Form::udp, {home.source, home.destination + 1, 6000, 53}, 65)));
}

class SoftwireCoreTest : public SoftwireEndTest {};
INSTANTIATE_TEST_SUITE_P(Core, SoftwireCoreTest, testing::Values(Outer::from_core));

TEST_P(SoftwireCoreTest, ForwardsNothingOfSubscribersWithoutABinding) {
  for (const bool accepts_any : {false, true}) {
    settings.softwire->accepts_any_subscriber = accepts_any;
    gateway.emplace(settings, kClock);
    gateway->change_bindings({{kSubscriber + 1, kSubscriber + 9}}, kNow);
    EXPECT_TRUE(close());
    gateway->change_bindings({{kSubscriber, kSubscriber}}, kNow);
    EXPECT_FALSE(close());
    EXPECT_EQ(dropped(Side::right, Drop::no_binding), 1U);
    EXPECT_EQ(forward(Side::left, frame_of(received_form(), received_tuple(), 65)).has_value(), accepts_any);
    EXPECT_EQ(dropped(Side::left, Drop::no_binding), accepts_any ? 0U : 1U);
  }
}

TEST_P(SoftwireCoreTest, MayForwardNothingWhileBindingsAreChanged) {
  settings.truth.bindings.outage_s = 0.1;
  gateway.emplace(settings, kClock);
  EXPECT_TRUE(close());
  gateway->change_bindings({}, kNow);
  EXPECT_FALSE(close());
  EXPECT_EQ(dropped(Side::right, Drop::outage), 1U);
}

TEST_P(SoftwireCoreTest, KeepsHomesWithTheSameAddressApart) {
  settings.mode = Mode::nat44;
  settings.table.capacity = 10'000;
  settings.translation.pool = *parse_prefix("198.19.0.1/32");
  settings.softwire->accepts_any_subscriber = true;
  constexpr std::uint32_t kHomes = 1000;
  const Tuple<Family::ipv4> home = {0xC0A8'0102, 0xC612'0002, 5000, 53};
  const auto of_home = [&](Form form, const Tuple<Family::ipv4>& tuple, std::uint32_t number, std::uint8_t ttl) {
    Bytes frame = frame_of(form, tuple, ttl, 168);
    store_be128(&frame[kGrowth + kOuter + (form == Form::softwire_from_edge ? 8 : 24)],
                (uint128{0x2001'0DB8'0007'0000} << 64) + number);
    return frame;
  };
  std::vector<std::uint16_t> ports;
  for (std::uint32_t number = 0; number < kHomes; ++number) {
    const auto sent = forward(Side::left, of_home(Form::softwire_from_edge, home, number, 65));
    ASSERT_TRUE(sent);
    const auto tuple = classify(*sent).datagram.tuple<Family::ipv4>();
    EXPECT_EQ(tuple.source, 0xC613'0001);
    ports.push_back(tuple.source_port);
  }
  EXPECT_EQ((std::set<std::uint16_t>(ports.begin(), ports.end()).size()), kHomes);
  EXPECT_EQ(gateway->connections(), kHomes);
  for (std::uint32_t number = 0; number < kHomes; ++number) {
    const Tuple<Family::ipv4> reply = {home.destination, 0xC613'0001, 53, ports[number]};
    const auto sent = forward(Side::right, frame_of(Form::udp, reply, 65));
    EXPECT_EQ(sent, from(of_home(Form::softwire_from_core, home.swapped(), number, 64), kGrowth)) << number;
  }
  EXPECT_EQ(gateway->connections(), kHomes);
}

TEST_P(SoftwireCoreTest, ChecksTheSoftwiresOfHomesWithTheSameAddress) {
  settings.mode = Mode::nat44;
  settings.table.capacity = 100;
  settings.translation.pool = *parse_prefix("198.19.0.1/32");
  SubscriberRule& rule = settings.softwire->softwire.subscribers;
  rule.psid_mask = 0;
  settings.softwire->softwire.inner_address = 0xC000'0002;
  const auto of_home = [&](std::uint32_t inner, std::uint32_t address, std::uint32_t identified) {
    Bytes frame = frame_of(Form::softwire_from_edge, {inner, kUp.destination, 5000, 53}, 65, 168);
    store_be64(&frame[kGrowth + kOuter + 8], rule.high_of(std::uint64_t{address}, std::uint64_t{0}));
    store_be64(&frame[kGrowth + kOuter + 16], rule.low_of(std::uint64_t{identified}, std::uint64_t{0}));
    return frame;
  };
  EXPECT_TRUE(forward(Side::left, of_home(0xC000'0002, 0x0A00'0001, 0x0A00'0001)));
  EXPECT_TRUE(forward(Side::left, of_home(0xC000'0002, 0x0A00'0002, 0x0A00'0002)));
  EXPECT_EQ(gateway->connections(), 2U);
  EXPECT_FALSE(forward(Side::left, of_home(0xC000'0003, 0x0A00'0001, 0x0A00'0001)));
  EXPECT_FALSE(forward(Side::left, of_home(0xC000'0002, 0x0A00'0001, 0x0A00'0002)));
  EXPECT_EQ(dropped(Side::left, Drop::wrong_softwire), 2U);
}

TEST_P(SoftwireEndTest, ReadsNothingOutsideAnUntrustedFrame) {
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; ++i) {
    const bool closing = i % 2 == 0;
    Bytes frame = closing ? frame_of(Form::udp, sent_tuple(), 65) : frame_of(received_form(), received_tuple(), 65);
    for (int spoiled = 0; spoiled < 3; ++spoiled) {
      frame[kGrowth + 12 + random() % 80] = static_cast<std::uint8_t>(random());
    }
    frame.resize(kGrowth + random() % (frame.size() - kGrowth + 1));
    frame.shrink_to_fit();
    static_cast<void>(forward(closing ? plain_side() : softwire_side(), frame));
  }
}

INSTANTIATE_TEST_SUITE_P(BothEnds, SoftwireEndTest, testing::Values(Outer::from_edge, Outer::from_core));

}  // namespace
}  // namespace natxy::reference
