// SPDX-License-Identifier: Apache-2.0
#include "form/frame_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "form/classifier.hpp"
#include "form/test_frames.hpp"

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

template <Layout L>
void expect_plain_frames(Form form, std::size_t size) {
  constexpr Family F = L.family;
  std::mt19937_64 random(size);
  const FrameWriter<L> writer(
      form, {.size = size, .stream = kStream, .run_id = kRun, .softwire = kSoftwire, .mapping = kMapping});
  ASSERT_EQ(writer.length(), size - kFcsBytes);
  constexpr std::size_t guard = 64;
  constexpr std::array kShared = {0U, 31U, 32U, 64U, 79U, 80U, 81U, 128U};
  constexpr std::size_t kMostMore = 300;
  const std::size_t apart = writer.length() + kMostMore + guard;
  std::vector<std::uint8_t> memory(kBurst * apart);
  std::array<std::uint8_t*, kBurst> frames{};
  for (std::size_t i = 0; i < kBurst; ++i) frames[i] = memory.data() + i * apart;
  for (std::size_t round = 0; round < 200; ++round) {
    const std::size_t count = 1 + round % kBurst;
    const auto tuples = random_tuples<F>(random, kShared[random() % kShared.size()]);
    const Series sequences{random() >> 17, 1 + random() % 4};
    const std::uint64_t time = random() & kMask48;
    std::ranges::fill(memory, 0xEE);
    Lanes<std::uint16_t> more{};
    if (round % 3 == 0) {
      for (std::uint16_t& each : more) each = static_cast<std::uint16_t>(random() % 4 == 0 ? 0 : random() % kMostMore);
      writer.write_longer(std::span(frames).first(count), more, tuples, sequences, time);
    } else if (round % 3 == 1) {
      writer.write(std::span(frames).first(count), tuples, sequences, time);
    } else {
      Lanes<std::uint64_t> numbers;
      for (std::size_t i = 0; i < kBurst; ++i) numbers[i] = sequences.at(i);
      writer.write(std::span(frames).first(count), tuples, numbers, time);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t length = writer.length() + more[i];
      const Bytes written(frames[i], frames[i] + length);
      ASSERT_EQ(written, plain_frame<F>(form, size + more[i], tuples.get(i), sequences.at(i), time)) << size;
      ASSERT_EQ(std::count(frames[i] + length, frames[i] + length + guard, 0xEE), guard);
    }
  }
}

// tests/frames/frames_test.py compares frames with an independent implementation; this test is for quick feedback.
TEST(FrameWriter, WritesWhatIsBuiltByteByByte) {
  for (const FormInFamily& each : all_forms()) {
    const std::size_t smallest = each.layout().smallest_frame();
    for (const std::size_t size :
         {smallest, smallest + 1, std::size_t{128}, std::size_t{511}, std::size_t{1518}, std::size_t{9216}}) {
      with_layout(each.form, each.family, [&]<Layout L>() { expect_plain_frames<L>(each.form, size); });
    }
  }
}

TEST(FrameWriter, HasTheExtensionHeadersOfItsForm) {
  const Bytes frame = plain_frame({Form::both_options, Family::ipv6}, 128);
  EXPECT_EQ(frame[kEthernetBytes + 6], kProtocolHopByHop);
  const Bytes headers(frame.begin() + 54, frame.begin() + 70);
  // Each names the next and has a PadN option of 6 bytes (RFC 8200 §4.2).
  EXPECT_EQ(headers, (Bytes{60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0}));
}

/// The frames that writers are compared with.
TEST(PlainFrame, HasTheOuterHeaderOfItsSoftwire) {
  const std::uint32_t subscriber = 0xC000'0212;  // 192.0.2.18
  const Bytes up = plain_frame<Family::ipv4>(Form::softwire_from_edge, 128, {subscriber, 2, 1232, 4}, 5, 6);
  // RFC 7597, Appendix A, Example 1.
  const Bytes address = {0x20, 0x01, 0x0D, 0xB8, 0, 0x12, 0x34, 0, 0, 0, 0xC0, 0, 0x02, 0x12, 0, 0x34};
  EXPECT_EQ(Bytes(up.begin() + 22, up.begin() + 38), address);
  EXPECT_EQ(Bytes(up.begin() + 12, up.begin() + 22), (Bytes{0x86, 0xDD, 0x61, 0x23, 0x45, 0x67, 0, 70, 4, 63}));
  const Bytes down = plain_frame<Family::ipv4>(Form::softwire_from_core, 128, {2, subscriber, 4, 1232}, 5, 6);
  EXPECT_EQ(Bytes(down.begin() + 38, down.begin() + 54), address);
  EXPECT_EQ(load_be128(&down[22]), kSoftwire.core);
}

/// RFC 7599, Appendix A, Example 2: 10.2.3.4:80 sends to 192.0.2.18:1232.
TEST(PlainFrame, HasTheAddressesOfItsMapping) {
  const Bytes down = plain_frame<Family::ipv4>(Form::map_from_core, 128, {0x0A02'0304, 0xC000'0212, 80, 1232}, 5, 6);
  const Bytes expected = {0x86, 0xDD, 0x62, 0x17, 0x65, 0x43, 0,    70, 17, 64,  // to the hop limit
                          0x20, 0x01, 0x0D, 0xB8, 0xFF, 0xFF, 0,    0,  0,  0x0A, 2,    3, 4, 0,    0, 0,  // source
                          0x20, 0x01, 0x0D, 0xB8, 0,    0x12, 0x34, 0,  0,  0,    0xC0, 0, 2, 0x12, 0, 0x34,
                          0,    80,   0x04, 0xD0, 0,    70};
  EXPECT_EQ(Bytes(down.begin() + 12, down.begin() + 60), expected);
  const Bytes up = plain_frame<Family::ipv4>(Form::map_from_edge, 128, {0xC000'0212, 0x0A02'0304, 1232, 80}, 5, 6);
  EXPECT_EQ(Bytes(up.begin() + 22, up.begin() + 38), Bytes(down.begin() + 38, down.begin() + 54));
  EXPECT_EQ(Bytes(up.begin() + 38, up.begin() + 54), Bytes(down.begin() + 22, down.begin() + 38));
}

TEST(FrameWriter, AComputedZeroChecksumIsSentAsAllOnes) {
  const FrameWriter<kUdpIpv4> writer(Form::udp, {});
  std::vector<std::uint8_t> bytes(writer.length());
  std::uint8_t* const frame = bytes.data();
  bool seen = false;
  for (std::uint32_t port = 0; port <= 0xFFFF; ++port) {
    TupleLanes<Family::ipv4> tuples;
    tuples.set(0, {0xC6120002, 0xC6130002, static_cast<std::uint16_t>(port), 53});
    writer.write({&frame, 1}, tuples, Series{}, 0);
    const std::uint16_t checksum = load_be16(frame + kUdpIpv4.transport() + 6);
    ASSERT_NE(checksum, 0);
    if (checksum == 0xFFFF) {
      seen = true;
      ASSERT_EQ(classify(bytes).kind, FrameKind::test);
    }
  }
  EXPECT_TRUE(seen);
}

TEST(FrameWriter, RefusesFramesTooShortForTheSignature) {
  EXPECT_THROW(FrameWriter<kUdpIpv4>(Form::udp, {.size = 63}), std::invalid_argument);
  EXPECT_THROW(FrameWriter<kUdpIpv6>(Form::udp, {.size = 83}), std::invalid_argument);
}

}  // namespace
}  // namespace natxy
