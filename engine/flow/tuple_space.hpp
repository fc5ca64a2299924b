// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "flow/permutation.hpp"
#include "packet/address.hpp"

namespace natxy {

enum class Order : std::uint8_t { increasing, decreasing, pseudorandom };

/// The values one field of a four-tuple takes: `min` to `max`, in `order`.
struct FieldRange {
  std::uint32_t min = 0;
  std::uint32_t max = 0;
  Order order = Order::pseudorandom;

  [[nodiscard]] std::uint64_t size() const { return std::uint64_t{max} - min + 1; }
};

/// An address of which `range.size()` values stand `low_bit` bits above the least significant bit, in place of `bits`
/// bits of `base`. `bits` is 0 where the address is fixed.
template <Family F>
struct AddressField {
  Address<F> base = 0;
  unsigned low_bit = 0;
  unsigned bits = 0;
  FieldRange range;
};

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

  /// The tuple numbered `index`, below `size()`.
  [[nodiscard]] Tuple<F> at(std::uint64_t index) const;

  /// Every field drawn independently and uniformly (RFC 4814 §4); the same `sequence` draws the same tuple again.
  [[nodiscard]] Tuple<F> random(std::uint64_t sequence) const;

 private:
  enum Position : std::uint8_t { destination_address, source_address, destination_port, source_port, count };
  using Digits = std::array<std::uint64_t, Position::count>;

  [[nodiscard]] Tuple<F> compose(const Digits& values) const;

  std::array<FieldRange, Position::count> ranges_;
  std::array<std::uint64_t, Position::count> sizes_{};
  Address<F> source_base_;
  Address<F> destination_base_;
  unsigned source_low_bit_;
  unsigned destination_low_bit_;
  std::uint64_t size_ = 1;
  std::uint64_t seed_;
  std::optional<Permutation> permutation_;  // of the pseudorandom fields' combinations
};

template <Family F>
inline Tuple<F> TupleSpace<F>::random(std::uint64_t sequence) const {
  const std::uint64_t addresses = random_word(seed_, 2 * sequence);
  const std::uint64_t ports = random_word(seed_, 2 * sequence + 1);
  const auto draw = [this](std::uint64_t word, std::size_t i) { return ranges_[i].min + scale(word, sizes_[i]); };
  // Each half of a word is enough for a field of at most 32 bits; the low one is moved up to where `scale` looks.
  return compose({draw(addresses, destination_address), draw(addresses << 32, source_address),
                  draw(ports, destination_port), draw(ports << 32, source_port)});
}

template <Family F>
inline Tuple<F> TupleSpace<F>::compose(const Digits& values) const {
  return {
      static_cast<Address<F>>(source_base_ | (static_cast<Address<F>>(values[source_address]) << source_low_bit_)),
      static_cast<Address<F>>(destination_base_ |
                              (static_cast<Address<F>>(values[destination_address]) << destination_low_bit_)),
      static_cast<std::uint16_t>(values[source_port]),
      static_cast<std::uint16_t>(values[destination_port]),
  };
}

extern template class TupleSpace<Family::ipv4>;
extern template class TupleSpace<Family::ipv6>;

}  // namespace natxy
