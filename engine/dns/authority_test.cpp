// SPDX-License-Identifier: Apache-2.0
#include "dns/authority.hpp"

#include <gtest/gtest.h>

#include <random>

#include "dns/test_messages.hpp"

namespace natxy::dns {
namespace {

const std::string kName = "new4-0a1b00000000002a.natxy.test";
const Name kOnlyIpv4{false, false, 0x0a1b'0000'0000'002a};
const std::string kBoth = "OLD6-0000000000000007.Natxy.tesT";

struct Told {
  std::uint16_t code;
  std::uint16_t answers;
  std::uint16_t authorities;
  std::optional<Record> first;

  explicit Told(const Message& message)
      : code{static_cast<std::uint16_t>(Header(message).flags & kResponseCode)},
        answers{Header(message).answers},
        authorities{Header(message).authorities},
        first{read_record(message, *behind_name(message, kHeaderBytes) + kQuestionEndBytes)} {}
};

class AnAuthority : public testing::Test {
 protected:
  Message ask(const std::string& name, std::uint16_t type) { return answer_to(query_for(name, type), counts); }

  AuthorityCounts counts;
};

TEST_F(AnAuthority, AnswersWithTheAddressesOfAName) {
  const Message ipv4 = ask(kName, kTypeA);
  ASSERT_EQ(Told(ipv4).answers, 1);
  EXPECT_EQ(load_be32(Told(ipv4).first->data.data()), ipv4_of(kOnlyIpv4));
  const Message ipv6 = ask(kBoth, kTypeAaaa);
  ASSERT_EQ(Told(ipv6).answers, 1);
  EXPECT_EQ(load_be128(Told(ipv6).first->data.data()), ipv6_of({true, true, 7}));
  EXPECT_EQ(counts.ipv4, 1U);
  EXPECT_EQ(counts.ipv6, 1U);
}

TEST_F(AnAuthority, RepeatsNumberAndQuestionLetterByLetter) {
  const Message query = query_for(kBoth, kTypeAaaa);
  const Message told = answer_to(query, counts);
  EXPECT_TRUE(std::equal(query.begin(), query.begin() + 2, told.begin()));
  EXPECT_TRUE(std::equal(query.begin() + kHeaderBytes, query.end(), told.begin() + kHeaderBytes));
}

TEST_F(AnAuthority, TellsForHowLongANameHasNoIpv6Address) {
  const Message message = ask(kName, kTypeAaaa);
  const Told told(message);
  EXPECT_EQ(told.code, kNoError);
  EXPECT_EQ(told.answers, 0);
  ASSERT_EQ(told.authorities, 1);
  EXPECT_EQ(told.first->type, kTypeSoa);
  EXPECT_EQ(told.first->end, message.size());
}

TEST_F(AnAuthority, AnswersForItsDomain) {
  EXPECT_EQ(Told(ask("natxy.test", kTypeSoa)).first->type, kTypeSoa);
  EXPECT_EQ(Told(ask("natxy.test", kTypeNs)).first->type, kTypeNs);
  EXPECT_EQ(Told(ask("natxy.test", kTypeA)).answers, 0);
  EXPECT_EQ(counts.other, 3U);
}

TEST_F(AnAuthority, KnowsNoOtherNames) {
  EXPECT_EQ(Told(ask("www.natxy.test", kTypeA)).code, kNameError);
  EXPECT_EQ(Told(ask("new4-0a1b00000000002a.natxy.test.natxy.test", kTypeA)).code, kNameError);
  EXPECT_EQ(Told(ask("new4-0a1b00000000002a.natxy.tess", kTypeA)).code, kRefused);
  EXPECT_EQ(Told(ask("xnatxy.test", kTypeA)).code, kRefused);
  EXPECT_EQ(Told(ask("", kTypeNs)).code, kRefused);
}

TEST_F(AnAuthority, AnswersExtensionsWithExtensions) {
  Message query = query_for(kName, kTypeA);
  store_be16(query.data() + 10, 1);
  for (const int byte : {0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0}) query.push_back(static_cast<std::uint8_t>(byte));
  const Message message = answer_to(query, counts);
  EXPECT_EQ(Header(message).additional, 1);
  const auto extension = read_record(message, Told(message).first->end);
  ASSERT_TRUE(extension);
  EXPECT_EQ(extension->type, kTypeOpt);
  EXPECT_EQ(extension->end, message.size());
}

TEST_F(AnAuthority, AnswersNothingToWhatIsNoQuery) {
  Message of_answer = query_for(kName, kTypeA);
  of_answer[2] = 0x80;
  Message two = query_for(kName, kTypeA);
  two[5] = 2;
  Message pointer = query_for("", kTypeA);
  pointer[kHeaderBytes] = 0xC0;
  Message beyond = query_for(kName, kTypeA);
  beyond[11] = 1;  // an additional record that is not there
  Message cut = query_for(kName, kTypeA);
  cut.resize(cut.size() - 3);
  for (const Message& each : {Message{}, Message(11), of_answer, two, pointer, beyond, cut}) {
    EXPECT_TRUE(answer_to(each, counts).empty());
  }
  EXPECT_EQ(counts.malformed, 7U);
}

TEST_F(AnAuthority, ReadsNothingBeyondAnyMessage) {
  std::mt19937 random(1);
  for (int round = 0; round < 100'000; ++round) {
    Message query = query_for(round % 2 == 0 ? kName : kBoth, kTypeAaaa);
    for (int change = 0; change < 3; ++change) query[random() % query.size()] = static_cast<std::uint8_t>(random());
    query.resize(random() % 4 == 0 ? random() % query.size() : query.size());
    query.shrink_to_fit();  // so that a sanitizer knows the end
    EXPECT_LE(answer_to(query, counts).size(), kLongestAnswer);
  }
}

}  // namespace
}  // namespace natxy::dns
