// SPDX-License-Identifier: Apache-2.0
#include "packet/test_frame/test_frame_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "packet/test_frame/frame_template.hpp"

namespace natxy {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint16_t kRun = 0xABCD;
constexpr std::uint8_t kStream = 3;
constexpr std::uint64_t kTime = 0x0102'0304'0506;

template <Family F>
Bytes test_frame(std::size_t size, std::uint64_t sequence) {
  FrameFormat format;
  format.size = size;
  format.stream = kStream;
  format.run_id = kRun;
  const FrameTemplate<F> frame(format);
  Bytes bytes(frame.length());
  std::uint8_t* const at = bytes.data();
  TupleLanes<F> tuples;
  tuples.set(0, {1, 2, 3, 4});
  frame.write({&at, 1}, tuples, {sequence, 1}, kTime);
  return bytes;
}

Bytes test_frame(Family family, std::size_t size, std::uint64_t sequence = 5) {
  return family == Family::ipv4 ? test_frame<Family::ipv4>(size, sequence) : test_frame<Family::ipv6>(size, sequence);
}

/// Makes the form of the frames that `test_frame` builds.
TestFrameForm form_of(Family family, std::size_t size) {
  return {family, size - kFcsBytes - kEthernetBytes - ip_bytes(family) - kUdpBytes, kRun, kStream};
}

std::size_t leading(const TestFrameForm& form, const std::vector<Bytes>& bytes) {
  const std::vector<TestFrameForm::Frame> frames(bytes.begin(), bytes.end());
  SignatureLanes signatures;
  return form.read(frames, signatures);
}

/// Recomputes the checksums, so that the change of a field is the only deviation.
void recompute_checksums(std::vector<std::uint8_t>& frame) {
  std::uint8_t* ip = frame.data() + kEthernetBytes;
  const bool v4 = load_be16(frame.data() + 12) == kEtherTypeIpv4;
  const std::size_t header = v4 ? kIpv4Bytes : kIpv6Bytes;
  if (v4) {
    store_be16(ip + 10, 0);
    store_raw(ip + 10, ip_checksum(checksum_of(ip, kIpv4Bytes)));
  }
  std::uint8_t* udp = ip + header;
  store_be16(udp + 6, 0);
  const std::size_t length = std::min<std::size_t>(load_be16(udp + 4), frame.size() - kEthernetBytes - header);
  const std::size_t addresses = v4 ? 8 : 32;
  store_raw(udp + 6, udp_checksum(checksum_of(ip + header - addresses, addresses) + __builtin_bswap16(kProtocolUdp) +
                                  __builtin_bswap16(static_cast<std::uint16_t>(length)) + checksum_of(udp, length)));
}

TEST(TestFrameForm, RecognisesItsStreamsFramesOfAnyLength) {
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    for (std::size_t size = smallest_frame(family); size < 1600; ++size) {
      const Bytes bytes = test_frame(family, size);
      const TestFrameForm form = form_of(family, size);
      ASSERT_EQ(leading(form, {bytes}), 1U) << size;
      ASSERT_EQ(leading(form, std::vector(7, bytes)), 7U) << size;
      ASSERT_EQ(bytes.data() + form.udp_at(), classify(bytes).datagram.udp);
    }
  }
}

TEST(TestFrameForm, ReadsEachSignatureIntoItsLane) {
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    std::vector<Bytes> bytes;
    bytes.reserve(kBurst);
    const auto sequence = [](std::uint64_t i) { return 0x1122'3344'5566 + i * 0x0101'0101'0101; };
    for (std::size_t i = 0; i < kBurst; ++i) bytes.push_back(test_frame(family, 100, sequence(i)));
    const std::vector<TestFrameForm::Frame> frames(bytes.begin(), bytes.end());
    for (std::size_t count = 0; count <= kBurst; ++count) {
      SignatureLanes signatures;
      ASSERT_EQ(form_of(family, 100).read(std::span(frames).first(count), signatures), count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(signatures.sequence[i], sequence(i));
        ASSERT_EQ(signatures.time[i], kTime);
      }
    }
  }
}

TEST(TestFrameForm, RejectsAnotherLengthFamilyStreamOrTrial) {
  const Bytes bytes = test_frame(Family::ipv4, 128);
  constexpr std::size_t kPayload = 128 - kFcsBytes - kEthernetBytes - kIpv4Bytes - kUdpBytes;
  EXPECT_EQ(leading({Family::ipv4, kPayload, kRun, kStream}, {bytes}), 1U);
  EXPECT_EQ(leading({Family::ipv6, kPayload, kRun, kStream}, {bytes}), 0U);
  EXPECT_EQ(leading({Family::ipv4, kPayload - 1, kRun, kStream}, {bytes}), 0U);
  EXPECT_EQ(leading({Family::ipv4, kPayload, kRun + 1, kStream}, {bytes}), 0U);
  EXPECT_EQ(leading({Family::ipv4, kPayload, kRun, kStream + 1}, {bytes}), 0U);
}

TEST(TestFrameForm, CountsOnlyTheLeadingOnes) {
  const Bytes good = test_frame(Family::ipv6, 84);
  Bytes bad = good;
  bad.back() ^= 1;
  EXPECT_EQ(leading(form_of(Family::ipv6, 84), {good, good, bad, good}), 2U);
  EXPECT_EQ(leading(form_of(Family::ipv6, 84), {bad, good}), 0U);
  EXPECT_EQ(leading(form_of(Family::ipv6, 84), {}), 0U);
}

TEST(TestFrameForm, NoFlippedBitBehindTheLinkHeaderPasses) {
  for (const Family family : {Family::ipv4, Family::ipv6}) {
    for (const std::size_t size : {smallest_frame(family), std::size_t{131}}) {
      const TestFrameForm form = form_of(family, size);
      const Bytes intact = test_frame(family, size);
      for (std::size_t bit = kEthernetBytes * 8; bit < intact.size() * 8; ++bit) {
        // No checksum covers the traffic class, the flow label and the hop limit.
        const bool free = family == Family::ipv6 && ((bit >= 116 && bit < 144) || (bit >= 168 && bit < 176));
        Bytes frame = intact;
        frame[bit / 8] ^= static_cast<std::uint8_t>(0x80U >> bit % 8);
        ASSERT_EQ(leading(form, {frame}), free ? 1U : 0U) << "bit " << bit;
        // Four frames are read together, and another way.
        std::vector<Bytes> four(4, intact);
        four[bit % 4] = frame;
        ASSERT_EQ(leading(form, four), free ? 4U : bit % 4) << "bit " << bit;
      }
    }
  }
}

/// Makes a frame of a stream, or something like it.
Bytes altered_frame(Family family, std::size_t size, std::mt19937_64& random) {
  Bytes frame = test_frame(family, size, random() & kMask48);
  // Mostly in the headers and the signature, where most bytes matter.
  for (std::size_t flips = random() % 3; flips > 0; --flips) {
    frame[random() % std::min<std::size_t>(frame.size(), 96)] ^= static_cast<std::uint8_t>(1U << random() % 8);
  }
  if (random() % 2 == 0) recompute_checksums(frame);
  if (random() % 8 == 0) frame.resize(random() % (frame.size() + 20));
  // AddressSanitizer reports reads beyond the end of the frame.
  frame.shrink_to_fit();
  return frame;
}

TEST(TestFrameForm, ReadsFourFramesAsEachAlone) {
  std::mt19937_64 random(3);
  std::array<std::size_t, 10> by_count{};
  for (int round = 0; round < 50'000; ++round) {
    const std::size_t size = 84 + random() % (random() % 8 == 0 ? 1435 : 60);
    const Family family = random() % 2 == 0 ? Family::ipv4 : Family::ipv6;
    const TestFrameForm form = form_of(family, size);
    std::vector<Bytes> burst;
    for (std::size_t left = 1 + random() % 9; left > 0; --left) {
      burst.push_back(random() % 4 == 0 ? altered_frame(family, size, random)
                                        : test_frame(family, size, random() & kMask48));
    }
    const auto odd = std::ranges::find_if(burst, [&](const Bytes& frame) { return leading(form, {frame}) == 0; });
    const auto count = static_cast<std::size_t>(odd - burst.begin());
    const std::vector<TestFrameForm::Frame> frames(burst.begin(), burst.end());
    SignatureLanes signatures;
    ASSERT_EQ(form.read(frames, signatures), count);
    for (std::size_t i = 0; i < count; ++i) {
      const Signature signature = classify(frames[i]).datagram.signature();
      ASSERT_EQ(signatures.sequence[i], signature.sequence);
      ASSERT_EQ(signatures.time[i], signature.time);
    }
    ++by_count.at(count);
  }
  for (const std::size_t rounds : by_count) EXPECT_GT(rounds, 500U);
}

TEST(TestFrameForm, AcceptsOnlyTestFramesOfTheClassifier) {
  std::mt19937_64 random(9);
  std::size_t plain = 0;
  std::array<std::size_t, kFrameKinds> odd{};
  for (int round = 0; round < 250'000; ++round) {
    const std::size_t size = 84 + random() % (random() % 8 == 0 ? 1435 : 60);
    const Family family = random() % 2 == 0 ? Family::ipv4 : Family::ipv6;
    const Bytes frame = altered_frame(family, size, random);
    const TestFrameForm form = form_of(family, size);
    const Classified judged = classify(frame);
    if (leading(form, {frame}) == 1) {
      ++plain;
      ASSERT_EQ(judged.kind, FrameKind::test);
      ASSERT_EQ(judged.family, family);
      ASSERT_EQ(judged.datagram.udp, frame.data() + form.udp_at());
    } else {
      ++odd.at(static_cast<std::size_t>(judged.kind));
    }
  }
  EXPECT_GT(plain, 50'000U);
  for (const FrameKind kind : {FrameKind::test, FrameKind::corrupt_test, FrameKind::udp, FrameKind::malformed,
                               FrameKind::ipv4_fragment, FrameKind::other_ethertype}) {
    EXPECT_GT(odd.at(static_cast<std::size_t>(kind)), 1000U) << name_of(kind);
  }
}

}  // namespace
}  // namespace natxy
