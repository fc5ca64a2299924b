// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "packet/address.hpp"
#include "packet/checksum.hpp"

namespace natxy {

/// Says which ports subscribers have: from `lowest` on, those whose bits in `mask` are `value`.
struct SubscriberPorts {
  std::uint64_t lowest = 0;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;

  /// Returns no bits if subscribers have a port, for one number or for each of a vector.
  template <class Word>
  [[nodiscard]] Word differences(const Word& port) const {
    return ((port & mask) ^ value) | (port - lowest) >> 63;
  }
};

/// Holds an IPv6 address.
struct AddressHalves {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// Computes a subscriber's IPv6 address from its IPv4 address and port, as the mapping rule of MAP does (RFC 7597 §5.2
/// and §6). Its address bits and its PSID stand in the first 64 bits of the IPv6 address, and again in the last, as the
/// interface identifier. With masks of 0 and no identifier, all subscribers have the same address.
///
/// With a `table`, these bits are the number of the subscriber's address in it, which must have as many (lw4o6, RFC
/// 7596). The table has to live as long as the rule.
///
/// Its numbers are words, because vectors of words are computed with them: shorter ones would have to be extended for
/// each vector anew.
struct SubscriberRule {
  std::uint64_t high = 0;  // of the IPv6 address of the subscriber whose bits are all 0
  std::uint64_t low = 0;
  std::uint64_t address_mask = 0;   // of the IPv4 address
  std::uint64_t address_shift = 0;  // of the rest, in `high`
  std::uint64_t psid_mask = 0;      // of the port, moved by `psid_drop`
  std::uint64_t psid_drop = 0;
  std::uint64_t psid_shift = 0;  // in `high`
  // Bits that are turned over, to make the address of another subscriber.
  std::uint64_t address_xor = 0;
  std::uint64_t psid_xor = 0;
  bool identifier = false;  // whether `low` has the IPv4 address and the PSID
  SubscriberPorts ports{};
  const AddressHalves* table = nullptr;

  /// Returns the first half of the address for one number of each kind, or for a vector of each.
  template <class Word>
  [[nodiscard]] Word high_of(const Word& address, const Word& port) const {
    return table == nullptr ? computed_high_of(address, port) : looked_up(bits_of(address, port), &AddressHalves::high);
  }
  template <class Word>
  [[nodiscard]] Word low_of(const Word& address, const Word& port) const {
    return table == nullptr ? computed_low_of(address, port) : looked_up(bits_of(address, port), &AddressHalves::low);
  }

  /// Returns the same without a table.
  template <class Word>
  [[nodiscard]] Word computed_high_of(const Word& address, const Word& port) const {
    return high + bits_of(address, port);
  }
  template <class Word>
  [[nodiscard]] Word computed_low_of(const Word& address, const Word& port) const {
    // Without a branch: a vector has none.
    const std::uint64_t all = identifier ? ~std::uint64_t{0} : 0;
    return low + ((((address ^ address_xor) << 16) + psid_of(port)) & all);
  }

  /// Returns what an address adds to the sum of a checksum besides `base_sum`: a number below 2^50, congruent to the
  /// sum of 16-bit words. Moving a number by 16 bits does not change the sum.
  template <class Word>
  [[nodiscard]] Word sum_of(const Word& address, const Word& port) const {
    const std::uint64_t all = identifier ? ~std::uint64_t{0} : 0;
    const Word psid = psid_of(port);
    const Word own = address ^ address_xor;
    return ((own & address_mask) << address_shift % 16) + (psid << psid_shift % 16) + ((own + psid) & all);
  }
  [[nodiscard]] std::uint64_t base_sum() const { return halves_of(high) + halves_of(low); }

  /// Returns the greatest number that the bits of a subscriber can make.
  [[nodiscard]] uint128 most_bits() const {
    return (uint128{address_mask} << address_shift) + (uint128{psid_mask} << psid_shift);
  }
  /// Returns whether no sum of `high_of` and `low_of` is longer than 64 bits.
  [[nodiscard]] bool fits() const {
    const uint128 last = identifier ? (uint128{0xFFFF'FFFF} << 16) + psid_mask : 0;
    return (high + most_bits()) >> 64 == 0 && (low + last) >> 64 == 0;
  }

  /// Returns the IPv4 address in an interface identifier, the second half of the address.
  template <class Word>
  [[nodiscard]] static Word address_in(const Word& identifier) {
    return identifier >> 16 & 0xFFFF'FFFF;
  }

 private:
  template <class Word>
  [[nodiscard]] Word looked_up(const Word& numbers, std::uint64_t AddressHalves::*half) const {
    if constexpr (std::is_integral_v<Word>) {
      return table[numbers].*half;
    } else {
      return Word{table[numbers[0]].*half, table[numbers[1]].*half, table[numbers[2]].*half, table[numbers[3]].*half};
    }
  }
  template <class Word>
  [[nodiscard]] Word bits_of(const Word& address, const Word& port) const {
    return (((address ^ address_xor) & address_mask) << address_shift) + (psid_of(port) << psid_shift);
  }
  template <class Word>
  [[nodiscard]] Word psid_of(const Word& port) const {
    return ((port >> psid_drop) & psid_mask) ^ psid_xor;
  }
};

}  // namespace natxy
