// SPDX-License-Identifier: Apache-2.0
#include "flow/address_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace natxy {
namespace {

/// Returns all addresses of a set, in the order of their numbers.
template <Family F>
std::vector<Address<F>> all_of(const AddressSet<F>& set) {
  std::vector<Address<F>> addresses;
  for (std::uint64_t number = set.numbers().min; number <= set.numbers().max; ++number) {
    const auto lane = static_cast<std::uint32_t>(number);
    AddressLanes<F> lanes;
    set.place({&lane, 1}, lanes);
    addresses.push_back(lanes.get(0));
  }
  return addresses;
}

/// Computes a field's addresses from their definition, bit by bit, independently of AddressSet.
template <Family F>
std::vector<Address<F>> expected_of(const AddressField<F>& field) {
  std::vector<Address<F>> bases = {field.base};
  bases.insert(bases.end(), field.others.begin(), field.others.end());
  std::vector<Address<F>> addresses;
  for (const Address<F> base : bases) {
    for (std::uint64_t value = field.range.min; value <= field.range.max; ++value) {
      Address<F> address = base;
      for (unsigned bit = 0; bit < field.bits; ++bit) {
        const Address<F> mask = Address<F>{1} << (field.low_bit + bit);
        address = (value >> bit & 1) != 0 ? address | mask : address & ~mask;
      }
      addresses.push_back(address);
    }
  }
  return addresses;
}

/// Checks fields with bit fields of random length and position and with random other addresses.
template <Family F>
void expect_every_bit_in_its_place() {
  std::mt19937_64 random(1);
  const auto any_address = [&] { return static_cast<Address<F>>((uint128{random()} << 64) | random()); };
  for (int i = 0; i < 2000; ++i) {
    AddressField<F> field;
    field.base = any_address();
    field.bits = static_cast<unsigned>(random() % 33);
    if (field.bits > 0) {
      field.low_bit = static_cast<unsigned>(random() % (address_bits(F) - field.bits + 1));
      field.range.max =
          static_cast<std::uint32_t>((random() | 1U << 31) >> (32 - field.bits) & ((uint128{1} << field.bits) - 1));
      field.range.min =
          static_cast<std::uint32_t>(field.range.max - std::min<std::uint64_t>(field.range.max, random() % 40));
    }
    for (std::uint64_t others = random() % 5; others > 0; --others) field.others.push_back(any_address());
    ASSERT_EQ(all_of(AddressSet<F>(field)), expected_of(field)) << field.bits << " bits from " << field.low_bit;
  }
}

TEST(AddressSet, PutsEveryBitInItsPlace) {
  expect_every_bit_in_its_place<Family::ipv4>();
  expect_every_bit_in_its_place<Family::ipv6>();
}

TEST(AddressSet, TakesTheAddressesOfAListInTheirOrder) {
  AddressField<Family::ipv4> field;
  field.base = 0x0A000001;
  field.others = {0xC6130007, 0xC6120009};
  EXPECT_EQ(all_of(AddressSet<Family::ipv4>(field)), (std::vector<std::uint32_t>{0x0A000001, 0xC6130007, 0xC6120009}));
}

TEST(AddressSet, HoldsAsManyAsThirtyTwoBitsNumber) {
  AddressField<Family::ipv6> field;
  field.low_bit = 50;
  field.bits = 32;
  field.range.max = 0xFFFFFFFF;
  EXPECT_EQ(AddressSet<Family::ipv6>(field).numbers().size(), std::uint64_t{1} << 32);
  field.others = {uint128{1} << 100};
  EXPECT_THROW(AddressSet<Family::ipv6>{field}, std::invalid_argument);
  field.bits = 31;
  field.range.max = 0x7FFFFFFF;
  EXPECT_EQ(AddressSet<Family::ipv6>(field).numbers().size(), std::uint64_t{1} << 32);
}

}  // namespace
}  // namespace natxy
