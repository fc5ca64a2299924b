// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/address.hpp"
#include "packet/bytes.hpp"

// The walk over untrusted messages of the Domain Name System (RFC 1035 §4).
namespace natxy::dns {

using Bytes = std::span<const std::uint8_t>;

inline constexpr std::uint16_t kPort = 53;
inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kQuestionEndBytes = 4;  // type and class, behind the name
inline constexpr std::size_t kRecordBytes = 10;      // type, class, time to live and length, behind the name
inline constexpr std::uint16_t kClassIn = 1;
inline constexpr std::uint16_t kTypeA = 1;
inline constexpr std::uint16_t kTypeNs = 2;
inline constexpr std::uint16_t kTypeSoa = 6;
inline constexpr std::uint16_t kTypeAaaa = 28;
inline constexpr std::uint16_t kTypeOpt = 41;

// Bits of the second word of the header.
inline constexpr std::uint16_t kIsAnswer = 0x8000;
inline constexpr std::uint16_t kOpcode = 0x7800;
inline constexpr std::uint16_t kIsAuthoritative = 0x0400;
inline constexpr std::uint16_t kIsTruncated = 0x0200;
inline constexpr std::uint16_t kRecursionDesired = 0x0100;
inline constexpr std::uint16_t kResponseCode = 0x000F;

inline constexpr std::uint16_t kNoError = 0;
inline constexpr std::uint16_t kServerFailure = 2;
inline constexpr std::uint16_t kNameError = 3;
inline constexpr std::uint16_t kRefused = 5;

/// Reads the header of a message of at least kHeaderBytes.
struct Header {
  explicit Header(Bytes message)
      : id{load_be16(message.data())},
        flags{load_be16(message.data() + 2)},
        questions{load_be16(message.data() + 4)},
        answers{load_be16(message.data() + 6)},
        authorities{load_be16(message.data() + 8)},
        additional{load_be16(message.data() + 10)} {}

  std::uint16_t id;
  std::uint16_t flags;
  std::uint16_t questions;
  std::uint16_t answers;
  std::uint16_t authorities;
  std::uint16_t additional;
};

/// Returns the offset of what ends the labels of the name at `at`: a zero, a pointer to an earlier name (RFC 1035
/// §4.1.4), or what is neither; the offset may be that of the message's end or lie beyond it.
inline std::size_t behind_labels(Bytes message, std::size_t at) {
  while (at < message.size() && message[at] != 0 && message[at] <= 63) at += 1 + std::size_t{message[at]};
  return at;
}

/// Returns the offset behind the name at `at`, or nothing if the name goes beyond the message.
inline std::optional<std::size_t> behind_name(Bytes message, std::size_t at) {
  at = behind_labels(message, at);
  if (at >= message.size() || (message[at] != 0 && message[at] < 0xC0)) return std::nullopt;
  const std::size_t end = at + (message[at] == 0 ? 1 : 2);
  return end <= message.size() ? std::optional{end} : std::nullopt;
}

/// Holds what is known of a resource record: its type and class, its data, and the offset behind it.
struct Record {
  std::uint16_t type = 0;
  std::uint16_t record_class = 0;
  Bytes data;
  std::size_t end = 0;
};

/// Reads the record at `at`, or returns nothing if it goes beyond the message.
inline std::optional<Record> read_record(Bytes message, std::size_t at) {
  const auto name_end = behind_name(message, at);
  if (!name_end || message.size() - *name_end < kRecordBytes) return std::nullopt;
  const std::uint8_t* fields = message.data() + *name_end;
  const std::size_t data_at = *name_end + kRecordBytes;
  const std::size_t length = load_be16(fields + 8);
  if (message.size() - data_at < length) return std::nullopt;
  return Record{load_be16(fields), load_be16(fields + 2), message.subspan(data_at, length), data_at + length};
}

}  // namespace natxy::dns
