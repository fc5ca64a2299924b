// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "form/classifier.hpp"
#include "form/forms.hpp"
#include "form/mapping.hpp"
#include "form/softwire.hpp"
#include "packet/vectors.hpp"

namespace natxy {

/// Reads the IPv4 four-tuples of a stream's frames whose addresses are not in an IPv4 header: of mapped frames, and of
/// frames in softwires where all inner addresses are the same. A far host's address is behind a prefix, and a
/// subscriber's in the interface identifier of its IPv6 address. All bytes of an address are read at once.
class TupleReader {
 public:
  TupleReader(Form form, const Mapping& mapping) {
    const Layout layout = layout_of(form, Family::ipv4);
    const bool from_edge = layout.from_edge();
    ip_to_ipv6_ = layout.outer_bytes();
    const Piece subscriber{from_edge ? kSourceAt : kDestinationAt, {10, 11, 12, 13}};
    Piece other{from_edge ? kDestinationAt : kSourceAt, mapping.prefix.places()};
    if (layout.outer != Outer::none) {
      // The inner header's addresses are next to each other.
      const std::uint8_t first = from_edge ? 4 : 0;
      const auto place = [&](unsigned i) { return static_cast<std::uint8_t>(first + i); };
      other = {ip_to_ipv6_ + kInnerAddressesAt, {place(0), place(1), place(2), place(3)}};
    }
    const Piece& source = from_edge ? subscriber : other;
    const Piece& destination = from_edge ? other : subscriber;
    source_at_ = source.at;
    destination_at_ = destination.at;
    source_bytes_ = numbers(source, 0);
    destination_bytes_ = numbers(destination, 4);
  }

  /// Returns whether the frames of a form are such.
  static bool is_needed(Form form, const Softwire& softwire) {
    return mapped_of(form) != Mapped::none || (outer_of(form) != Outer::none && softwire.inner_address);
  }

  /// `datagram` is that of a frame of the stream, with nothing between its headers.
  [[nodiscard]] Tuple<Family::ipv4> tuple(const Datagram& datagram) const {
    const std::uint8_t* ipv6 = datagram.ip - ip_to_ipv6_;
    const std::uint64_t addresses = (chosen_bytes(load_raw<TwoWords>(ipv6 + source_at_), source_bytes_) |
                                     chosen_bytes(load_raw<TwoWords>(ipv6 + destination_at_), destination_bytes_))[0];
    const std::uint32_t ports = load_be32(datagram.transport);
    return {static_cast<std::uint32_t>(addresses), static_cast<std::uint32_t>(addresses >> 32),
            static_cast<std::uint16_t>(ports >> 16), static_cast<std::uint16_t>(ports)};
  }

 private:
  static constexpr std::size_t kSourceAt = 8;  // in the IPv6 header
  static constexpr std::size_t kDestinationAt = 24;
  static constexpr std::size_t kInnerAddressesAt = 12;  // in the IPv4 header

  /// Says where an IPv4 address is: the offset of 16 bytes from the IPv6 header on, and the places of its bytes there.
  struct Piece {
    std::size_t at;
    std::array<std::uint8_t, 4> places;
  };

  /// Returns what chooses the address as a number in byte `first` and the following ones.
  static TwoWords numbers(const Piece& piece, std::size_t first) {
    std::array<std::uint8_t, sizeof(TwoWords)> chosen{};
    chosen.fill(kNoByte);
    std::ranges::reverse_copy(piece.places, &chosen[first]);
    return std::bit_cast<TwoWords>(chosen);
  }

  std::size_t ip_to_ipv6_ = 0;  // how far the IPv6 header is before the header of the packet in it
  std::size_t source_at_ = 0;
  std::size_t destination_at_ = 0;
  TwoWords source_bytes_{};
  TwoWords destination_bytes_{};
};

}  // namespace natxy
