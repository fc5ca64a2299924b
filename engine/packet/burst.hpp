// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/address.hpp"

// The frames of a burst are built together, field by field, so that compilers vectorize the loops.
namespace natxy {

/// The maximum number of frames in a burst.
inline constexpr std::size_t kBurst = 64;

template <class T>
using Lanes = std::array<T, kBurst>;

/// Describes evenly spaced numbers: first, first + stride, …
struct Series {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;

  bool operator==(const Series&) const = default;

  [[nodiscard]] std::uint64_t at(std::uint64_t index) const { return first + index * stride; }
  [[nodiscard]] Series from(std::uint64_t index) const { return {at(index), stride}; }
};

/// Holds the addresses of a burst, one per frame.
template <Family F>
struct AddressLanes;

template <>
struct AddressLanes<Family::ipv4> {
  Lanes<std::uint32_t> values;

  void set(std::size_t lane, std::uint32_t address) { values[lane] = address; }
  [[nodiscard]] std::uint32_t get(std::size_t lane) const { return values[lane]; }
};

template <>
struct AddressLanes<Family::ipv6> {
  Lanes<std::uint64_t> high;
  Lanes<std::uint64_t> low;

  void set(std::size_t lane, uint128 address) {
    high[lane] = static_cast<std::uint64_t>(address >> 64);
    low[lane] = static_cast<std::uint64_t>(address);
  }
  [[nodiscard]] uint128 get(std::size_t lane) const { return (uint128{high[lane]} << 64) | low[lane]; }
};

/// Holds the four-tuples of a burst, one per frame.
template <Family F>
struct TupleLanes {
  AddressLanes<F> source;
  AddressLanes<F> destination;
  Lanes<std::uint16_t> source_port;
  Lanes<std::uint16_t> destination_port;

  void set(std::size_t lane, const Tuple<F>& tuple) {
    source.set(lane, tuple.source);
    destination.set(lane, tuple.destination);
    source_port[lane] = tuple.source_port;
    destination_port[lane] = tuple.destination_port;
  }
  [[nodiscard]] Tuple<F> get(std::size_t lane) const {
    return {source.get(lane), destination.get(lane), source_port[lane], destination_port[lane]};
  }
};

}  // namespace natxy
