// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "form/frame_reader.hpp"
#include "form/test_frames.hpp"

namespace natxy {
namespace {

constexpr std::array<std::size_t, 12> kImix = {106, 106, 594, 106, 106, 594, 106, 106, 594, 106, 594, 1518};
static_assert(kImix[0] == kSmallSize);

/// Returns the frames of a stream with these numbers, each of its own size.
std::vector<Bytes> frames_of(const FormInFamily& form, std::span<const std::uint64_t> sequences) {
  std::vector<Bytes> frames;
  for (const std::uint64_t sequence : sequences) {
    frames.push_back(plain_frame(form, kImix[sequence % kImix.size()], sequence));
  }
  return frames;
}

FrameReader reader_of(const FormInFamily& form) {
  std::vector<std::size_t> payloads;
  payloads.reserve(kImix.size());
  for (const std::size_t size : kImix) payloads.push_back(form.layout().payload_bytes(size));
  return {form.form, form.family, SizeCycle(payloads), kRun, kStream, kSoftwire, kMapping};
}

std::size_t leading(const FrameReader& reader, const std::vector<Bytes>& bytes, SignatureLanes& signatures) {
  const std::vector<FrameReader::Frame> frames(bytes.begin(), bytes.end());
  return reader.read(frames, signatures);
}

TEST(SizeCycle, RepeatsItsSizesInTheirOrder) {
  const SizeCycle cycle(kImix);
  EXPECT_TRUE(cycle.mixed());
  EXPECT_EQ(cycle.smallest(), 106U);
  EXPECT_EQ(cycle.largest(), 1518U);
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t first = random() >> (16 + random() % 40);
    const auto burst = cycle.from(first);
    ASSERT_EQ(burst.size(), kBurst);
    for (std::size_t i = 0; i < kBurst; ++i) {
      ASSERT_EQ(burst[i], kImix[(first + i) % kImix.size()]);
      ASSERT_EQ(cycle.of(first + i), burst[i]);
    }
  }
}

TEST(Mix, ReadsFramesOfEverySizeInTheirOrder) {
  std::mt19937_64 random(2);
  for (const FormInFamily& form : all_forms()) {
    const FrameReader reader = reader_of(form);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::uint64_t> sequences(1 + random() % kBurst);
      // Mostly consecutive, as nearly all are.
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        sequences[i] = i > 0 && random() % 8 != 0 ? sequences[i - 1] + 1 : random() >> 17;
      }
      SignatureLanes signatures;
      ASSERT_EQ(leading(reader, frames_of(form, sequences), signatures), sequences.size());
      for (std::size_t i = 0; i < sequences.size(); ++i) ASSERT_EQ(signatures.sequence[i], sequences[i]);
    }
  }
}

TEST(Mix, EndsAtTheFirstFrameThatIsNotIntactOrNotOfItsSize) {
  const FormInFamily form{Form::udp, Family::ipv4};
  const FrameReader reader = reader_of(form);
  std::vector<std::uint64_t> sequences(24);
  for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i] = i;
  for (std::size_t odd = 0; odd < sequences.size(); ++odd) {
    auto frames = frames_of(form, sequences);
    SignatureLanes signatures;
    auto spoiled = frames;
    spoiled[odd].back() ^= 1;
    ASSERT_EQ(leading(reader, spoiled, signatures), odd);
    // Intact, but with a size that the stream has at another place.
    auto exchanged = frames;
    exchanged[odd] = plain_frame(form, kImix[odd % kImix.size()] == 594 ? 1518 : 594, odd);
    ASSERT_EQ(leading(reader, exchanged, signatures), odd);
    auto foreign = frames;
    foreign[odd] = plain_frame(form, 600, odd);
    ASSERT_EQ(leading(reader, foreign, signatures), odd);
  }
}

}  // namespace
}  // namespace natxy
