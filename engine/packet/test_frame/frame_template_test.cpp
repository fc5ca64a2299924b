// SPDX-License-Identifier: Apache-2.0
#include "packet/test_frame/frame_template.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "packet/classifier.hpp"

namespace natxy {
namespace {

template <Family F>
Address<F> random_address(std::mt19937_64& random) {
  return static_cast<Address<F>>((uint128{random()} << 64) | random());
}

/// Returns tuples whose addresses have their first `shared` bits in common.
template <Family F>
TupleLanes<F> random_tuples(std::mt19937_64& random, unsigned shared) {
  const Address<F> varying = shared < address_bits(F) ? static_cast<Address<F>>(~Address<F>{0}) >> shared : 0;
  const Address<F> source = random_address<F>(random);
  const Address<F> destination = random_address<F>(random);
  const auto with = [&](Address<F> address) { return address ^ (random_address<F>(random) & varying); };
  TupleLanes<F> tuples;
  for (std::size_t i = 0; i < kBurst; ++i) {
    tuples.set(i, {with(source), with(destination), static_cast<std::uint16_t>(random()),
                   static_cast<std::uint16_t>(random())});
  }
  return tuples;
}

template <Family F>
void write_one(const FrameTemplate<F>& frame, std::uint8_t* bytes, const Tuple<F>& tuple, std::uint64_t sequence,
               std::uint64_t time) {
  TupleLanes<F> tuples;
  tuples.set(0, tuple);
  frame.write({&bytes, 1}, tuples, {sequence, 1}, time);
}

template <Family F>
void expect_round_trip(std::size_t size) {
  std::mt19937_64 random(size);
  FrameFormat format;
  format.size = size;
  format.stream = 3;
  format.run_id = 0xABCD;
  const FrameTemplate<F> frame(format);
  ASSERT_EQ(frame.length(), size - kFcsBytes);
  constexpr std::size_t guard = 64;
  constexpr std::array kShared = {0U, 31U, 32U, 64U, 79U, 80U, 81U, 128U};
  std::vector<std::uint8_t> memory(kBurst * (frame.length() + guard), 0xEE);
  std::array<std::uint8_t*, kBurst> frames{};
  for (std::size_t i = 0; i < kBurst; ++i) frames[i] = memory.data() + i * (frame.length() + guard);
  for (std::size_t round = 0; round < 200; ++round) {
    const std::size_t count = 1 + round % kBurst;
    const auto tuples = random_tuples<F>(random, kShared[random() % kShared.size()]);
    const Series sequences{random() >> 17, 1 + random() % 4};
    const std::uint64_t time = random() & kMask48;
    frame.write(std::span(frames).first(count), tuples, sequences, time);
    for (std::size_t i = 0; i < count; ++i) {
      const Classified seen = classify({frames[i], frame.length()});
      ASSERT_EQ(seen.kind, FrameKind::test) << size;
      ASSERT_EQ(seen.family, F);
      ASSERT_EQ(seen.datagram.tuple<F>(), tuples.get(i));
      ASSERT_EQ(seen.datagram.signature().stream, 3);
      ASSERT_EQ(seen.datagram.signature().run_id, 0xABCD);
      ASSERT_EQ(seen.datagram.signature().sequence, sequences.at(i));
      ASSERT_EQ(seen.datagram.signature().time, time);
      ASSERT_EQ(std::count(frames[i] + frame.length(), frames[i] + frame.length() + guard, 0xEE), guard);
    }
  }
}

// tests/frames_test.py compares frames with an independent implementation; this test is for quick feedback.
TEST(FrameTemplate, FramesClassifyAsTheyWereMade) {
  for (const std::size_t size : {64U, 65U, 84U, 128U, 511U, 1518U, 9216U}) expect_round_trip<Family::ipv4>(size);
  for (const std::size_t size : {84U, 85U, 128U, 1280U, 1518U, 9216U}) expect_round_trip<Family::ipv6>(size);
}

TEST(FrameTemplate, AComputedZeroChecksumIsSentAsAllOnes) {
  const FrameTemplate<Family::ipv4> frame({});
  std::vector<std::uint8_t> bytes(frame.length());
  const std::uint8_t* checksum = bytes.data() + kEthernetBytes + kIpv4Bytes + 6;
  bool seen = false;
  for (std::uint32_t port = 0; port <= 0xFFFF; ++port) {
    write_one<Family::ipv4>(frame, bytes.data(), {0xC6120002, 0xC6130002, static_cast<std::uint16_t>(port), 53}, 0, 0);
    ASSERT_NE(load_be16(checksum), 0);
    if (load_be16(checksum) == 0xFFFF) {
      seen = true;
      ASSERT_EQ(classify(bytes).kind, FrameKind::test);
    }
  }
  EXPECT_TRUE(seen);
}

TEST(FrameTemplate, RefusesFramesTooShortForTheSignature) {
  FrameFormat format;
  format.size = 63;
  EXPECT_THROW(FrameTemplate<Family::ipv4>{format}, std::invalid_argument);
  format.size = 83;
  EXPECT_THROW(FrameTemplate<Family::ipv6>{format}, std::invalid_argument);
}

}  // namespace
}  // namespace natxy
