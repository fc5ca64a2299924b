// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "flow/address_set.hpp"
#include "flow/divisor.hpp"
#include "flow/field_range.hpp"
#include "flow/mix.hpp"
#include "flow/permutation.hpp"
#include "packet/address.hpp"
#include "packet/burst.hpp"

namespace natxy {

/// All four-tuples a stream may use, numbered from 0 to `size()` − 1 in mixed radix; most significant first:
/// destination address, source address, destination port, source port.
///
/// Fields of pseudorandom order are permuted together, as one number made of their digits, so that their
/// combinations come in pseudorandom order; the others count up or down. Each tuple appears exactly once.
template <Family F>
class TupleSpace {
 public:
  struct Fields {
    AddressField<F> destination_address;
    AddressField<F> source_address;
    FieldRange destination_port;
    FieldRange source_port;
  };

  TupleSpace(const Fields& fields, std::uint64_t seed);

  /// 0 if there are more than 2^62 tuples: they can be drawn at random but not numbered.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// The tuples numbered `numbers`, at most kBurst, all below `size()`.
  void at(std::span<const std::uint64_t> numbers, TupleLanes<F>& tuples) const;
  [[nodiscard]] Tuple<F> at(std::uint64_t number) const {
    TupleLanes<F> tuples;
    at({&number, 1}, tuples);
    return tuples.get(0);
  }

  /// The tuples of the first `count` frames of `sequences`, every field on its own: one of pseudorandom order is drawn
  /// uniformly for each frame (RFC 4814 §4), the others take their next value with each frame and begin again after the
  /// last. The same sequence number has the same tuple again.
  void random(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) const;

 private:
  enum Position : std::uint8_t { destination_address, source_address, destination_port, source_port, count_ };
  using Digits = std::array<Lanes<std::uint32_t>, Position::count_>;

  [[nodiscard]] bool is_permuted(std::size_t field) const { return ranges_[field].order == Order::pseudorandom; }
  /// From the first value of a field in its order.
  static std::uint32_t counted(const FieldRange& range, std::uint32_t digit) {
    return range.order == Order::decreasing ? range.max - digit : range.min + digit;
  }
  void compose(const Digits& values, std::size_t count, TupleLanes<F>& tuples) const;

  AddressSet<F> destinations_;
  AddressSet<F> sources_;
  std::array<FieldRange, Position::count_> ranges_;
  std::array<Divisor, Position::count_> sizes_;
  std::uint64_t size_ = 1;
  std::uint64_t seed_;
  std::optional<Permutation> permutation_;  // of the pseudorandom fields' combinations
  bool only_permuted_ = false;              // no field counts
};

extern template class TupleSpace<Family::ipv4>;
extern template class TupleSpace<Family::ipv6>;

}  // namespace natxy
