// SPDX-License-Identifier: Apache-2.0
#include "dns/names.hpp"

#include <algorithm>
#include <string_view>

#include "flow/mix.hpp"

namespace natxy::dns {

namespace {

constexpr std::string_view kNew = "new";
constexpr std::string_view kOld = "old";
constexpr std::size_t kDigitsAt = 5;  // behind "new4-"
constexpr std::uint64_t kSeed = 0x646E73;

/// Returns a word that names with other addresses differ in.
std::uint64_t word_of(const Name& name) { return random_word(kSeed + (name.is_old ? 1 : 0), name.number); }

std::uint8_t lower(std::uint8_t letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<std::uint8_t>(letter + ('a' - 'A')) : letter;
}

}  // namespace

void write_name(std::uint8_t* to, const Name& name) {
  *to++ = kLabelBytes;
  std::ranges::copy(name.is_old ? kOld : kNew, to);
  to[3] = name.has_ipv6 ? '6' : '4';
  to[4] = '-';
  for (std::size_t i = 0; i < 16; ++i) {
    const auto digit = static_cast<std::uint8_t>(name.number >> (60 - 4 * i) & 0xF);
    to[kDigitsAt + i] = static_cast<std::uint8_t>(digit < 10 ? '0' + digit : 'a' + digit - 10);
  }
  std::ranges::copy(kDomain, to + kLabelBytes);
}

std::optional<Name> read_label(std::span<const std::uint8_t> label) {
  if (label.size() != kLabelBytes) return std::nullopt;
  std::array<std::uint8_t, kLabelBytes> letters{};
  std::ranges::transform(label, letters.begin(), lower);
  const auto begins_with = [&](std::string_view word) { return std::equal(word.begin(), word.end(), letters.begin()); };
  Name name;
  name.is_old = begins_with(kOld);
  name.has_ipv6 = letters[3] == '6';
  if ((!name.is_old && !begins_with(kNew)) || (!name.has_ipv6 && letters[3] != '4') || letters[4] != '-') {
    return std::nullopt;
  }
  for (const std::uint8_t letter : std::span(letters).subspan(kDigitsAt)) {
    const bool is_letter = letter >= 'a' && letter <= 'f';
    if (!is_letter && (letter < '0' || letter > '9')) return std::nullopt;
    name.number = name.number << 4 | static_cast<std::uint64_t>(is_letter ? letter - 'a' + 10 : letter - '0');
  }
  return name;
}

std::uint32_t ipv4_of(const Name& name) {
  constexpr std::uint32_t network = 0xC612'0000;
  return network | static_cast<std::uint32_t>(word_of(name) & 0x1'FFFF);
}

uint128 ipv6_of(const Name& name) {
  constexpr std::uint64_t network = 0x2001'0002'0000'0000;
  return uint128{network} << 64 | word_of(name);
}

}  // namespace natxy::dns
