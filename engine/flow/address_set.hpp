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

/// Describes the addresses that one field of a four-tuple takes: `base` and `others`, in each of which a bit field
/// takes all values of `range`. The bit field is `bits` bits long and starts `low_bit` bits above the least significant
/// bit. With `bits` 0, the addresses are used unchanged.
template <Family F>
struct AddressField {
  Address<F> base = 0;
  unsigned low_bit = 0;
  unsigned bits = 0;
  FieldRange range;
  std::vector<Address<F>> others;
};

/// Numbers the addresses of an AddressField: first all values of `base`, then those of each address in `others`.
template <Family F>
class AddressSet {
 public:
  explicit AddressSet(const AddressField<F>& field);

  /// Returns the range of numbers that `place` accepts, in the field's order.
  [[nodiscard]] const FieldRange& numbers() const { return numbers_; }

  /// Sets `addresses` to the addresses with these `numbers`, at most kBurst.
  void place(std::span<const std::uint32_t> numbers, AddressLanes<F>& addresses) const;

 private:
  std::vector<Address<F>> bases_;
  unsigned low_bit_;
  std::uint32_t min_;
  Divisor values_;  // per address
  FieldRange numbers_;
};

extern template class AddressSet<Family::ipv4>;
extern template class AddressSet<Family::ipv6>;

}  // namespace natxy
