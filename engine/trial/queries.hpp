// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "dns/authority.hpp"
#include "dns/datagram.hpp"
#include "dns/queries.hpp"
#include "port/port.hpp"
#include "trial/frame_source.hpp"
#include "trial/report.hpp"

// The two roles that the tester plays for a DNS64 server (RFC 8219 §9): the client and the authority.
namespace natxy {

/// Describes the queries of a stream and their way; each has a source port of its own.
struct QueryStream {
  dns::Queries queries;
  dns::Way way;

  /// Returns the length of a query's frame, in bytes without FCS.
  [[nodiscard]] std::size_t length() const { return dns::message_at(way.family) + dns::kQueryBytes; }

  /// Returns the query, among the first `asked`, to which a datagram is the answer, or nothing if it is none.
  [[nodiscard]] std::optional<std::uint64_t> number_of(const dns::Datagram& datagram, std::uint64_t asked) const {
    const dns::Way& came = datagram.way;
    const bool from_server = came.family == way.family && came.source == way.destination &&
                             came.destination == way.source && came.source_port == way.destination_port;
    if (!from_server || datagram.message.size() < dns::kHeaderBytes) return std::nullopt;
    return queries.number_of(dns::Header(datagram.message).id, came.destination_port, asked);
  }
};

/// Writes the frames of a stream of queries.
class QueryFrames final : public FrameSource {
 public:
  QueryFrames(const QueryStream& stream, std::uint8_t ttl) : stream_{stream}, ttl_{ttl} {}

  [[nodiscard]] std::uint16_t length() const override { return static_cast<std::uint16_t>(stream_.length()); }

  std::uint64_t write(std::span<rte_mbuf* const> buffers, const Series& sequences) override {
    dns::Way way = stream_.way;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const std::uint64_t number = sequences.at(i);
      const std::span frame(Port::frame_of(buffers[i]), stream_.length());
      stream_.queries.write(frame.data() + dns::message_at(way.family), number);
      way.source_port = stream_.queries.port(number);
      dns::write_headers(frame, way, ttl_);
    }
    return 0;
  }

 private:
  QueryStream stream_;
  std::uint8_t ttl_;
};

/// Answers the queries that arrive on a port, as the authority for the names of the tester's queries. One worker
/// both receives and sends on each of the port's queues.
class Authority {
 public:
  explicit Authority(const Port& port) : port_{port} {}
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
  ~Authority() { rte_pktmbuf_free_bulk(waiting_.data(), static_cast<unsigned>(count_)); }

  /// Prepares the answer to a datagram, which leaves with the next `send`. There are at most kBurst between two.
  void take(const dns::Datagram& datagram) {
    std::array<std::uint8_t, dns::kLongestAnswer> message;
    const std::size_t length = dns::answer(datagram.message, message, counts_);
    if (length == 0) return;
    const std::size_t message_at = dns::message_at(datagram.way.family);
    if (!port_.allocate({&waiting_.at(count_), 1}, static_cast<std::uint16_t>(message_at + length))) {
      ++unsent_;
      return;
    }
    const std::span frame(Port::frame_of(waiting_.at(count_++)), message_at + length);
    std::ranges::copy(std::span(message).first(length), frame.subspan(message_at).begin());
    dns::write_headers(frame, datagram.way.back(), kHopLimit);
  }

  void send(std::uint16_t queue) {
    const auto frames = std::span(waiting_).first(count_);
    port_.tag(frames);
    const std::size_t taken = port_.transmit(queue, frames);
    rte_pktmbuf_free_bulk(waiting_.data() + taken, static_cast<unsigned>(count_ - taken));
    unsent_ += count_ - taken;
    count_ = 0;
  }

  [[nodiscard]] bool waits() const { return count_ > 0; }

  void report(QueryReport& report) const {
    report.authority.ipv4 += counts_.ipv4;
    report.authority.ipv6 += counts_.ipv6;
    report.authority.other += counts_.other;
    report.authority.malformed += counts_.malformed;
    report.unsent += unsent_;
  }

 private:
  static constexpr std::uint8_t kHopLimit = 64;

  const Port& port_;
  std::array<rte_mbuf*, kBurst> waiting_{};
  std::size_t count_ = 0;
  dns::AuthorityCounts counts_;
  std::uint64_t unsent_ = 0;
};

}  // namespace natxy
