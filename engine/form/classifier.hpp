// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "form/layout.hpp"
#include "form/signature.hpp"
#include "packet/address.hpp"
#include "packet/bytes.hpp"
#include "packet/headers.hpp"

namespace natxy {

/// Lists the kinds of received frames. Every kind but `test` is foreign: it is counted by kind, never as a test frame.
enum class FrameKind : std::uint8_t {
  test,
  corrupt_test,  // has the signature, but a wrong checksum or length
  arp,
  neighbor_solicitation,
  neighbor_advertisement,
  router_solicitation,
  router_advertisement,
  mld,
  igmp,
  lldp,
  icmp_echo,
  icmp_unreachable,
  icmp_fragmentation_needed,
  icmp_time_exceeded,
  icmp_other,
  icmpv6_echo,
  icmpv6_unreachable,
  icmpv6_packet_too_big,
  icmpv6_time_exceeded,
  icmpv6_other,
  ipv4_fragment,
  ipv6_fragment,
  udp,
  tcp,
  other_ipv4,
  other_ipv6,
  other_ethertype,
  malformed,
  not_in_softwire,      // a test frame whose stream arrives in a softwire
  in_softwire,          // a test frame whose stream does not, or what else is in one
  wrong_softwire,       // a test frame whose outer addresses are not those of its subscriber
  headers_in_softwire,  // a test frame with something between its outer and its inner header
  not_mapped,           // a test frame of IPv4 whose stream arrives mapped to IPv6
  wrong_mapping,        // a test frame whose IPv6 addresses are not those of its subscriber and of a far IPv4 host
  outside_port_set,     // a test frame with a port that its subscriber does not have
  spent_hop_limit,      // a test frame whose outer header has a hop limit with which no router forwards it
  other_vlan,           // without the tag of the port that received it, whatever it is else
  count_,
};

inline constexpr std::size_t kFrameKinds = static_cast<std::size_t>(FrameKind::count_);

std::string_view name_of(FrameKind kind);

/// Points to a UDP datagram or TCP segment and its inner IP packet within a received frame, which must outlive the
/// Datagram.
struct Datagram {
  const std::uint8_t* ip = nullptr;
  const std::uint8_t* transport = nullptr;

  bool operator==(const Datagram&) const = default;

  template <Family F>
  [[nodiscard]] Tuple<F> tuple() const {
    if constexpr (F == Family::ipv4) {
      return {load_be32(ip + 12), load_be32(ip + 16), load_be16(transport), load_be16(transport + 2)};
    } else {
      return {load_be128(ip + 8), load_be128(ip + 24), load_be16(transport), load_be16(transport + 2)};
    }
  }
};

/// Holds the classification of a frame. Of a packet in another one, it is that of the inner packet.
struct Classified {
  FrameKind kind = FrameKind::malformed;
  Family family = Family::ipv4;
  // Set for `test` and `corrupt_test` only:
  Transport protocol = Transport::udp;
  std::span<const std::uint8_t> payload;  // of the datagram, or of TCP its end from the signature on
  Datagram datagram;
  const std::uint8_t* outer = nullptr;  // the IPv6 header that the packet is in, if it is in one
  std::size_t between = 0;              // bytes between this header and the packet

  [[nodiscard]] Signature signature() const { return load_signature(payload.data()); }
  [[nodiscard]] bool lacks_checksum() const { return load_be16(datagram.transport + checksum_at(protocol)) == 0; }
};

/// Classifies an untrusted frame, given without its FCS. It reads nothing outside `frame`.
Classified classify(std::span<const std::uint8_t> frame);

}  // namespace natxy
