// SPDX-License-Identifier: Apache-2.0
#include "packet/checksum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

namespace natxy {
namespace {

/// Computes the sum word by word in network order, as in RFC 1071 §4.1.
std::uint16_t slow_checksum(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const std::uint32_t low = i + 1 < bytes.size() ? bytes[i + 1] : 0;
    sum += (std::uint32_t{bytes[i]} << 8) | low;
  }
  while (sum > 0xFFFF) sum = (sum >> 16) + (sum & 0xFFFF);
  return static_cast<std::uint16_t>(~sum);
}

TEST(Checksum, EqualsTheWordByWordSumForAnyLength) {
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 200; ++length) {
    std::vector<std::uint8_t> bytes(length);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(ip_checksum(checksum_of(bytes.data(), length)), __builtin_bswap16(slow_checksum(bytes))) << length;
  }
}

TEST(Checksum, ExampleOfRfc1071) {
  const std::vector<std::uint8_t> bytes = {0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7};
  EXPECT_EQ(fold(checksum_of(bytes.data(), bytes.size())), __builtin_bswap16(0xDDF2));
}

TEST(Checksum, TheHalvesOfFieldsAddUpToTheSumOfTheirBytes) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::uint8_t> bytes(12);
    const auto v4 = static_cast<std::uint32_t>(random());
    const std::uint64_t half = random();
    store_be32(bytes.data(), v4);
    store_be64(bytes.data() + 4, half);
    EXPECT_EQ(__builtin_bswap16(fold(checksum_of(bytes.data(), 12))), fold_halves(v4 + halves_of(half)));
  }
}

TEST(Checksum, BytesAreIntactIfTheySumToAllOnes) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t sum = random() >> random() % 64;
    EXPECT_EQ(is_intact(sum), sum % 0xFFFF == 0) << sum;
    EXPECT_TRUE(is_intact(sum - sum % 0xFFFF)) << sum;
  }
  EXPECT_TRUE(is_intact(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(is_intact(std::numeric_limits<std::uint64_t>::max() - 1));
}

void expect_folded(std::uint64_t sum) {
  const std::uint64_t remainder = sum % 0xFFFF;
  ASSERT_EQ(fold_halves(sum), sum != 0 && remainder == 0 ? 0xFFFF : remainder) << sum;
}

TEST(Checksum, AnySumFolds) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) expect_folded(random() >> random() % 64);
  // All combinations of quarters that carry, or barely do not.
  constexpr std::array<std::uint64_t, 7> kQuarters = {0, 1, 2, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF};
  for (const std::uint64_t first : kQuarters) {
    for (const std::uint64_t second : kQuarters) {
      for (const std::uint64_t third : kQuarters) {
        for (const std::uint64_t last : kQuarters) expect_folded(first << 48 | second << 32 | third << 16 | last);
      }
    }
  }
}

TEST(Checksum, ZeroIsSentAsAllOnesInUdpOnly) {
  EXPECT_EQ(ip_checksum(0xFFFF), 0);
  EXPECT_EQ(udp_checksum(0xFFFF), 0xFFFF);
  EXPECT_EQ(never_zero(0), 0xFFFF);
  EXPECT_EQ(never_zero(1), 1);
}

}  // namespace
}  // namespace natxy
