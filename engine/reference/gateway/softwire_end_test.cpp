// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/softwire_end.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
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
    return Bytes(departure->frame.data, departure->frame.data + departure->frame.length);
  }
  std::optional<Bytes> close(std::size_t size = 128) {
    return forward(plain_side(), frame_of(Form::udp, sent_tuple(), 65, size));
  }
  [[nodiscard]] std::uint64_t dropped(Side side, Drop cause) {
    return gateway->counters(side).dropped.at(static_cast<std::size_t>(cause));
  }

  Settings settings;
  std::optional<Gateway> gateway;
};

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
  store_be16(&other[layout.udp() + (at_edge() ? 2 : 0)], kPort + 4);
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
