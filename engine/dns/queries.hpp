// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "dns/message.hpp"
#include "dns/names.hpp"
#include "form/mapping.hpp"

namespace natxy::dns {

/// A query for the AAAA record of a name.
inline constexpr std::size_t kQueryBytes = kHeaderBytes + kNameBytes + kQuestionEndBytes;

/// Says what a stream asks a DNS64 server, in shares of a hundred queries.
struct QueryShares {
  unsigned cached_percent = 0;  // of queries for a name that was asked for before
  unsigned aaaa_percent = 0;    // of names with an IPv6 address of their own
};

/// Lists what can be wrong with an answer; `right` if nothing is.
enum class AnswerKind : std::uint8_t {
  right,
  malformed,       // a record goes beyond the message, or there is no query
  wrong_question,  // the answer is to a query that nobody asked with this number and port
  truncated,
  server_failure,
  other_error,
  no_address,     // no AAAA record
  wrong_address,  // an AAAA record with an address that the name does not have
  count_,
};

inline constexpr std::size_t kAnswerKinds = static_cast<std::size_t>(AnswerKind::count_);

/// Numbers the queries of a stream, so that nothing needs to be kept of a query until its answer comes: the source
/// port and the number in the header of query n say n, and n says the name.
class Queries {
 public:
  struct Setup {
    QueryShares shares;
    EmbeddingPrefix prefix;    // before the addresses that the server makes
    std::uint16_t first_port;  // of the consecutive source ports, which take turns
    std::uint32_t ports;
    std::uint16_t run_id;
  };

  explicit Queries(const Setup& setup) : setup_{setup} {}

  [[nodiscard]] std::uint16_t port(std::uint64_t number) const {
    return static_cast<std::uint16_t>(setup_.first_port + number % setup_.ports);
  }
  [[nodiscard]] std::uint16_t id(std::uint64_t number) const {
    return static_cast<std::uint16_t>((number / setup_.ports) ^ setup_.run_id);
  }
  [[nodiscard]] Name name(std::uint64_t number) const;

  /// Writes a query of kQueryBytes.
  void write(std::uint8_t* to, std::uint64_t number) const;

  /// Returns the number of the last query that had the id and the port, among the first `asked`, or nothing if none
  /// had them.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::uint16_t id, std::uint16_t port, std::uint64_t asked) const;

  /// Judges the answer to a query. `message` is untrusted and has at least kHeaderBytes.
  [[nodiscard]] AnswerKind judge(Bytes message, std::uint64_t number) const;

 private:
  [[nodiscard]] uint128 address_of(const Name& name) const;

  Setup setup_;
};

}  // namespace natxy::dns
