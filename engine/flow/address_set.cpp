// SPDX-License-Identifier: Apache-2.0
#include "flow/address_set.hpp"

#include <algorithm>
#include <stdexcept>

namespace natxy {

namespace {

template <Family F>
Address<F> with_bits_cleared(Address<F> address, const AddressField<F>& field) {
  const Address<F> ones = static_cast<Address<F>>((uint128{1} << field.bits) - 1);
  return field.bits == 0 ? address : address & static_cast<Address<F>>(~(ones << field.low_bit));
}

void place_in_one(std::span<const std::uint32_t> values, std::uint32_t base, unsigned low_bit,
                  AddressLanes<Family::ipv4>& addresses) {
  for (std::size_t i = 0; i < values.size(); ++i) addresses.values[i] = base | (values[i] << low_bit);
}

void place_in_one(std::span<const std::uint32_t> values, uint128 base, unsigned low_bit,
                  AddressLanes<Family::ipv6>& addresses) {
  const auto high = static_cast<std::uint64_t>(base >> 64);
  const auto low = static_cast<std::uint64_t>(base);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t value = values[i];
    addresses.low[i] = low | (low_bit < 64 ? value << low_bit : 0);
    // The bits that reach the upper half. Two shifts, because one by 64 bits is undefined.
    addresses.high[i] = high | (low_bit < 64 ? value >> 1 >> (63 - low_bit) : value << (low_bit - 64));
  }
}

}  // namespace

template <Family F>
AddressSet<F>::AddressSet(const AddressField<F>& field)
    // A fixed address keeps all its bits, so its only value is 0.
    : low_bit_{field.bits == 0 ? 0 : field.low_bit},
      min_{field.bits == 0 ? 0 : field.range.min},
      values_{field.bits == 0 ? 1 : field.range.size()} {
  bases_.push_back(with_bits_cleared(field.base, field));
  for (const Address<F> other : field.others) bases_.push_back(with_bits_cleared(other, field));
  const std::uint64_t size = bases_.size() * values_.value();
  if (size > std::uint64_t{1} << 32) throw std::invalid_argument("more than 2^32 addresses");
  // With a single address, its values serve as numbers, and `place` needs no division.
  const std::uint32_t first = bases_.size() == 1 ? min_ : 0;
  numbers_ = {first, static_cast<std::uint32_t>(first + (size - 1)), field.range.order};
}

template <Family F>
void AddressSet<F>::place(std::span<const std::uint32_t> numbers, AddressLanes<F>& addresses) const {
  if (bases_.size() == 1) return place_in_one(numbers, bases_.front(), low_bit_, addresses);
  Lanes<std::uint64_t> bases;
  Lanes<std::uint32_t> values;
  std::ranges::copy(numbers, bases.begin());
  values_.divide(std::span(bases).first(numbers.size()), values, std::uint64_t{1} << 32);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Address<F> value = min_ + values[i];
    addresses.set(i, bases_[bases[i]] | (value << low_bit_));
  }
}

template class AddressSet<Family::ipv4>;
template class AddressSet<Family::ipv6>;

}  // namespace natxy
