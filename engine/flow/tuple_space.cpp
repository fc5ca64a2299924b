// SPDX-License-Identifier: Apache-2.0
#include "flow/tuple_space.hpp"

#include <algorithm>
#include <cstring>

#include "packet/vectors.hpp"

namespace natxy {

namespace {

constexpr std::uint64_t kMostTuples = std::uint64_t{1} << 62;

}  // namespace

template <Family F>
TupleSpace<F>::TupleSpace(const Fields& fields, std::uint64_t seed)
    : destinations_{fields.destination_address},
      sources_{fields.source_address},
      ranges_{destinations_.numbers(), sources_.numbers(), fields.destination_port, fields.source_port},
      sizes_{Divisor(ranges_[0].size()), Divisor(ranges_[1].size()), Divisor(ranges_[2].size()),
             Divisor(ranges_[3].size())},
      seed_{seed} {
  std::uint64_t permuted = 1;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const std::uint64_t values = ranges_.at(i).size();
    // A single value has no order. As part of the permutation it needs no counting.
    if (values == 1) ranges_.at(i).order = Order::pseudorandom;
    size_ = values > kMostTuples / std::max<std::uint64_t>(size_, 1) ? 0 : size_ * values;
    if (size_ != 0 && is_permuted(i)) permuted *= values;
  }
  if (size_ != 0 && permuted > 1) permutation_.emplace(permuted, seed);
  only_permuted_ = permutation_ && permuted == size_;
}

template <Family F>
void TupleSpace<F>::at(std::span<const std::uint64_t> numbers, TupleLanes<F>& tuples) const {
  const std::size_t count = numbers.size();
  Lanes<std::uint64_t> rest;
  std::ranges::copy(numbers, rest.begin());
  Digits digits;
  const auto split = [&](bool all) {
    for (std::size_t field = Position::count_; field-- > 0;) {
      if (!all && !is_permuted(field)) continue;
      const Divisor& size = sizes_[field];
      if (size.value() == 1) {
        digits[field].fill(0);
        continue;
      }
      if (field == 0) {
        for (std::size_t i = 0; i < count; ++i) digits[field][i] = static_cast<std::uint32_t>(rest[i]);
        continue;
      }
      size.divide(std::span(rest).first(count), digits[field], size_);
    }
  };
  if (!only_permuted_) split(true);
  if (permutation_) {
    if (!only_permuted_) {
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t combination = 0;
        for (std::size_t field = 0; field < Position::count_; ++field) {
          if (is_permuted(field)) combination = combination * sizes_[field].value() + digits[field][i];
        }
        rest[i] = combination;
      }
    }
    (*permutation_)(std::span(rest).first(count));
    split(false);
  }
  for (std::size_t field = Position::count_; field-- > 0;) {
    const FieldRange& range = ranges_[field];
    for (std::size_t i = 0; i < count; ++i) digits[field][i] = counted(range, digits[field][i]);
  }
  compose(digits, count, tuples);
}

template <Family F>
void TupleSpace<F>::random(const Series& sequences, std::size_t count, TupleLanes<F>& tuples) const {
  const auto sequence_of = [&](std::size_t i) { return sequences.at(i); };
  Digits values;
  draw(sequence_of, draw_sixteens(sequences, count, values), count, values);
  finish(sequence_of, values, count, tuples);
}

template <Family F>
void TupleSpace<F>::random(std::span<const std::uint64_t> sequences, TupleLanes<F>& tuples) const {
  const auto sequence_of = [&](std::size_t i) { return sequences[i]; };
  Digits values;
  draw(sequence_of, 0, sequences.size(), values);
  finish(sequence_of, values, sequences.size(), tuples);
}

template <Family F>
std::size_t TupleSpace<F>::draw_sixteens(const Series& sequences, std::size_t count, Digits& values) const {
  const auto has_32_bits = [](const FieldRange& range) { return range.size() <= kLowHalf; };
  if (!kEightWholesFitRegister || !std::ranges::all_of(ranges_, has_32_bits)) return 0;
  std::array<EightWholes, Position::count_> sizes;
  for (std::size_t field = 0; field < Position::count_; ++field) sizes[field] = EightWholes{} + ranges_[field].size();
  // Two words a frame, mixed from numbers with equal distances.
  const std::uint64_t distance = 2 * sequences.stride * kRandomStep;
  EightWholes next = EightWholes{0, 1, 2, 3, 4, 5, 6, 7} * distance + (seed_ + (2 * sequences.first + 1) * kRandomStep);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const auto draw_field = [&](std::size_t field, EightWholes halves, EightWholes more_halves) {
      const SixteenHalves drawn = high_halves_in_a_row(products_of_halves(halves, sizes[field]),
                                                       products_of_halves(more_halves, sizes[field])) +
                                  ranges_[field].min;
      std::memcpy(&values[field][i], &drawn, sizeof drawn);
    };
    const EightWholes addresses = mix(next);
    const EightWholes ports = mix(next + kRandomStep);
    next += 8 * distance;
    const EightWholes more_addresses = mix(next);
    const EightWholes more_ports = mix(next + kRandomStep);
    next += 8 * distance;
    draw_field(destination_address, addresses >> 32, more_addresses >> 32);
    draw_field(source_address, addresses, more_addresses);
    draw_field(destination_port, ports >> 32, more_ports >> 32);
    draw_field(source_port, ports, more_ports);
  }
  return i;
}

template <Family F>
template <class SequenceOf>
void TupleSpace<F>::draw(const SequenceOf& sequence_of, std::size_t first, std::size_t count, Digits& values) const {
  // Half a word is enough for a field of at most 32 bits.
  const auto draw_field = [&](std::size_t field, std::size_t i, std::uint64_t half) {
    values[field][i] = ranges_[field].min + static_cast<std::uint32_t>(half * ranges_[field].size() >> 32);
  };
  for (std::size_t i = first; i < count; ++i) {
    const std::uint64_t addresses = random_word(seed_, 2 * sequence_of(i));
    const std::uint64_t ports = random_word(seed_, 2 * sequence_of(i) + 1);
    draw_field(destination_address, i, addresses >> 32);
    draw_field(source_address, i, addresses & kLowHalf);
    draw_field(destination_port, i, ports >> 32);
    draw_field(source_port, i, ports & kLowHalf);
  }
}

template <Family F>
template <class SequenceOf>
void TupleSpace<F>::finish(const SequenceOf& sequence_of, Digits& values, std::size_t count,
                           TupleLanes<F>& tuples) const {
  for (std::size_t field = 0; field < Position::count_; ++field) {
    if (is_permuted(field)) continue;
    Lanes<std::uint64_t> rounds;
    for (std::size_t i = 0; i < count; ++i) rounds[i] = sequence_of(i);
    sizes_[field].divide(std::span(rounds).first(count), values[field], kMostTuples);
    for (std::size_t i = 0; i < count; ++i) values[field][i] = counted(ranges_[field], values[field][i]);
  }
  compose(values, count, tuples);
}

template <Family F>
void TupleSpace<F>::compose(const Digits& values, std::size_t count, TupleLanes<F>& tuples) const {
  // The ports come first because they were stored first: a vector load from scalar stores stalls until these have left
  // the store buffer.
  for (std::size_t i = 0; i < count; ++i) {
    tuples.source_port[i] = static_cast<std::uint16_t>(values[source_port][i]);
    tuples.destination_port[i] = static_cast<std::uint16_t>(values[destination_port][i]);
  }
  sources_.place(std::span(values[source_address]).first(count), tuples.source);
  destinations_.place(std::span(values[destination_address]).first(count), tuples.destination);
}

template class TupleSpace<Family::ipv4>;
template class TupleSpace<Family::ipv6>;

}  // namespace natxy
