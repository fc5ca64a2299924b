// SPDX-License-Identifier: Apache-2.0
#include "dns/names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace natxy::dns {
namespace {

std::string text_of(const Name& name) {
  std::array<std::uint8_t, kNameBytes> bytes{};
  write_name(bytes.data(), name);
  return {bytes.begin(), bytes.end()};
}

std::optional<Name> read(std::string label) {
  return read_label({reinterpret_cast<const std::uint8_t*>(label.data()), label.size()});
}

TEST(Names, AreLabelsBeforeTheDomain) {
  const std::string domain("\x05natxy\x04test\0", 12);
  EXPECT_EQ(text_of({false, false, 0x0a1b'0000'0000'002a}), "\x15new4-0a1b00000000002a" + domain);
  EXPECT_EQ(text_of({true, true, 7}), "\x15old6-0000000000000007" + domain);
}

TEST(Names, AreReadInEitherCase) {
  EXPECT_EQ(read("new4-0a1b00000000002a"), (Name{false, false, 0x0a1b'0000'0000'002a}));
  EXPECT_EQ(read("OlD6-00000000000000Fe"), (Name{true, true, 0xfe}));
}

TEST(Names, OtherLabelsAreNone) {
  for (const char* label : {"", "new4-0a1b00000000002", "new4-0a1b00000000002a0", "new5-0a1b00000000002a",
                            "neo4-0a1b00000000002a", "new4_0a1b00000000002a", "new4-0a1b00000000002g"}) {
    EXPECT_EQ(read(label), std::nullopt) << label;
  }
}

TEST(Names, HaveAddressesOfTheRangesForBenchmarks) {
  std::set<std::uint32_t> ipv4;
  std::set<std::uint64_t> ipv6;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    for (const bool is_old : {false, true}) {
      const Name name{is_old, true, number};
      EXPECT_EQ(ipv4_of(name) >> 17, 0xC612'0000U >> 17);
      EXPECT_EQ(static_cast<std::uint64_t>(ipv6_of(name) >> 80), 0x2001'0002'0000U);
      ipv4.insert(ipv4_of(name));
      ipv6.insert(static_cast<std::uint64_t>(ipv6_of(name)));
    }
  }
  // Of 2000 random numbers below 2^17, about 15 are alike.
  EXPECT_GT(ipv4.size(), 1950U);
  EXPECT_EQ(ipv6.size(), 2000U);
}

}  // namespace
}  // namespace natxy::dns
