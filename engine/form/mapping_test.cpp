// SPDX-License-Identifier: Apache-2.0
#include "form/mapping.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "form/frame_reader.hpp"
#include "form/frame_writer.hpp"
#include "form/tuple_reader.hpp"
#include "packet/vectors.hpp"

namespace natxy {
namespace {

std::uint32_t ipv4(std::string_view text) { return static_cast<std::uint32_t>(parse_address(text)->value); }
uint128 ipv6(std::string_view text) { return parse_address(text)->value; }
EmbeddingPrefix embedding(std::string_view text) { return EmbeddingPrefix::of(*parse_prefix(text)); }

/// The table of RFC 6052 §2.4 for 192.0.2.33.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kEmbedded = {{
    {"2001:db8::/32", "2001:db8:c000:221::"},
    {"2001:db8:100::/40", "2001:db8:1c0:2:21::"},
    {"2001:db8:122::/48", "2001:db8:122:c000:2:2100::"},
    {"2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"},
    {"2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"},
    {"2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"},
}};

TEST(EmbeddingPrefix, PutsAnAddressBehindPrefixesOfAllLengths) {
  const std::uint64_t host = ipv4("192.0.2.33");
  for (const auto& [prefix_text, expected] : kEmbedded) {
    const EmbeddingPrefix prefix = embedding(prefix_text);
    EXPECT_EQ(uint128{prefix.high_of(host)} << 64 | prefix.low_of(host), ipv6(expected)) << prefix_text;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(ipv6(expected) >> 8 * (15 - prefix.places()[i]) & 0xFF, host >> 8 * (3 - i) & 0xFF) << prefix_text;
    }
    const FourWords four = FourWords{} + host;
    EXPECT_EQ(prefix.high_of(four)[3], prefix.high_of(host));
    EXPECT_EQ(prefix.low_of(four)[3], prefix.low_of(host));
  }
}

TEST(EmbeddingPrefix, FitsOnlyIfAnAddressCanFollow) {
  for (const auto& [prefix, expected] : kEmbedded) EXPECT_TRUE(EmbeddingPrefix::fits(*parse_prefix(prefix)));
  for (const char* other : {"2001:db8::/33", "2001:db8::/128", "198.18.0.0/32", "2001:db8:0:0:100::/96"}) {
    EXPECT_FALSE(EmbeddingPrefix::fits(*parse_prefix(other))) << other;
  }
}

/// Holds a subscriber that others have computed by a mapping rule.
struct Example {
  const char* origin;
  SubscriberRule rule;
  std::string_view prefix;  // of far hosts
  std::string_view address;
  std::uint16_t port;
  std::string_view mapped;
};

const std::vector<Example> kExamples = {
    {"RFC 7597, Appendix A, Examples 1 and 2, and RFC 7599",
     {.high = 0x2001'0DB8'0000'0000,
      .address_mask = 0xFF,
      .address_shift = 16,
      .psid_mask = 0xFF,
      .psid_drop = 2,
      .psid_shift = 8,
      .identifier = true},
     "2001:db8:ffff::/64",
     "192.0.2.18",
     1232,
     "2001:db8:12:3400:0:c000:212:34"},
    {"RFC 7597, Appendix A, Example 4",
     {.high = 0x2001'0DB8'0012'3400, .identifier = true},
     "2001:db8:ffff::/64",
     "192.0.2.18",
     80,
     "2001:db8:12:3400:0:c000:212:0"},
    {"RFC 7597, Appendix A, Example 5, with its PSID of 0x34",
     {.high = 0x2001'0DB8'0012'3400, .low = 0x34, .identifier = true},
     "2001:db8:ffff::/64",
     "192.0.2.18",
     64720,
     "2001:db8:12:3400:0:c000:212:34"},
    {"a test of VPP, test_map.py",
     {.high = 0x2001'0000'0000'0000,
      .address_mask = 0xFFFF,
      .address_shift = 16,
      .psid_mask = 0xF,
      .psid_drop = 8,
      .psid_shift = 12,
      .identifier = true},
     "2001:db8:ffff::/96",
     "192.168.1.1",
     10000,
     "2001:0:101:7000:0:c0a8:101:7"},
    {"a test of VPP, test_map_br.py",
     {.high = 0x2001'0DB8'00F0'0000,
      .address_mask = 0xFF,
      .address_shift = 8,
      .psid_mask = 0xF,
      .psid_drop = 6,
      .psid_shift = 4,
      .identifier = true},
     "2001:db8:ffff:ff00::/64",
     "198.18.0.12",
     16606,
     "2001:db8:f0:c30:0:c612:c:3"},
    {"Jool's tutorial",
     {.high = 0x2001'0DB8'00CE'0000,
      .address_mask = 0xFF,
      .address_shift = 5,
      .psid_mask = 0x1F,
      .psid_drop = 11,
      .identifier = true},
     "64:ff9b::/96",
     "192.0.2.8",
     55296,
     "2001:db8:ce:11b:0:c000:208:1b"},
    {"by hand, with subscribers that differ in the first 16 bits, too",
     {.high = 0x2001'0DB8'0000'0000,
      .address_mask = 0xFF,
      .address_shift = 44,
      .psid_mask = 0xFF,
      .psid_drop = 2,
      .psid_shift = 8,
      .identifier = true},
     "2001:db8:ffff::/64",
     "192.0.2.18",
     1232,
     "2002:2db8:0:3400:0:c000:212:34"},
};

TEST(SubscriberRule, ComputesTheAddressesOfOthersExamples) {
  for (const Example& each : kExamples) {
    const std::uint64_t address = ipv4(each.address);
    const std::uint64_t port = each.port;
    const uint128 mapped = uint128{each.rule.high_of(address, port)} << 64 | each.rule.low_of(address, port);
    EXPECT_EQ(mapped, ipv6(each.mapped)) << each.origin;
    EXPECT_EQ(SubscriberRule::address_in(each.rule.low_of(address, port)), address) << each.origin;
    EXPECT_TRUE(each.rule.fits()) << each.origin;
  }
}

TEST(SubscriberRule, MakesTheAddressOfASubscriberThatDiffersInABit) {
  const Example& each = kExamples.front();
  SubscriberRule rule = each.rule;
  rule.psid_xor = 1;
  const std::uint64_t address = ipv4(each.address);
  const std::uint64_t port = each.port;
  // RFC 7597, Appendix A, Example 1, with a PSID of 0x35.
  EXPECT_EQ(rule.high_of(address, port), 0x2001'0DB8'0012'3500U);
  EXPECT_EQ(rule.low_of(address, port), 0x0000'C000'0212'0035U);
  // And from there back: its PSID is the first one's neighbor, so that no address is nobody's.
  EXPECT_EQ(rule.high_of(address, port + 4), 0x2001'0DB8'0012'3400U);
  rule.psid_xor = 0;
  rule.address_xor = 2;
  // 192.0.2.16 instead of 192.0.2.18.
  EXPECT_EQ(rule.high_of(address, port), 0x2001'0DB8'0010'3400U);
  EXPECT_EQ(rule.low_of(address, port), 0x0000'C000'0210'0034U);
}

TEST(SubscriberRule, AddsToASumWhatItsAddressHas) {
  SubscriberRule rule = kExamples.front().rule;
  rule.address_xor = 1;
  rule.psid_xor = 3;
  const std::uint64_t address = ipv4("192.0.2.18"), port = 1232;
  const std::uint64_t sum = rule.base_sum() + rule.sum_of(address, port);
  EXPECT_EQ(sum % 0xFFFF, (halves_of(rule.high_of(address, port)) + halves_of(rule.low_of(address, port))) % 0xFFFF);
}

TEST(SubscriberRule, FitsOnlyIntoSixtyFourBits) {
  EXPECT_TRUE((SubscriberRule{.address_mask = 0xFFFF'FFFF, .address_shift = 32}.fits()));
  EXPECT_FALSE((SubscriberRule{.address_mask = 0xFFFF'FFFF, .address_shift = 33}.fits()));
  EXPECT_FALSE((SubscriberRule{.high = 1ULL << 63, .psid_mask = 1, .psid_shift = 63}.fits()));
  EXPECT_FALSE((SubscriberRule{.low = ~std::uint64_t{0}, .identifier = true}.fits()));
}

template <Layout L>
void expect_mapped(Form form, const Example& example, const EmbeddingPrefix& prefix) {
  const Mapping mapping{.subscribers = example.rule, .prefix = prefix};
  const FrameWriter<L> writer(form, {.size = 128, .mapping = mapping});
  std::mt19937_64 random(5);
  TupleLanes<Family::ipv4> tuples;
  for (std::size_t i = 0; i < kBurst; ++i) {
    const Tuple<Family::ipv4> sent{ipv4(example.address) ^ (i == 0 ? 0 : static_cast<std::uint32_t>(random() & 0x1F)),
                                   static_cast<std::uint32_t>(random()), example.port,
                                   static_cast<std::uint16_t>(random())};
    tuples.set(i, L.from_edge() ? sent : sent.swapped());
  }
  std::vector<std::vector<std::uint8_t>> bytes(kBurst, std::vector<std::uint8_t>(writer.length()));
  std::vector<std::uint8_t*> starts;
  std::vector<FrameReader::Frame> frames;
  for (auto& each : bytes) {
    starts.push_back(each.data());
    frames.emplace_back(each);
  }
  writer.write(starts, tuples, Series{}, 1);
  EXPECT_EQ(load_be128(&bytes[0][L.from_edge() ? 22 : 38]), ipv6(example.mapped)) << example.origin;
  const TupleReader reader(form, mapping);
  for (std::size_t i = 0; i < kBurst; ++i) {
    const Classified judged = classify(frames[i]);
    ASSERT_EQ(judged.kind, FrameKind::test) << example.origin;
    ASSERT_EQ(reader.tuple(judged.datagram), tuples.get(i)) << example.origin;
  }
  SignatureLanes signatures;
  const SizeCycle payload(std::array{L.payload_bytes(128)});
  EXPECT_EQ(FrameReader(form, Family::ipv4, payload, 0, 0, {}, mapping).read(frames, signatures), kBurst);
}

TEST(Mapping, FramesHaveTheAddressesOfOthersExamplesBehindAnyPrefix) {
  for (const Example& example : kExamples) {
    std::vector<std::string_view> prefixes = {example.prefix};
    for (const auto& [prefix, of_host] : kEmbedded) prefixes.push_back(prefix);
    for (const std::string_view prefix : prefixes) {
      expect_mapped<kMapFromEdge>(Form::map_from_edge, example, embedding(prefix));
      expect_mapped<kMapFromCore>(Form::map_from_core, example, embedding(prefix));
    }
  }
}

}  // namespace
}  // namespace natxy
