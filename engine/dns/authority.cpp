// SPDX-License-Identifier: Apache-2.0
#include "dns/authority.hpp"

#include <algorithm>
#include <optional>

#include "dns/names.hpp"

namespace natxy::dns {

namespace {

constexpr std::uint32_t kTimeToLive_s = 3600;
constexpr std::uint16_t kDatagramBytes = 1232;  // of a query; RFC 9715 §3.2 recommends no more for answers
constexpr std::size_t kLongestName = 255;

/// Says what a message asks.
struct Asked {
  Bytes name;
  std::uint16_t type = 0;
  bool knows_extensions = false;  // has an OPT record (RFC 6891)
};

std::optional<Asked> read_query(Bytes message) {
  if (message.size() < kHeaderBytes) return std::nullopt;
  const Header header(message);
  if ((header.flags & (kIsAnswer | kOpcode)) != 0 || header.questions != 1) return std::nullopt;
  // Nothing stands before a query that its name could point to, so that a zero ends the name.
  const std::size_t zero = behind_labels(message, kHeaderBytes);
  if (zero + 1 + kQuestionEndBytes > message.size() || message[zero] != 0) return std::nullopt;
  const Bytes name = message.subspan(kHeaderBytes, zero + 1 - kHeaderBytes);
  const std::uint8_t* end = message.data() + zero + 1;
  if (name.size() > kLongestName || load_be16(end + 2) != kClassIn) return std::nullopt;
  Asked asked{name, load_be16(end), false};
  std::size_t at = zero + 1 + kQuestionEndBytes;
  const unsigned records = 0U + header.answers + header.authorities + header.additional;
  for (unsigned i = 0; i < records; ++i) {
    const auto record = read_record(message, at);
    if (!record) return std::nullopt;
    asked.knows_extensions |= record->type == kTypeOpt;
    at = record->end;
  }
  return asked;
}

/// Returns whether a name ends with natxy.test, in letters of either case. A label's length is no letter of the domain,
/// so that the end is one of whole labels where the length of the domain's first label has its place.
bool is_in_domain(Bytes name) {
  if (name.size() < kDomain.size()) return false;
  std::size_t at = 0;
  while (name.size() - at > kDomain.size()) at += 1 + std::size_t{name[at]};
  if (name.size() - at != kDomain.size()) return false;
  return std::ranges::equal(name.subspan(at), kDomain, [](std::uint8_t given, std::uint8_t own) {
    return given == own || (own >= 'a' && given == own - ('a' - 'A'));
  });
}

/// Appends to a message of limited length. What the functions write together is shorter than kLongestAnswer.
class Writer {
 public:
  explicit Writer(std::span<std::uint8_t, kLongestAnswer> to) : to_{to} {}

  void bytes(Bytes bytes) {
    std::ranges::copy(bytes, to_.subspan(length_).begin());
    length_ += bytes.size();
  }
  void word(std::uint16_t value) {
    store_be16(to_.subspan(length_, 2).data(), value);
    length_ += 2;
  }
  void double_word(std::uint32_t value) {
    word(static_cast<std::uint16_t>(value >> 16));
    word(static_cast<std::uint16_t>(value));
  }
  /// Begins a record of the name at offset `name_at`.
  void record(std::size_t name_at, std::uint16_t type, std::size_t data_bytes) {
    pointer(name_at);
    word(type);
    word(kClassIn);
    double_word(kTimeToLive_s);
    word(static_cast<std::uint16_t>(data_bytes));
  }
  void pointer(std::size_t at) { word(static_cast<std::uint16_t>(0xC000 | at)); }
  [[nodiscard]] std::size_t length() const { return length_; }

 private:
  std::span<std::uint8_t> to_;
  std::size_t length_ = 0;
};

/// Writes the record that says for how long a name without a record may be remembered (RFC 2308 §3).
void write_start_of_authority(Writer& writer, std::size_t domain_at) {
  writer.record(domain_at, kTypeSoa, 24);
  writer.pointer(domain_at);  // the primary server, and whom to write to
  writer.pointer(domain_at);
  for (const std::uint32_t value : {std::uint32_t{1}, kTimeToLive_s, kTimeToLive_s, kTimeToLive_s, kTimeToLive_s}) {
    writer.double_word(value);
  }
}

}  // namespace

std::size_t answer(Bytes query, std::span<std::uint8_t, kLongestAnswer> to, AuthorityCounts& counts) {
  const auto asked = read_query(query);
  if (!asked) {
    ++counts.malformed;
    return 0;
  }
  const bool own = is_in_domain(asked->name);
  const std::size_t domain_at = kHeaderBytes + asked->name.size() - (own ? kDomain.size() : 0);
  const bool is_domain = own && asked->name.size() == kDomain.size();
  std::optional<Name> name;
  if (own && asked->name.size() == kNameBytes) name = read_label(asked->name.subspan(1, kLabelBytes));
  const bool wants_ipv4 = name && asked->type == kTypeA;
  const bool wants_ipv6 = name && asked->type == kTypeAaaa;
  ++(wants_ipv4 ? counts.ipv4 : wants_ipv6 ? counts.ipv6 : counts.other);

  const bool wants_start = is_domain && asked->type == kTypeSoa;
  const bool wants_servers = is_domain && asked->type == kTypeNs;
  const bool has_answer = wants_ipv4 || (wants_ipv6 && name->has_ipv6) || wants_start || wants_servers;
  const std::uint16_t code = !own ? kRefused : name || is_domain ? kNoError : kNameError;
  Writer writer(to);
  writer.word(load_be16(query.data()));
  const auto desired = static_cast<std::uint16_t>(Header(query).flags & kRecursionDesired);
  writer.word(static_cast<std::uint16_t>(kIsAnswer | (own ? kIsAuthoritative : 0) | desired | code));
  writer.word(1);
  writer.word(has_answer ? 1 : 0);
  writer.word(own && !has_answer ? 1 : 0);
  writer.word(asked->knows_extensions ? 1 : 0);
  writer.bytes(query.subspan(kHeaderBytes, asked->name.size() + kQuestionEndBytes));
  if (wants_ipv4) {
    writer.record(kHeaderBytes, kTypeA, 4);
    writer.double_word(ipv4_of(*name));
  } else if (wants_servers) {
    writer.record(domain_at, kTypeNs, 2);
    writer.pointer(domain_at);
  } else if (has_answer && !wants_start) {
    writer.record(kHeaderBytes, kTypeAaaa, 16);
    std::array<std::uint8_t, 16> address{};
    store_be128(address.data(), ipv6_of(*name));
    writer.bytes(address);
  } else if (own) {
    write_start_of_authority(writer, domain_at);
  }
  if (asked->knows_extensions) {
    // The record of the root's name has the length of datagrams in the place of its class.
    writer.bytes(std::array<std::uint8_t, 1>{0});
    writer.word(kTypeOpt);
    writer.word(kDatagramBytes);
    writer.double_word(0);
    writer.word(0);
  }
  return writer.length();
}

}  // namespace natxy::dns
