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
      : prefix_{mapping.prefix},
        mapped_{mapped_of(form) != Mapped::none},
        from_edge_{layout_of(form, Family::ipv4).from_edge()},
        ip_to_ipv6_{layout_of(form, Family::ipv4).outer_bytes()} {}

  /// Returns whether the frames of a form are such.
  static bool is_needed(Form form, const Softwire& softwire) {
    return mapped_of(form) != Mapped::none || (outer_of(form) != Outer::none && softwire.inner_address);
  }

  /// `datagram` is that of a frame of the stream, with nothing between its headers.
  [[nodiscard]] Tuple<Family::ipv4> tuple(const Datagram& datagram) const {
    const std::uint8_t* ipv6 = datagram.ip - ip_to_ipv6_;
    const std::uint64_t identifier = load_be64(ipv6 + (from_edge_ ? 16 : 32));
    const auto subscriber = static_cast<std::uint32_t>(SubscriberRule::address_in(identifier));
    const std::uint32_t other =
        mapped_ ? far_host(ipv6 + (from_edge_ ? 24 : 8)) : load_be32(datagram.ip + (from_edge_ ? 16 : 12));
    return {from_edge_ ? subscriber : other, from_edge_ ? other : subscriber, load_be16(datagram.transport),
            load_be16(datagram.transport + 2)};
  }

 private:
  [[nodiscard]] std::uint32_t far_host(const std::uint8_t* address) const {
    return static_cast<std::uint32_t>(prefix_.address_in(load_be64(address), load_be64(address + 8)));
  }

  EmbeddingPrefix prefix_;
  bool mapped_;
  bool from_edge_;
  std::size_t ip_to_ipv6_;  // how far the IPv6 header is before the header of the packet in it
};

}  // namespace natxy
