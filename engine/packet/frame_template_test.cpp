// SPDX-License-Identifier: Apache-2.0
#include "packet/frame_template.hpp"

#include <gtest/gtest.h>

#include <random>

#include "packet/classifier.hpp"

namespace natxy {
namespace {

template <Family F>
Tuple<F> random_tuple(std::mt19937_64& random) {
  return {static_cast<Address<F>>((uint128{random()} << 64) | random()),
          static_cast<Address<F>>((uint128{random()} << 64) | random()), static_cast<std::uint16_t>(random()),
          static_cast<std::uint16_t>(random())};
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
  std::vector<std::uint8_t> bytes(frame.length(), 0xEE);
  for (int i = 0; i < 200; ++i) {
    const auto tuple = random_tuple<F>(random);
    const std::uint64_t sequence = random() & kMask48;
    const std::uint64_t time = random() & kMask48;
    frame.write(bytes.data(), tuple, sequence, time);
    const Classified seen = classify(bytes);
    ASSERT_EQ(seen.kind, FrameKind::test) << size;
    ASSERT_EQ(seen.family, F);
    ASSERT_EQ(seen.tuple<F>(), tuple);
    ASSERT_EQ(seen.signature.stream, 3);
    ASSERT_EQ(seen.signature.run_id, 0xABCD);
    ASSERT_EQ(seen.signature.sequence, sequence);
    ASSERT_EQ(seen.signature.time, time);
  }
}

// tests/frames_test.py compares with an implementation that isn't ours; this one is for quick feedback.
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
    frame.write(bytes.data(), {0xC6120002, 0xC6130002, static_cast<std::uint16_t>(port), 53}, 0, 0);
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
