// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "packet/address.hpp"
#include "packet/burst.hpp"
#include "packet/bytes.hpp"
#include "packet/vectors.hpp"
#include "state/held_bytes.hpp"

namespace natxy {

/// Holds the four-tuple of one connection; of an IPv6 address, the bytes that HeldBytes selects. No entry lies on two
/// cache lines.
struct StateEntry {
  std::uint32_t source;
  std::uint32_t destination;
  std::uint32_t ports;  // that of the source in the lower half
  std::uint32_t mark;   // which is the table's

  [[nodiscard]] std::uint16_t source_port() const { return static_cast<std::uint16_t>(ports); }
  [[nodiscard]] std::uint16_t destination_port() const { return static_cast<std::uint16_t>(ports >> 16); }
  static std::uint32_t both_ports(std::uint16_t source, std::uint16_t destination) {
    return std::uint32_t{destination} << 16 | source;
  }
};
static_assert(sizeof(StateEntry) == 16);

/// Holds one number of each of four entries.
using OfFour = std::uint32_t __attribute__((vector_size(16)));

/// Reads four entries and returns their sources, destinations, ports, and marks.
inline std::array<OfFour, 4> columns_of(const std::array<const StateEntry*, 4>& entries) {
  const auto row = [&](std::size_t i) { return load_raw<OfFour>(reinterpret_cast<const std::uint8_t*>(entries[i])); };
  const std::array<OfFour, 4> rows = {row(0), row(1), row(2), row(3)};
  const OfFour addresses = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const OfFour other_addresses = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const OfFour rest = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const OfFour other_rest = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  return {__builtin_shufflevector(addresses, other_addresses, 0, 1, 4, 5),
          __builtin_shufflevector(addresses, other_addresses, 2, 3, 6, 7),
          __builtin_shufflevector(rest, other_rest, 0, 1, 4, 5), __builtin_shufflevector(rest, other_rest, 2, 3, 6, 7)};
}

/// Turns four-tuples into entries and back. What an entry leaves out of its addresses is their Rest; nearly all
/// connections share it. The functions for bursts need vectors of four words.
template <Family F>
class EntryForm;

template <>
class EntryForm<Family::ipv4> {
 public:
  static constexpr bool kLeavesOut = false;
  struct Rest {};

  static EntryForm for_varying(const Tuple<Family::ipv4>& /*bits*/) { return {}; }

  static Rest rest_of(const Tuple<Family::ipv4>& /*tuple*/) { return {}; }
  static StateEntry entry_of(const Tuple<Family::ipv4>& tuple, std::uint32_t mark) {
    return {tuple.source, tuple.destination, StateEntry::both_ports(tuple.source_port, tuple.destination_port), mark};
  }
  static Tuple<Family::ipv4> tuple_of(const StateEntry& entry, const Rest& /*rest*/) {
    return {entry.source, entry.destination, entry.source_port(), entry.destination_port()};
  }

  void share(const Rest& /*rest*/) {}
  [[nodiscard]] static Rest shared() { return {}; }
  [[nodiscard]] static bool shares(const Rest& /*rest*/) { return true; }

  /// Writes the entry of the tuple at `wire`, where the ports follow the addresses.
  static void write(const std::uint8_t* wire, std::uint32_t mark, StateEntry& entry) {
    using Bytes = std::uint8_t __attribute__((vector_size(16)));
    const auto marks = reinterpret_cast<Bytes>(OfFour{0, 0, 0, mark});
    const auto bytes = load_raw<Bytes>(wire);
    store_raw(reinterpret_cast<std::uint8_t*>(&entry),
              __builtin_shufflevector(bytes, marks, 3, 2, 1, 0, 7, 6, 5, 4, 9, 8, 11, 10, 28, 29, 30, 31));
  }
  /// Returns no bits if the tuple at `wire` has the shared rest.
  static FourWords differences(const std::uint8_t* /*wire*/) { return FourWords{}; }

  /// Sets lanes from `i` on to the sources or destinations of four entries that share the rest.
  static void set_sources(OfFour held, std::size_t i, AddressLanes<Family::ipv4>& lanes) { set(held, i, lanes); }
  static void set_destinations(OfFour held, std::size_t i, AddressLanes<Family::ipv4>& lanes) { set(held, i, lanes); }

 private:
  static void set(OfFour held, std::size_t i, AddressLanes<Family::ipv4>& lanes) {
    std::memcpy(&lanes.values[i], &held, sizeof held);
  }
};

template <>
class EntryForm<Family::ipv6> {
 public:
  static constexpr bool kLeavesOut = true;
  /// Holds both addresses, in which the bytes that entries hold are zero.
  struct Rest {
    uint128 source = 0;
    uint128 destination = 0;
  };

  EntryForm() : EntryForm(HeldBytes(), HeldBytes()) {}
  /// Returns the form for tuples whose addresses are expected to differ in these bits.
  static EntryForm for_varying(const Tuple<Family::ipv6>& bits) {
    return {HeldBytes(bits.source), HeldBytes(bits.destination)};
  }

  [[nodiscard]] Rest rest_of(const Tuple<Family::ipv6>& tuple) const {
    return {tuple.source & left_out_.source, tuple.destination & left_out_.destination};
  }
  [[nodiscard]] StateEntry entry_of(const Tuple<Family::ipv6>& tuple, std::uint32_t mark) const {
    return {source_.of(tuple.source), destination_.of(tuple.destination),
            StateEntry::both_ports(tuple.source_port, tuple.destination_port), mark};
  }
  [[nodiscard]] Tuple<Family::ipv6> tuple_of(const StateEntry& entry, const Rest& rest) const {
    return {rest.source | source_.placed(entry.source), rest.destination | destination_.placed(entry.destination),
            entry.source_port(), entry.destination_port()};
  }

  void share(const Rest& rest) {
    shared_ = rest;
    shared_on_wire_ = on_wire(rest);
  }
  [[nodiscard]] const Rest& shared() const { return shared_; }
  [[nodiscard]] bool shares(const Rest& rest) const {
    // Compared as numbers: compilers would compare the structures in memory, and wait for the stores to it.
    return ((shared_.source ^ rest.source) | (shared_.destination ^ rest.destination)) == 0;
  }

  void write(const std::uint8_t* wire, std::uint32_t mark, StateEntry& entry) const {
    const FourWords held = chosen_bytes(load_raw<FourWords>(wire), from_wire_);
    TwoWords words = __builtin_shufflevector(held, held, 0, 1) | __builtin_shufflevector(held, held, 2, 3);
    const std::uint32_t ports = load_be32(wire + 2 * sizeof(uint128));
    words[1] = std::uint64_t{mark} << 32 | (ports << 16 | ports >> 16);
    store_raw(reinterpret_cast<std::uint8_t*>(&entry), words);
  }
  [[nodiscard]] FourWords differences(const std::uint8_t* wire) const {
    return (load_raw<FourWords>(wire) ^ shared_on_wire_) & left_out_on_wire_;
  }

  void set_sources(OfFour held, std::size_t i, AddressLanes<Family::ipv6>& lanes) const {
    set(held, to_source_, shared_.source, i, lanes);
  }
  void set_destinations(OfFour held, std::size_t i, AddressLanes<Family::ipv6>& lanes) const {
    set(held, to_destination_, shared_.destination, i, lanes);
  }

 private:
  /// Says which bytes of the held ones make the halves of four addresses.
  struct Placing {
    FourWords low;
    FourWords high;
  };

  EntryForm(const HeldBytes& source, const HeldBytes& destination)
      : source_{source},
        destination_{destination},
        left_out_{source.others(), destination.others()},
        left_out_on_wire_{on_wire(left_out_)},
        from_wire_{choice_from_wire(source, destination)},
        to_source_{placing_of(source)},
        to_destination_{placing_of(destination)} {}

  static FourWords on_wire(const Rest& rest) {
    const auto half = [](uint128 bits) { return __builtin_bswap64(static_cast<std::uint64_t>(bits)); };
    return FourWords{half(rest.source >> 64), half(rest.source), half(rest.destination >> 64), half(rest.destination)};
  }

  using Choice = std::array<std::uint8_t, sizeof(FourWords)>;
  static Choice nothing() {
    Choice choice;
    choice.fill(kNoByte);
    return choice;
  }

  /// Chooses the held bytes of both addresses from the wire: those of the source come first in the first half, those of
  /// the destination after as many bytes in the second.
  static FourWords choice_from_wire(const HeldBytes& source, const HeldBytes& destination) {
    Choice choice = nothing();
    for (std::size_t i = 0; i < HeldBytes::kCount; ++i) {
      choice.at(i) = static_cast<std::uint8_t>(sizeof(uint128) - 1 - source.places().at(i));
      choice.at(sizeof(uint128) + HeldBytes::kCount + i) =
          static_cast<std::uint8_t>(sizeof(uint128) - 1 - destination.places().at(i));
    }
    return std::bit_cast<FourWords>(choice);
  }

  static Placing placing_of(const HeldBytes& held) {
    std::array<Choice, 2> halves = {nothing(), nothing()};  // the lower one first
    for (std::size_t word = 0; word < 4; ++word) {
      for (std::size_t i = 0; i < HeldBytes::kCount; ++i) {
        const unsigned place = held.places().at(i);
        halves.at(place / 8).at(8 * word + place % 8) = static_cast<std::uint8_t>(8 * (word % 2) + i);
      }
    }
    return {std::bit_cast<FourWords>(halves[0]), std::bit_cast<FourWords>(halves[1])};
  }

  static void set(OfFour held, const Placing& placing, uint128 rest, std::size_t i, AddressLanes<Family::ipv6>& lanes) {
    const auto words = __builtin_convertvector(held, FourWords);
    const FourWords low = chosen_bytes(words, placing.low) | static_cast<std::uint64_t>(rest);
    const FourWords high = chosen_bytes(words, placing.high) | static_cast<std::uint64_t>(rest >> 64);
    std::memcpy(&lanes.low[i], &low, sizeof low);
    std::memcpy(&lanes.high[i], &high, sizeof high);
  }

  HeldBytes source_;
  HeldBytes destination_;
  Rest left_out_;  // the bits that entries do not hold
  FourWords left_out_on_wire_;
  FourWords from_wire_;
  Placing to_source_;
  Placing to_destination_;
  Rest shared_;
  FourWords shared_on_wire_{};
};

}  // namespace natxy
