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

/// Numbers all four-tuples of a stream from 0 to `size()` − 1 in mixed radix. The digits are, most significant first:
/// destination address, source address, destination port, source port.
///
/// Fields of pseudorandom order are permuted together, as one number made of their digits, so that their combinations
/// are in pseudorandom order. The other fields count up or down. Each tuple appears exactly once.
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

  /// Returns the number of tuples, or 0 if it exceeds 2^62: then tuples can be drawn at random but not numbered.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Sets `tuples` to the tuples with these `numbers`, at most kBurst and all below `size()`.
  void at(std::span<const std::uint64_t> numbers, TupleLanes<F>& tuples) const;
  [[nodiscard]] Tuple<F> at(std::uint64_t number) const {
    TupleLanes<F> tuples;
    at({&number, 1}, tuples);
    return tuples.get(0);
  }

  /// Sets `tuples` to the tuples of the first `count` frames of `sequences`, each field independently of the others. A
  /// field of pseudorandom order is drawn uniformly for each frame (RFC 4814 §4). Any other field advances by one value
  /// with each frame and starts again after its last. A sequence number always has the same tuple.
  void random(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) const;
  /// Sets `tuples` to the same tuples of any `sequences`, at most kBurst.
  void random(std::span<const std::uint64_t> sequences, TupleLanes<F>& tuples) const;

 private:
  enum Position : std::uint8_t { destination_address, source_address, destination_port, source_port, count_ };
  using Digits = std::array<Lanes<std::uint32_t>, Position::count_>;

  [[nodiscard]] bool is_permuted(std::size_t field) const { return ranges_[field].order == Order::pseudorandom; }
  /// Returns value number `digit` of a field that counts up or down.
  static std::uint32_t counted(const FieldRange& range, std::uint32_t digit) {
    return range.order == Order::decreasing ? range.max - digit : range.min + digit;
  }
  /// Sets `values` to those drawn for the first of `count` frames of `sequences`, sixteen at a time, and returns the
  /// number of these frames: 0 where vectors are too short or a field has too many values.
  std::size_t draw_sixteens(const Series& sequences, std::size_t count, Digits& values) const;
  /// Sets `values` to those drawn for frames `first` to `count` - 1, of which frame i has the sequence number
  /// `sequence_of(i)`.
  template <class SequenceOf>
  void draw(const SequenceOf& sequence_of, std::size_t first, std::size_t count, Digits& values) const;
  /// Replaces values of fields that count up or down, and sets `tuples`.
  template <class SequenceOf>
  void finish(const SequenceOf& sequence_of, Digits& values, std::size_t count, TupleLanes<F>& tuples) const;
  void compose(const Digits& values, std::size_t count, TupleLanes<F>& tuples) const;

  AddressSet<F> destinations_;
  AddressSet<F> sources_;
  std::array<FieldRange, Position::count_> ranges_;
  std::array<Divisor, Position::count_> sizes_;
  std::uint64_t size_ = 1;
  std::uint64_t seed_;
  std::optional<Permutation> permutation_;  // of the pseudorandom fields' combinations
  bool only_permuted_ = false;              // no field counts up or down
};

extern template class TupleSpace<Family::ipv4>;
extern template class TupleSpace<Family::ipv6>;

}  // namespace natxy
