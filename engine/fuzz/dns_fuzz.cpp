// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "dns/authority.hpp"
#include "dns/datagram.hpp"
#include "dns/queries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const natxy::dns::Bytes message{data, size};
  // A frame's headers come first, and its message is any other.
  static_cast<void>(natxy::dns::read_datagram(message));
  natxy::dns::AuthorityCounts counts;
  std::array<std::uint8_t, natxy::dns::kLongestAnswer> to{};
  const std::size_t length = natxy::dns::answer(message, to, counts);
  if (length > to.size() || (length == 0) != (counts.malformed == 1)) __builtin_trap();
  // What the authority answers is a message that the walk over messages follows to its end.
  if (length > 0) {
    const natxy::dns::Bytes answer = std::span(to).first(length);
    const natxy::dns::Header header(answer);
    const auto question_end = natxy::dns::behind_name(answer, natxy::dns::kHeaderBytes);
    if (!question_end) __builtin_trap();
    std::size_t at = *question_end + natxy::dns::kQuestionEndBytes;
    for (unsigned i = 0; i < 0U + header.answers + header.authorities + header.additional; ++i) {
      const auto record = natxy::dns::read_record(answer, at);
      if (!record) __builtin_trap();
      at = record->end;
    }
    if (at != length) __builtin_trap();
  }
  if (size < natxy::dns::kHeaderBytes) return 0;
  const natxy::dns::Queries queries({{}, {}, 1024, 1000, 0});
  const auto number = queries.number_of(natxy::dns::Header(message).id, 1024, std::uint64_t{1} << 48);
  if (queries.judge(message, *number) == natxy::dns::AnswerKind::count_) __builtin_trap();
  return 0;
}
