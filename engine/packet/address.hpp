// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace natxy {

enum class Family : std::uint8_t { ipv4 = 4, ipv6 = 6 };

__extension__ using uint128 = unsigned __int128;

/// Selects the integer type for an address of family F, in host order.
template <Family F>
struct AddressInteger;
template <>
struct AddressInteger<Family::ipv4> {
  using type = std::uint32_t;
};
template <>
struct AddressInteger<Family::ipv6> {
  using type = uint128;
};
template <Family F>
using Address = typename AddressInteger<F>::type;

/// Holds an address whose family is known only at run time.
struct AnyAddress {
  Family family = Family::ipv4;
  uint128 value = 0;

  bool operator==(const AnyAddress&) const = default;
};

/// Holds an address prefix. `contains` returns false for an address of the other family.
struct Prefix {
  AnyAddress network;
  unsigned length = 0;

  [[nodiscard]] bool contains(const AnyAddress& address) const;
};

constexpr unsigned address_bits(Family family) { return family == Family::ipv4 ? 32 : 128; }

std::optional<AnyAddress> parse_address(std::string_view text);
std::optional<Prefix> parse_prefix(std::string_view text);
std::string format_address(const AnyAddress& address);

/// Holds a four-tuple; all numbers are in host order.
template <Family F>
struct Tuple {
  Address<F> source = 0;
  Address<F> destination = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;

  bool operator==(const Tuple&) const = default;

  [[nodiscard]] Tuple swapped() const { return {destination, source, destination_port, source_port}; }
};

}  // namespace natxy
