// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "packet/bytes.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

class Translation : public testing::Test {
 protected:
  /// Makes the bed a NAT44 that gives every connection a source port of its own.
  int translate(Side from, Bytes frame) const {
    std::uint8_t* ip = frame.data() + kEthernetBytes;
    std::uint8_t* udp = ip + kIpv4Bytes;
    if (from == Side::left) {
      store_be32(ip + 12, 0xC6130001);
      store_be16(udp, static_cast<std::uint16_t>(load_be16(udp) + shift));
    } else {
      store_be32(ip + 16, 0xC6120002);
      store_be16(udp + 2, static_cast<std::uint16_t>(load_be16(udp + 2) - shift));
    }
    recompute_udp_checksum(frame);
    return 1;
  }

  RingBed bed;
  std::uint16_t shift = 1000;
};

TEST_F(Translation, RepliesUseTheTranslatedTupleAndComeBackAsTheInitiatorSentThem) {
  bed.treat = [this](Side from, Bytes frame) { return translate(from, frame); };
  ASSERT_EQ(bed.run(phase1(Family::ipv4, 2000)).verdict, Verdict::pass);
  EXPECT_EQ(bed.connections.seen.of<Family::ipv4>()->at(0).source, 0xC6130001U);
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 3000),
                                     phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 3000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
}

TEST_F(Translation, ANewConnectionInPhaseTwoIsMisrouted) {
  bed.treat = [this](Side from, Bytes frame) { return translate(from, frame); };
  ASSERT_EQ(bed.run(phase1(Family::ipv4, 2000)).verdict, Verdict::pass);
  shift = 1001;
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 1000)}));
  EXPECT_EQ(report.streams[0].misrouted, 1000U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

}  // namespace
}  // namespace natxy
