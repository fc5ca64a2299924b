// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "dns/datagram.hpp"
#include "dns/test_messages.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

const uint128 kServer = parse_address("2001:2::3")->value;
const uint128 kServerOutside = parse_address("2001:2::5")->value;
const uint128 kAuthority = parse_address("2001:2::10")->value;
const uint128 kPrefix = parse_address("64:ff9b::")->value;

/// Returns a stream of queries from 2001:2::2 to 2001:2::3.
StreamSpec queries(std::uint64_t count, unsigned aaaa_percent = 0) {
  StreamSpec spec = stream("queries", Side::left, Family::ipv6, count);
  spec.frame_sizes = {dns::message_at(Family::ipv6) + dns::kQueryBytes + kFcsBytes};
  spec.flows->destination_port = {dns::kPort, dns::kPort, Order::increasing};
  spec.queries = QuerySpec{{0, aaaa_percent}, EmbeddingPrefix::of({{Family::ipv6, kPrefix}, 96})};
  return spec;
}

/// Makes the bed a DNS64 server that keeps nothing: it asks the authority for the A record with the number and from the
/// port that the client used, and finds both again in the answer.
class AServer : public testing::Test {
 protected:
  AServer() {
    bed.translate = [this](Side from, Bytes frame) {
      const auto datagram = dns::read_datagram(frame);
      if (!datagram) return std::vector<std::uint8_t>(frame.begin(), frame.end());
      return from == Side::left ? ask(*datagram) : reply(*datagram);
    };
  }

  static std::vector<std::uint8_t> framed(const dns::Message& message, const dns::Way& way) {
    std::vector<std::uint8_t> frame(dns::message_at(way.family));
    frame.insert(frame.end(), message.begin(), message.end());
    dns::write_headers(frame, way, 64);
    return frame;
  }

  std::vector<std::uint8_t> ask(const dns::Datagram& query) const {
    dns::Message message(query.message.begin(), query.message.end());
    if (asks_for_ipv4) store_be16(message.data() + message.size() - 4, dns::kTypeA);
    dns::Way way = query.way;
    way.source = kServerOutside;
    way.destination = kAuthority;
    return framed(message, way);
  }

  std::vector<std::uint8_t> reply(const dns::Datagram& answer) const {
    dns::Message query(answer.message.begin(), answer.message.begin() + dns::kQueryBytes);
    store_be16(query.data() + query.size() - 4, dns::kTypeAaaa);
    const auto record = dns::read_record(answer.message, dns::kQueryBytes);
    uint128 address = wrong_prefix ? kPrefix + 1 : kPrefix;
    if (record && record->type == dns::kTypeAaaa) {
      address = load_be128(record->data.data());
    } else if (record && record->type == dns::kTypeA) {
      address += load_be32(record->data.data());
    }
    dns::Message message = dns::answer_with(query, {address});
    if (fails) store_be16(message.data() + 2, dns::kIsAnswer | dns::kServerFailure);
    return framed(message, {answer.way.source_mac, answer.way.destination_mac, Family::ipv6, kServer,
                            parse_address("2001:2::2")->value, dns::kPort, answer.way.destination_port});
  }

  RingBed bed;
  bool asks_for_ipv4 = true;
  bool wrong_prefix = false;
  bool fails = false;
};

/// Returns a trial that waits for answers as long as a busy machine keeps them.
TrialSpec patient(const StreamSpec& stream, double drain_s = 10) {
  TrialSpec spec = trial({stream});
  spec.drain_s = drain_s;
  spec.drain_ends_early = true;
  return spec;
}

// Answers that are not right end no drain.
constexpr double kWrong_s = 2;

std::uint64_t answers(const TrialReport& report, dns::AnswerKind kind) {
  return report.streams[0].queries->answers.at(static_cast<std::size_t>(kind));
}

TEST_F(AServer, IsAskedAndAsksTheAuthority) {
  const TrialReport report = bed.run(patient(queries(3000)));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.reason, "every query was answered");
  EXPECT_EQ(report.streams[0].received, 3000U);
  EXPECT_EQ(report.streams[0].delay.count(), 3000U);
  EXPECT_EQ(answers(report, dns::AnswerKind::right), 3000U);
  EXPECT_EQ(report.streams[0].queries->authority.ipv4, 3000U);
  EXPECT_EQ(report.streams[0].queries->unsent, 0U);
}

TEST_F(AServer, AnswersWithTheOwnAddressesOfNames) {
  asks_for_ipv4 = false;
  const TrialReport report = bed.run(patient(queries(3000, 100)));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.streams[0].queries->authority.ipv6, 3000U);
}

TEST_F(AServer, WithAnotherPrefixAnswersWrongly) {
  wrong_prefix = true;
  const TrialReport report = bed.run(patient(queries(1000), kWrong_s));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.streams[0].received, 0U);
  EXPECT_EQ(answers(report, dns::AnswerKind::wrong_address), 1000U);
  EXPECT_EQ(
      report.reason,
      "queries: 1,000 of 1,000 queries had no right answer in time (100.0000 %), wrong answers: 1,000 with a wrong "
      "address");
}

TEST_F(AServer, ThatFailsSaysSo) {
  fails = true;
  const TrialReport report = bed.run(patient(queries(1000), kWrong_s));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(answers(report, dns::AnswerKind::server_failure), 1000U);
}

TEST_F(AServer, IsTooLateAfterTheTimeOut) {
  StreamSpec asked = queries(1000);
  asked.frame_timeout_s = 1e-6;
  const TrialReport report = bed.run(patient(asked, kWrong_s));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.streams[0].timed_out, 1000U);
}

TEST_F(AServer, NeedsQueriesOfTheirOwnSize) {
  StreamSpec asked = queries(10);
  asked.frame_sizes = {128};
  EXPECT_THROW(bed.run(trial({asked})), TrialError);
}

}  // namespace
}  // namespace natxy
