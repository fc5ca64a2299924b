// SPDX-License-Identifier: Apache-2.0
#include "form/four_subscribers.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace natxy {
namespace {

/// RFC 7597, Appendix A, Example 1: 192.0.2.18 with port 1232 has 2001:db8:12:3400:0:c000:212:34.
constexpr SubscriberRule kRule = {.high = 0x2001'0DB8'0000'0000,
                                  .address_mask = 0xFF,
                                  .address_shift = 16,
                                  .psid_mask = 0xFF,
                                  .psid_drop = 2,
                                  .psid_shift = 8,
                                  .identifier = true,
                                  .ports = {.lowest = 1024}};
constexpr std::uint64_t kHigh = 0x2001'0DB8'0012'3400;
constexpr std::uint64_t kLow = 0x0000'C000'0212'0034;
constexpr std::uint64_t kPort = 1232;

/// Returns the differences of an address and a port, which follow each other in a frame's bytes.
std::uint64_t differences(const SubscriberRule& rule, std::uint64_t high, std::uint64_t low, std::uint64_t port) {
  const auto four = FourSubscribers::of(rule);
  EXPECT_TRUE(four);
  const std::uint64_t before = 0xC6'1300'02C0'0000;
  const FourWords found = four->differences(FourWords{} + (high << 16 | low >> 48), FourWords{} + (low << 16 | 0x2001),
                                            FourWords{} + (before | port));
  EXPECT_EQ(found[0] != 0, found[3] != 0);
  return found[0];
}

TEST(FourSubscribers, HaveTheAddressesOfTheRule) {
  EXPECT_EQ(differences(kRule, kHigh, kLow, kPort), 0U);
  // The next port of the set, one of the next PSID, and one that nobody has.
  EXPECT_EQ(differences(kRule, kHigh, kLow, kPort + 1), 0U);
  EXPECT_NE(differences(kRule, kHigh, kLow, kPort + 4), 0U);
  EXPECT_NE(differences(kRule, kHigh, kLow, kPort - 1024), 0U);
}

TEST(FourSubscribers, DifferInEachBitButTheFirstSixteen) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t turned = std::uint64_t{1} << bit;
    EXPECT_EQ(differences(kRule, kHigh ^ turned, kLow, kPort) != 0, bit < 48) << bit;
    // Bits of the IPv4 address that the prefix leaves out are those of another one in its place.
    const bool left_out = bit >= 24 && bit < 48;
    EXPECT_EQ(differences(kRule, kHigh, kLow ^ turned, kPort) != 0, !left_out) << bit;
  }
}

TEST(FourSubscribers, AgreeWithAnyRule) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000; ++i) {
    const unsigned psid_bits = random() % 9;
    const unsigned address_bits = random() % 17;
    SubscriberRule rule{.address_mask = (1U << address_bits) - 1, .psid_mask = (1U << psid_bits) - 1};
    rule.psid_drop = random() % (17 - psid_bits) & 15;
    rule.psid_shift = random() % (48 - psid_bits - address_bits);
    rule.address_shift = rule.psid_shift + psid_bits;
    rule.psid_xor = random() & rule.psid_mask;
    rule.identifier = random() % 4 != 0;
    rule.high = std::uint64_t{0xFD00} << 48;
    rule.low = std::uint64_t{random() & 0xFFFF} << 48;
    if (random() % 2 != 0) rule.ports = {.lowest = random() & 0xFFF, .mask = 0xC0, .value = random() & 0xC0};
    const std::uint64_t port = random() & 0xFFFF;
    std::uint64_t address = random() & 0xFFFF'FFFF;
    if (!rule.identifier) address = SubscriberRule::address_in(rule.low);
    const std::uint64_t high = rule.high_of(address, port);
    const std::uint64_t low = rule.low_of(address, port);
    EXPECT_EQ(differences(rule, high, low, port) == 0, rule.ports.differences(port) == 0);
    const std::uint64_t other = low ^ std::uint64_t{1} << random() % 64;
    const std::uint64_t its = SubscriberRule::address_in(other);
    const bool same =
        rule.high_of(its, port) == high && rule.low_of(its, port) == other && rule.ports.differences(port) == 0;
    EXPECT_EQ(differences(rule, high, other, port) == 0, same);
  }
}

/// Rules of which FourSubscribers can't be: the first bits vary, an identifier has bits of its own, an address is not
/// the subscriber's, a PSID is longer than the port.
std::vector<SubscriberRule> unusual() {
  std::vector<SubscriberRule> rules(4, kRule);
  rules[0].address_shift = 44;
  rules[1].low = 0x10000;
  rules[2].address_xor = 1;
  rules[3].psid_drop = 9;
  return rules;
}

TEST(FourSubscribers, AreNotOfUnusualRules) {
  for (const SubscriberRule& rule : unusual()) EXPECT_FALSE(FourSubscribers::of(rule));
}

}  // namespace
}  // namespace natxy
