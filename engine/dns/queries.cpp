// SPDX-License-Identifier: Apache-2.0
#include "dns/queries.hpp"

#include <algorithm>

#include "flow/mix.hpp"

namespace natxy::dns {

namespace {

constexpr std::uint64_t kHundred = 100;
constexpr std::uint64_t kStep = 37;  // visits all of a hundred in an order that spreads each share
constexpr std::uint64_t kSeed = 0x616161;
constexpr std::uint64_t kIds = 1 << 16;

}  // namespace

Name Queries::name(std::uint64_t number) const {
  Name name;
  name.is_old = number * kStep % kHundred < setup_.shares.cached_percent;
  name.number = name.is_old ? number % kOldNames : std::uint64_t{setup_.run_id} << 48 | number;
  // A property of the name, whose addresses stay the same however often it is asked for.
  name.has_ipv6 = scale(random_word(kSeed, name.number), kHundred) < setup_.shares.aaaa_percent;
  return name;
}

void Queries::write(std::uint8_t* to, std::uint64_t number) const {
  std::fill_n(to, kHeaderBytes, std::uint8_t{0});
  store_be16(to, id(number));
  store_be16(to + 2, kRecursionDesired);
  store_be16(to + 4, 1);
  write_name(to + kHeaderBytes, name(number));
  store_be16(to + kHeaderBytes + kNameBytes, kTypeAaaa);
  store_be16(to + kHeaderBytes + kNameBytes + 2, kClassIn);
}

std::optional<std::uint64_t> Queries::number_of(std::uint16_t id, std::uint16_t port, std::uint64_t asked) const {
  // A port below the first one becomes a number above all others.
  const std::uint64_t place = std::uint64_t{port} - setup_.first_port;
  if (place >= setup_.ports) return std::nullopt;
  const std::uint64_t turn = setup_.ports * kIds;
  const std::uint64_t in_turn = std::uint64_t{static_cast<std::uint16_t>(id ^ setup_.run_id)} * setup_.ports + place;
  if (in_turn >= asked) return std::nullopt;
  return in_turn + (asked - 1 - in_turn) / turn * turn;
}

AnswerKind Queries::judge(Bytes message, std::uint64_t number) const {
  const Header header(message);
  std::array<std::uint8_t, kQueryBytes> asked{};
  write(asked.data(), number);
  const auto query = std::span(asked).subspan(kHeaderBytes);
  if ((header.flags & kIsAnswer) == 0 || header.questions != 1 || message.size() < kQueryBytes) {
    return AnswerKind::malformed;
  }
  if (!std::ranges::equal(query, message.subspan(kHeaderBytes, query.size()))) return AnswerKind::wrong_question;
  if ((header.flags & kIsTruncated) != 0) return AnswerKind::truncated;
  if (const auto code = static_cast<std::uint16_t>(header.flags & kResponseCode); code != kNoError) {
    return code == kServerFailure ? AnswerKind::server_failure : AnswerKind::other_error;
  }
  const uint128 address = address_of(name(number));
  bool found = false;
  std::size_t at = kQueryBytes;
  for (unsigned i = 0; i < header.answers; ++i) {
    const auto record = read_record(message, at);
    if (!record) return AnswerKind::malformed;
    at = record->end;
    if (record->type != kTypeAaaa || record->record_class != kClassIn) continue;
    if (record->data.size() != sizeof(uint128)) return AnswerKind::malformed;
    if (load_be128(record->data.data()) != address) return AnswerKind::wrong_address;
    found = true;
  }
  return found ? AnswerKind::right : AnswerKind::no_address;
}

/// Returns the address that the server has to answer: the name's own, or the one made of the prefix (RFC 6147 §5.1).
uint128 Queries::address_of(const Name& name) const {
  if (name.has_ipv6) return ipv6_of(name);
  const std::uint64_t ipv4 = ipv4_of(name);
  return uint128{setup_.prefix.high_of(ipv4)} << 64 | setup_.prefix.low_of(ipv4);
}

}  // namespace natxy::dns
