// SPDX-License-Identifier: Apache-2.0
#include "dns/queries.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "dns/test_messages.hpp"

namespace natxy::dns {
namespace {

constexpr std::uint64_t kMany = 100'000;

Queries queries(unsigned cached_percent = 0, unsigned aaaa_percent = 0, std::uint32_t ports = 1000,
                std::uint16_t run_id = 0x0a1b) {
  return Queries(
      {{cached_percent, aaaa_percent}, EmbeddingPrefix::of(*parse_prefix("64:ff9b::/96")), 2000, ports, run_id});
}

Message query(const Queries& asked, std::uint64_t number) {
  Message message(kQueryBytes);
  asked.write(message.data(), number);
  return message;
}

uint128 made_of(const Name& name) { return parse_address("64:ff9b::")->value + ipv4_of(name); }

TEST(Queries, AskForTheRecordsOfNewNames) {
  EXPECT_EQ(query(queries(), 42), [] {
    Message expected = query_for("new4-0a1b00000000002a.natxy.test", kTypeAaaa);
    store_be16(expected.data(), 0x0a1b);
    store_be16(expected.data() + 2, kRecursionDesired);
    return expected;
  }());
}

TEST(Queries, AreKnownByPortAndNumber) {
  for (const std::uint32_t ports : {1U, 7U, 60'000U}) {
    const Queries asked = queries(0, 0, ports);
    const std::uint64_t turn = std::uint64_t{ports} << 16;
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, turn - 1, turn, 5 * turn + 3}) {
      EXPECT_EQ(asked.number_of(asked.id(number), asked.port(number), number + 1), number);
      // The last of those that look alike, of which the others were answered or lost long ago.
      EXPECT_EQ(asked.number_of(asked.id(number), asked.port(number), number + turn), number);
      EXPECT_EQ(asked.number_of(asked.id(number), asked.port(number), number + turn + 1), number + turn);
    }
    EXPECT_EQ(asked.number_of(asked.id(turn - 1), asked.port(turn - 1), turn - 1), std::nullopt);
  }
  EXPECT_EQ(queries().number_of(0, 1999, kMany), std::nullopt);
  EXPECT_EQ(queries().number_of(0, 3000, kMany), std::nullopt);
}

TEST(Queries, OfTheCachedShareTakeTheOldNamesInTurn) {
  for (const unsigned percent : {0U, 20U, 50U, 100U}) {
    const Queries asked = queries(percent);
    std::set<std::uint64_t> old_names;
    std::uint64_t old = 0;
    for (std::uint64_t number = 0; number < kMany * 2; ++number) {
      if (const Name name = asked.name(number); name.is_old) {
        old_names.insert(name.number);
        ++old;
      }
    }
    EXPECT_EQ(old, kMany * 2 * percent / 100);
    EXPECT_EQ(old_names.size(), percent == 0 ? 0U : kOldNames);
  }
}

TEST(Queries, HaveAShareOfNamesWithIpv6Addresses) {
  for (const unsigned percent : {0U, 20U, 100U}) {
    const Queries asked = queries(50, percent);
    std::uint64_t both = 0;
    for (std::uint64_t number = 0; number < kMany; ++number) both += asked.name(number).has_ipv6 ? 1U : 0U;
    EXPECT_NEAR(static_cast<double>(both) / kMany, percent / 100.0, 0.015);
    EXPECT_EQ(asked.name(3), queries(50, percent).name(3));
  }
}

TEST(Queries, AreAnsweredByTheAddressOfTheName) {
  const Queries asked = queries(0, 50);
  std::set<bool> both;
  for (std::uint64_t number = 0; number < 20; ++number) {
    const Name name = asked.name(number);
    both.insert(name.has_ipv6);
    const uint128 right = name.has_ipv6 ? ipv6_of(name) : made_of(name);
    const Message own = query(asked, number);
    EXPECT_EQ(asked.judge(answer_with(own, {right}), number), AnswerKind::right);
    EXPECT_EQ(asked.judge(answer_with(own, {right, right}), number), AnswerKind::right);
    EXPECT_EQ(asked.judge(answer_with(own, {right ^ 1}), number), AnswerKind::wrong_address);
    EXPECT_EQ(asked.judge(answer_with(own, {right, right ^ 1}), number), AnswerKind::wrong_address);
    EXPECT_EQ(asked.judge(answer_with(own, {}), number), AnswerKind::no_address);
    EXPECT_EQ(asked.judge(answer_with(own, {right}), number + 1), AnswerKind::wrong_question);
    // A name with an address of its own gets no other (RFC 6147 §5.1.1).
    if (name.has_ipv6) {
      EXPECT_EQ(asked.judge(answer_with(own, {made_of(name)}), number), AnswerKind::wrong_address);
    }
  }
  EXPECT_EQ(both.size(), 2U);
}

TEST(Queries, TellWrongAnswersApart) {
  const Queries asked = queries();
  const Message right = answer_with(query(asked, 0), {made_of(asked.name(0))});
  const auto with_flags = [&](std::uint16_t flags) {
    Message message = right;
    store_be16(message.data() + 2, flags);
    return asked.judge(message, 0);
  };
  EXPECT_EQ(with_flags(kRecursionDesired), AnswerKind::malformed);
  EXPECT_EQ(with_flags(kIsAnswer | kIsTruncated), AnswerKind::truncated);
  EXPECT_EQ(with_flags(kIsAnswer | kServerFailure), AnswerKind::server_failure);
  EXPECT_EQ(with_flags(kIsAnswer | kRefused), AnswerKind::other_error);
  for (std::size_t length = kHeaderBytes; length < right.size(); ++length) {
    const Message cut(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(asked.judge(cut, 0), AnswerKind::malformed) << length;
  }
}

TEST(Queries, ReadNothingBeyondAnyAnswer) {
  const Queries asked = queries();
  const Message right = answer_with(query(asked, 0), {made_of(asked.name(0)), 1});
  std::mt19937 random(1);
  for (int round = 0; round < 100'000; ++round) {
    Message message = right;
    for (int change = 0; change < 2; ++change) {
      message[kQueryBytes + random() % (message.size() - kQueryBytes)] = static_cast<std::uint8_t>(random());
    }
    message.resize(kHeaderBytes + random() % (message.size() - kHeaderBytes));
    message.shrink_to_fit();  // so that a sanitizer knows the end
    EXPECT_NE(asked.judge(message, 0), AnswerKind::count_);
  }
}

}  // namespace
}  // namespace natxy::dns
