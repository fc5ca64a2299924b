// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "form/mix_reader.hpp"
#include "form/test_frames.hpp"

namespace natxy {
namespace {

constexpr std::array<std::size_t, 12> kImix = {104, 104, 594, 104, 104, 594, 104, 104, 594, 104, 594, 1518};
static_assert(kImix[0] == kSmallSize);

/// Returns the frames of a stream with these numbers, each of its own size.
std::vector<Bytes> frames_of(const FormInFamily& form, std::span<const std::uint64_t> sequences) {
  std::vector<Bytes> frames;
  for (const std::uint64_t sequence : sequences) {
    frames.push_back(plain_frame(form, kImix[sequence % kImix.size()], sequence));
  }
  return frames;
}

MixReader reader_of(const FormInFamily& form) {
  std::vector<std::size_t> payloads;
  payloads.reserve(kImix.size());
  for (const std::size_t size : kImix) payloads.push_back(form.layout().payload_bytes(size));
  return {form.form, form.family, SizeCycle(payloads), kRun, kStream, kSoftwire};
}

std::size_t leading(const MixReader& reader, const std::vector<Bytes>& bytes, SignatureLanes& signatures) {
  const std::vector<MixReader::Frame> frames(bytes.begin(), bytes.end());
  return reader.read(frames, signatures);
}

TEST(SizeCycle, RepeatsItsSizesInTheirOrder) {
  const SizeCycle cycle(kImix);
  EXPECT_EQ(cycle.distinct(), (std::vector<std::size_t>{104, 594, 1518}));
  EXPECT_TRUE(cycle.mixed());
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    Lanes<std::uint64_t> sequences;
    for (std::uint64_t& sequence : sequences) sequence = random() >> (16 + random() % 40);
    Lanes<std::uint8_t> ranks;
    cycle.rank(sequences, ranks);
    for (std::size_t i = 0; i < kBurst; ++i) {
      ASSERT_EQ(cycle.distinct()[ranks[i]], kImix[sequences[i] % kImix.size()]);
      ASSERT_EQ(cycle.of(sequences[i]), kImix[sequences[i] % kImix.size()]);
    }
  }
}

TEST(MixReader, ReadsFramesOfEverySizeInTheirOrder) {
  std::mt19937_64 random(2);
  for (const FormInFamily& form : all_forms()) {
    const MixReader reader = reader_of(form);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::uint64_t> sequences(1 + random() % kBurst);
      for (std::uint64_t& sequence : sequences) sequence = random() >> 17;
      SignatureLanes signatures;
      ASSERT_EQ(leading(reader, frames_of(form, sequences), signatures), sequences.size());
      for (std::size_t i = 0; i < sequences.size(); ++i) ASSERT_EQ(signatures.sequence[i], sequences[i]);
    }
  }
}

TEST(MixReader, EndsAtTheFirstFrameThatIsNotIntactOrNotOfItsSize) {
  const FormInFamily form{Form::udp, Family::ipv4};
  const MixReader reader = reader_of(form);
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
