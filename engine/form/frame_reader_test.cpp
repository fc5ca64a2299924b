// SPDX-License-Identifier: Apache-2.0
#include "form/frame_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "form/classifier.hpp"
#include "form/test_frames.hpp"
#include "form/tuple_reader.hpp"

namespace natxy {
namespace {

constexpr std::uint64_t kTime = 0x0102'0304'0506;

/// Makes the reader of the frames that `plain_frame` builds.
FrameReader reader_of(const FormInFamily& of, std::size_t size) {
  const std::array payloads{of.layout().payload_bytes(size)};
  return {of.form, of.family, SizeCycle(payloads), kRun, kStream, kSoftwire, kMapping};
}

/// Makes the reader of a mix in which `plain_frame`'s frame has this size.
FrameReader mix_reader_of(const FormInFamily& of, std::size_t size) {
  const std::array payloads{std::size_t{1400}, std::size_t{18}, of.layout().payload_bytes(size)};
  return {of.form, of.family, SizeCycle(payloads), kRun, kStream, kSoftwire, kMapping};
}

std::size_t leading(const FrameReader& reader, const std::vector<Bytes>& bytes) {
  const std::vector<FrameReader::Frame> frames(bytes.begin(), bytes.end());
  SignatureLanes signatures;
  return reader.read(frames, signatures);
}

TEST(FrameReader, RecognisesItsStreamsFramesOfAnyLength) {
  for (const FormInFamily& each : all_forms()) {
    for (std::size_t size = each.layout().smallest_frame(); size < 1600; ++size) {
      const Bytes bytes = plain_frame(each, size);
      const FrameReader reader = reader_of(each, size);
      ASSERT_EQ(leading(reader, {bytes}), 1U) << each << size;
      ASSERT_EQ(leading(reader, std::vector(7, bytes)), 7U) << each << size;
      ASSERT_EQ(leading(mix_reader_of(each, size), std::vector(7, bytes)), 7U) << each << size;
      ASSERT_EQ(bytes.data() + reader.transport_at(), classify(bytes).datagram.transport);
      ASSERT_EQ(bytes.data() + reader.ip_at(), classify(bytes).datagram.ip);
    }
  }
}

TEST(FrameReader, ReadsEachSignatureIntoItsLane) {
  for (const FormInFamily& each : all_forms()) {
    std::vector<Bytes> bytes;
    bytes.reserve(kBurst);
    const auto sequence = [](std::uint64_t i) { return 0x1122'3344'5566 + i * 0x0101'0101'0101; };
    for (std::size_t i = 0; i < kBurst; ++i) bytes.push_back(plain_frame(each, kSmallSize, sequence(i), kTime));
    const std::vector<FrameReader::Frame> frames(bytes.begin(), bytes.end());
    for (std::size_t count = 0; count <= kBurst; ++count) {
      SignatureLanes signatures;
      ASSERT_EQ(reader_of(each, kSmallSize).read(std::span(frames).first(count), signatures), count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(signatures.sequence[i], sequence(i));
        ASSERT_EQ(signatures.time[i], kTime);
      }
    }
  }
}

TEST(FrameReader, RejectsAnotherLengthFamilyStreamOrTrial) {
  const Bytes bytes = plain_frame({Form::udp, Family::ipv4}, 128);
  const SizeCycle payload(std::array{kUdpIpv4.payload_bytes(128)});
  const SizeCycle shorter(std::array{kUdpIpv4.payload_bytes(127)});
  EXPECT_EQ(leading({Form::udp, Family::ipv4, payload, kRun, kStream}, {bytes}), 1U);
  EXPECT_EQ(leading({Form::udp, Family::ipv6, payload, kRun, kStream}, {bytes}), 0U);
  EXPECT_EQ(leading({Form::udp, Family::ipv4, shorter, kRun, kStream}, {bytes}), 0U);
  EXPECT_EQ(leading({Form::udp, Family::ipv4, payload, kRun + 1, kStream}, {bytes}), 0U);
  EXPECT_EQ(leading({Form::udp, Family::ipv4, payload, kRun, kStream + 1}, {bytes}), 0U);
}

TEST(FrameReader, RejectsFramesOfEveryOtherForm) {
  for (const FormInFamily& sent : all_forms()) {
    const Bytes frame = plain_frame(sent, 128);
    for (const FormInFamily& expected : all_forms()) {
      bool same = sent.form == expected.form && sent.family == expected.family;
      // Those of mapped frames are addresses of IPv6 as others.
      same |= expected.form == Form::udp && expected.family == Family::ipv6 && mapped_of(sent.form) != Mapped::none;
      ASSERT_EQ(leading(reader_of(expected, 128), {frame}), same ? 1U : 0U) << sent << ", " << expected;
    }
  }
}

TEST(FrameReader, RejectsFramesOfAnotherSoftwire) {
  for (const Form form : {Form::softwire_from_edge, Form::softwire_from_core}) {
    const FormInFamily each{form, Family::ipv4};
    const Bytes good = plain_frame(each, 128);
    const SizeCycle payload(std::array{each.layout().payload_bytes(128)});
    Softwire other = kSoftwire;
    other.core += 1;
    EXPECT_EQ(leading({form, Family::ipv4, payload, kRun, kStream, other}, {good, good, good, good}), 0U);
    other = kSoftwire;
    other.subscribers.address_shift += 1;
    EXPECT_EQ(leading({form, Family::ipv4, payload, kRun, kStream, other}, {good}), 0U);
    EXPECT_EQ(leading({form, Family::ipv4, payload, kRun, kStream, other}, {good, good, good, good}), 0U);
  }
}

TEST(FrameReader, RejectsAnOuterHopLimitThatReachesNoOtherLink) {
  for (const Form form : {Form::softwire_from_edge, Form::softwire_from_core}) {
    const FormInFamily each{form, Family::ipv4};
    const SizeCycle payload(std::array{each.layout().payload_bytes(128)});
    const FrameReader reader(form, Family::ipv4, payload, kRun, kStream, kSoftwire);
    Bytes frame = plain_frame(each, 128);
    for (const unsigned limit : {0U, 1U, 2U, 3U, 255U}) {
      frame[kEthernetBytes + 7] = static_cast<std::uint8_t>(limit);
      EXPECT_EQ(leading(reader, {frame}), limit > 1 ? 1U : 0U) << limit;
      EXPECT_EQ(leading(reader, {frame, frame, frame, frame}), limit > 1 ? 4U : 0U) << limit;
    }
  }
}

TEST(FrameReader, RejectsFramesOfOtherMappings) {
  for (const Form form : {Form::map_from_edge, Form::map_from_core}) {
    const FormInFamily each{form, Family::ipv4};
    const Bytes good = plain_frame(each, 128);
    const auto expect = [&](const Mapping& mapping, std::size_t leads) {
      const SizeCycle payload(std::array{each.layout().payload_bytes(128)});
      const FrameReader reader(form, Family::ipv4, payload, kRun, kStream, {}, mapping);
      EXPECT_EQ(leading(reader, {good}), std::min<std::size_t>(leads, 1));
      EXPECT_EQ(leading(reader, {good, good, good, good}), leads);
    };
    expect(kMapping, 4);
    Mapping other = kMapping;
    other.prefix.high ^= 1;
    expect(other, 0);
    other = kMapping;
    other.prefix.low ^= 1;  // behind the IPv4 address
    expect(other, 0);
    other = kMapping;
    other.subscribers.address_shift += 1;
    expect(other, 0);
    other = kMapping;
    other.subscribers.psid_drop -= 1;
    expect(other, 0);
  }
}

TEST(FrameReader, RejectsPortsThatTheSubscriberDoesNotHave) {
  for (const Form form :
       {Form::softwire_from_edge, Form::softwire_from_core, Form::map_from_edge, Form::map_from_core}) {
    const bool up = layout_of(form, Family::ipv4).from_edge();
    const auto leads = [&](std::uint16_t port, const SubscriberPorts& ports) {
      const Tuple<Family::ipv4> sent{0xC000'0212, 0x0A02'0304, port, 80};
      const Bytes frame = plain_frame<Family::ipv4>(form, 128, up ? sent : sent.swapped(), 5, 6);
      const SizeCycle payload(std::array{layout_of(form, Family::ipv4).payload_bytes(128)});
      Softwire softwire = kSoftwire;
      Mapping mapping = kMapping;
      softwire.subscribers.ports = mapping.subscribers.ports = ports;
      const FrameReader reader(form, Family::ipv4, payload, kRun, kStream, softwire, mapping);
      const std::size_t alone = leading(reader, {frame});
      EXPECT_EQ(leading(reader, {frame, frame, frame, frame}), 4 * alone);
      return alone == 1;
    };
    // RFC 7597, Appendix A, Example 1.
    const SubscriberPorts of_one{.lowest = 1024, .mask = 0xFF << 2, .value = 0x34 << 2};
    std::size_t had = 0;
    for (unsigned port = 0; port <= 0xFFFF; ++port) had += leads(static_cast<std::uint16_t>(port), of_one) ? 1U : 0U;
    EXPECT_EQ(had, 252U);
    EXPECT_TRUE(leads(1232, of_one));
    EXPECT_TRUE(leads(64723, of_one));
    EXPECT_FALSE(leads(1231, of_one));
    EXPECT_FALSE(leads(208, of_one));  // with its PSID, but below 1024
    EXPECT_TRUE(leads(1024, {.lowest = 1024}));
    EXPECT_FALSE(leads(1023, {.lowest = 1024}));
  }
}

TEST(FrameReader, ReadsTheFramesOfHomesWithTheSameAddress) {
  constexpr std::uint32_t kInner = 0xC000'0002;
  Softwire homes = kSoftwire;
  homes.subscribers.psid_mask = 0;
  homes.inner_address = kInner;
  for (const Form form : {Form::softwire_from_edge, Form::softwire_from_core}) {
    const bool up = form == Form::softwire_from_edge;
    constexpr Tuple<Family::ipv4> kOfHome{0xC000'0212, 0x0A02'0304, 1000, 80};
    Bytes frame = plain_frame<Family::ipv4>(form, 128, up ? kOfHome : kOfHome.swapped(), 5, 6);
    // The end of the home without a PSID, and the address that all homes have.
    for (const std::size_t at : {std::size_t{6}, std::size_t{15}}) frame[kEthernetBytes + (up ? 8 : 24) + at] = 0;
    store_be32(&frame[kFromEdge.addresses() + (up ? 0 : 4)], kInner);
    put_checksums({form, Family::ipv4}, frame);
    const SizeCycle payload(std::array{kFromEdge.payload_bytes(128)});
    const FrameReader reader(form, Family::ipv4, payload, kRun, kStream, homes);
    EXPECT_EQ(leading(reader, {frame}), 1U);
    EXPECT_EQ(leading(reader, std::vector(8, frame)), 8U);
    const Classified judged = classify(frame);
    const TupleReader tuples(form, {});
    EXPECT_EQ(tuples.tuple(judged.datagram), up ? kOfHome : kOfHome.swapped());
    // A home's own address in the inner header.
    Bytes own = frame;
    store_be32(&own[kFromEdge.addresses() + (up ? 0 : 4)], kOfHome.source);
    put_checksums({form, Family::ipv4}, own);
    EXPECT_EQ(leading(reader, {own}), 0U);
    EXPECT_EQ(leading(reader, std::vector(8, own)), 0U);
    // Another home's end, with the first one's identifier.
    Bytes other = frame;
    other[kEthernetBytes + (up ? 8 : 24) + 5] ^= 1;
    EXPECT_EQ(leading(reader, {other}), 0U);
    EXPECT_EQ(leading(reader, std::vector(8, other)), 0U);
    // The writer's frame is the same.
    with_layout(form, Family::ipv4, [&]<Layout L>() {
      if constexpr (L.outer != Outer::none) {
        const FrameWriter<L> writer(form, {.size = 128, .stream = kStream, .run_id = kRun, .softwire = homes});
        std::vector<Bytes> written(7, Bytes(124));
        std::vector<std::uint8_t*> starts(written.size());
        std::ranges::transform(written, starts.begin(), [](Bytes& each) { return each.data(); });
        TupleLanes<Family::ipv4> lanes;
        for (std::size_t i = 0; i < 7; ++i) lanes.set(i, up ? kOfHome : kOfHome.swapped());
        Lanes<std::uint64_t> numbers;
        numbers.fill(5);
        writer.write(starts, lanes, numbers, 6);
        EXPECT_EQ(written, std::vector(7, frame));
      }
    });
  }
}

TEST(FrameReader, CountsOnlyTheLeadingOnes) {
  const FormInFamily form{Form::udp, Family::ipv6};
  const Bytes good = plain_frame(form, 84);
  Bytes bad = good;
  bad.back() ^= 1;
  EXPECT_EQ(leading(reader_of(form, 84), {good, good, bad, good}), 2U);
  EXPECT_EQ(leading(reader_of(form, 84), {bad, good}), 0U);
  EXPECT_EQ(leading(reader_of(form, 84), {}), 0U);
}

TEST(FrameReader, NoFlippedBitBehindTheLinkHeaderPasses) {
  for (const FormInFamily& each : all_forms()) {
    for (const std::size_t size : {each.layout().smallest_frame(), std::size_t{131}}) {
      const FrameReader reader = reader_of(each, size);
      const FrameReader mixed = mix_reader_of(each, size);
      const Bytes intact = plain_frame(each, size);
      for (std::size_t bit = kEthernetBytes * 8; bit < intact.size() * 8; ++bit) {
        // No checksum covers the traffic class, the flow label and the hop limit.
        const bool is_ipv6 = each.layout().link_family() == Family::ipv6;
        const bool free = is_ipv6 && ((bit >= 116 && bit < 144) || (bit >= 168 && bit < 176));
        Bytes frame = intact;
        frame[bit / 8] ^= static_cast<std::uint8_t>(0x80U >> bit % 8);
        ASSERT_EQ(leading(reader, {frame}), free ? 1U : 0U) << each << ", bit " << bit;
        ASSERT_EQ(leading(mixed, {frame}), free ? 1U : 0U) << each << ", bit " << bit;
        // Four frames are read together, and another way.
        std::vector<Bytes> four(4, intact);
        four[bit % 4] = frame;
        ASSERT_EQ(leading(reader, four), free ? 4U : bit % 4) << each << ", bit " << bit;
        ASSERT_EQ(leading(mixed, four), free ? 4U : bit % 4) << each << ", bit " << bit;
      }
    }
  }
}

const std::vector<FormInFamily> kAll = all_forms();

/// Makes a frame of a stream, or something like it.
Bytes altered_frame(const FormInFamily& form, std::size_t size, std::mt19937_64& random) {
  Bytes frame = plain_frame(form, size, random() & kMask48);
  // Mostly in the headers and the signature, where most bytes matter.
  for (std::size_t flips = random() % 3; flips > 0; --flips) {
    frame[random() % std::min<std::size_t>(frame.size(), 112)] ^= static_cast<std::uint8_t>(1U << random() % 8);
  }
  if (random() % 2 == 0) put_checksums(form, frame);
  if (random() % 8 == 0) frame.resize(random() % (frame.size() + 20));
  // AddressSanitizer reports reads beyond the end of the frame.
  frame.shrink_to_fit();
  return frame;
}

std::size_t random_size(std::mt19937_64& random) { return kSmallSize + random() % (random() % 8 == 0 ? 1435 : 60); }

TEST(FrameReader, ReadsFourFramesAsEachAlone) {
  std::mt19937_64 random(3);
  std::array<std::size_t, 10> by_count{};
  for (int round = 0; round < 50'000; ++round) {
    const std::size_t size = random_size(random);
    const FormInFamily form = kAll[random() % kAll.size()];
    const FrameReader reader = reader_of(form, size);
    std::vector<Bytes> burst;
    for (std::size_t left = 1 + random() % 9; left > 0; --left) {
      burst.push_back(random() % 4 == 0 ? altered_frame(form, size, random)
                                        : plain_frame(form, size, random() & kMask48));
    }
    const auto odd = std::ranges::find_if(burst, [&](const Bytes& frame) { return leading(reader, {frame}) == 0; });
    const auto count = static_cast<std::size_t>(odd - burst.begin());
    const std::vector<FrameReader::Frame> frames(burst.begin(), burst.end());
    SignatureLanes signatures;
    ASSERT_EQ(reader.read(frames, signatures), count);
    for (std::size_t i = 0; i < count; ++i) {
      const Signature signature = classify(frames[i]).signature();
      ASSERT_EQ(signatures.sequence[i], signature.sequence);
      ASSERT_EQ(signatures.time[i], signature.time);
    }
    ++by_count.at(count);
  }
  for (const std::size_t rounds : by_count) EXPECT_GT(rounds, 500U);
}

TEST(FrameReader, AcceptsOnlyTestFramesOfTheClassifier) {
  std::mt19937_64 random(9);
  std::size_t plain = 0;
  std::array<std::size_t, kFrameKinds> odd{};
  for (int round = 0; round < 500'000; ++round) {
    const std::size_t size = random_size(random);
    const FormInFamily form = kAll[random() % kAll.size()];
    const Bytes frame = altered_frame(form, size, random);
    const FrameReader reader = reader_of(form, size);
    const Classified judged = classify(frame);
    if (leading(reader, {frame}) == 1) {
      ++plain;
      ASSERT_EQ(judged.kind, FrameKind::test);
      ASSERT_EQ(judged.family, form.layout().header_family());
      ASSERT_EQ(judged.datagram.transport, frame.data() + reader.transport_at());
    } else {
      ++odd.at(static_cast<std::size_t>(judged.kind));
    }
  }
  EXPECT_GT(plain, 50'000U);
  for (const FrameKind kind : {FrameKind::test, FrameKind::corrupt_test, FrameKind::udp, FrameKind::malformed,
                               FrameKind::ipv4_fragment, FrameKind::other_ethertype}) {
    EXPECT_GT(odd.at(static_cast<std::size_t>(kind)), 500U) << name_of(kind);
  }
}

}  // namespace
}  // namespace natxy
