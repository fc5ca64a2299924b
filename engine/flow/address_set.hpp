// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/divisor.hpp"
#include "flow/field_range.hpp"
#include "packet/address.hpp"
#include "packet/burst.hpp"

namespace natxy {

/// Addresses in each of which `range.size()` values stand `low_bit` bits above the least significant bit, in place of
/// `bits` bits. `bits` is 0 where nothing varies but the choice among `base` and `others`.
template <Family F>
struct AddressField {
  Address<F> base = 0;
  unsigned low_bit = 0;
  unsigned bits = 0;
  FieldRange range;
  std::vector<Address<F>> others;
};

/// An address field's addresses by their numbers: the values of the first address, then those of the next.
template <Family F>
class AddressSet {
 public:
  explicit AddressSet(const AddressField<F>& field);

  /// What `place` takes, in the field's order.
  [[nodiscard]] const FieldRange& numbers() const { return numbers_; }

  /// The addresses of `numbers`, at most kBurst.
  void place(std::span<const std::uint32_t> numbers, AddressLanes<F>& addresses) const;

 private:
  std::vector<Address<F>> bases_;
  unsigned low_bit_;
  std::uint32_t min_;
  Divisor values_;  // of each address
  FieldRange numbers_;
};

extern template class AddressSet<Family::ipv4>;
extern template class AddressSet<Family::ipv6>;

}  // namespace natxy
