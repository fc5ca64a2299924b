// SPDX-License-Identifier: Apache-2.0
#include "flow/tuple_space.hpp"

#include <algorithm>

namespace natxy {

namespace {

template <Family F>
Address<F> with_bits_cleared(const AddressField<F>& field) {
  if (field.bits == 0) return field.base;
  const Address<F> ones = static_cast<Address<F>>((uint128{1} << field.bits) - 1);
  return field.base & static_cast<Address<F>>(~(ones << field.low_bit));
}

constexpr std::uint64_t kMostTuples = std::uint64_t{1} << 62;

}  // namespace

template <Family F>
TupleSpace<F>::TupleSpace(const Fields& fields, std::uint64_t seed)
    : ranges_{fields.destination_address.range, fields.source_address.range, fields.destination_port,
              fields.source_port},
      source_base_{with_bits_cleared(fields.source_address)},
      destination_base_{with_bits_cleared(fields.destination_address)},
      source_low_bit_{fields.source_address.low_bit},
      destination_low_bit_{fields.destination_address.low_bit},
      seed_{seed} {
  std::uint64_t permuted = 1;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    sizes_.at(i) = ranges_.at(i).size();
    size_ = sizes_.at(i) > kMostTuples / std::max<std::uint64_t>(size_, 1) ? 0 : size_ * sizes_.at(i);
    if (size_ != 0 && ranges_.at(i).order == Order::pseudorandom) permuted *= sizes_.at(i);
  }
  // A fixed address keeps all its bits: its only digit must add nothing.
  if (fields.destination_address.bits == 0) ranges_[destination_address] = {};
  if (fields.source_address.bits == 0) ranges_[source_address] = {};
  if (size_ != 0 && permuted > 1) permutation_.emplace(permuted, seed);
}

template <Family F>
Tuple<F> TupleSpace<F>::at(std::uint64_t index) const {
  Digits digits{};
  for (std::size_t i = Position::count; i-- > 0;) {
    digits[i] = index % sizes_[i];
    index /= sizes_[i];
  }
  if (permutation_) {
    std::uint64_t combination = 0;
    for (std::size_t i = 0; i < Position::count; ++i) {
      if (ranges_[i].order == Order::pseudorandom) combination = combination * sizes_[i] + digits[i];
    }
    combination = (*permutation_)(combination);
    for (std::size_t i = Position::count; i-- > 0;) {
      if (ranges_[i].order != Order::pseudorandom) continue;
      digits[i] = combination % sizes_[i];
      combination /= sizes_[i];
    }
  }
  Digits values{};
  for (std::size_t i = 0; i < Position::count; ++i) {
    values[i] = ranges_[i].order == Order::decreasing ? ranges_[i].max - digits[i] : ranges_[i].min + digits[i];
  }
  return compose(values);
}

template class TupleSpace<Family::ipv4>;
template class TupleSpace<Family::ipv6>;

}  // namespace natxy
