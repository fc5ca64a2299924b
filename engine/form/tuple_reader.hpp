// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "form/classifier.hpp"
#include "form/forms.hpp"
#include "form/mapping.hpp"
#include "form/softwire.hpp"

namespace natxy {

/// Reads the IPv4 four-tuples of a stream's frames whose addresses are not in an IPv4 header: of mapped frames, and of
/// frames in softwires where all inner addresses are the same. A far host's address is behind a prefix, and a
/// subscriber's in the interface identifier of its IPv6 address.
class TupleReader {
 public:
  TupleReader(Form form, const Mapping& mapping)
      : layout_{layout_of(form, Family::ipv4)}, prefix_{mapping.prefix}, ip_to_ipv6_{layout_.outer_bytes()} {}

  /// Returns whether the frames of a form are such.
  static bool is_needed(Form form, const Softwire& softwire) {
    return mapped_of(form) != Mapped::none || (outer_of(form) != Outer::none && softwire.inner_address);
  }

  /// `datagram` is that of a frame of the stream, with nothing between its headers.
  [[nodiscard]] Tuple<Family::ipv4> tuple(const Datagram& datagram) const {
    const std::uint8_t* source = datagram.ip - ip_to_ipv6_ + 8;
    const std::uint8_t* destination = source + sizeof(uint128);
    const auto subscriber = SubscriberRule::address_in(load_be64((layout_.from_edge() ? source : destination) + 8));
    Tuple<Family::ipv4> tuple = datagram.tuple<Family::ipv4>();
    if (layout_.mapped != Mapped::none) {
      const std::uint8_t* far = layout_.from_edge() ? destination : source;
      const std::uint64_t host = prefix_.address_in(load_be64(far), load_be64(far + 8));
      tuple.source = tuple.destination = static_cast<std::uint32_t>(host);
    }
    (layout_.from_edge() ? tuple.source : tuple.destination) = static_cast<std::uint32_t>(subscriber);
    return tuple;
  }

 private:
  Layout layout_;
  EmbeddingPrefix prefix_;
  std::size_t ip_to_ipv6_;  // from the IP header with the ports' addresses back to the IPv6 header
};

}  // namespace natxy
