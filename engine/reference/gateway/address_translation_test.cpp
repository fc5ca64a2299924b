// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/address_translation.hpp"

#include <gtest/gtest.h>

namespace natxy::reference {
namespace {

AddressTranslation behind(const char* prefix) {
  Translation translation;
  translation.prefix = parse_prefix(prefix);
  return AddressTranslation(translation);
}

std::string across(const AddressTranslation& translation, const char* text) {
  const AnyAddress address = *parse_address(text);
  const auto other = translation.across(address.family, address.value);
  if (!other) return "none";
  return format_address({address.family == Family::ipv4 ? Family::ipv6 : Family::ipv4, *other});
}

/// Holds a row of the table of RFC 6052 §2.4 for the host 192.0.2.33.
struct Row {
  const char* prefix;
  const char* address;
};

class Embedding : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(OfRfc6052, Embedding,
                         testing::Values(Row{"2001:db8::/32", "2001:db8:c000:221::"},
                                         Row{"2001:db8:100::/40", "2001:db8:1c0:2:21::"},
                                         Row{"2001:db8:122::/48", "2001:db8:122:c000:2:2100::"},
                                         Row{"2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"},
                                         Row{"2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100:0"},
                                         Row{"2001:db8:122:344::/96", "2001:db8:122:344::c000:221"}));

TEST_P(Embedding, TranslatesThereAndBack) {
  const AddressTranslation translation = behind(GetParam().prefix);
  EXPECT_EQ(across(translation, "192.0.2.33"), format_address(*parse_address(GetParam().address)));
  EXPECT_EQ(across(translation, GetParam().address), "192.0.2.33");
  EXPECT_EQ(across(translation, "2001:dead::1"), "none");
}

TEST(AddressTranslation, PrefersMappings) {
  Translation translation;
  translation.prefix = parse_prefix("2001:db8::/32");
  translation.mappings.push_back({*parse_prefix("192.0.2.32/28"), *parse_prefix("2001:db8:5::/124")});
  EXPECT_EQ(across(AddressTranslation(translation), "192.0.2.33"), "2001:db8:5::1");
  EXPECT_EQ(across(AddressTranslation(translation), "2001:db8:5::2"), "192.0.2.34");
}

}  // namespace
}  // namespace natxy::reference
