// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "form/layout.hpp"

// All forms of test frames. This is the only file that knows all of them.
namespace natxy {

/// Says what the frames of a stream have before the signature, besides the IP header with their addresses.
enum class Form : std::uint8_t {
  udp,
  hop_by_hop,
  destination_options,
  both_options,
  softwire_from_edge,  // IPv4 in IPv6, from a subscriber to the core (RFC 2473)
  softwire_from_core,
  map_from_edge,  // IPv6, with the addresses that subscribers and far IPv4 hosts have there (RFC 7599)
  map_from_core,
  tcp,
  tcp_option,  // the signature is in an option, so that a segment need not have data
  count_,
};

inline constexpr std::size_t kForms = static_cast<std::size_t>(Form::count_);
inline constexpr std::array<std::string_view, kForms> kFormNames = {"udp",
                                                                    "udp-hop-by-hop",
                                                                    "udp-destination-options",
                                                                    "udp-both-options",
                                                                    "softwire-from-edge",
                                                                    "softwire-from-core",
                                                                    "map-from-edge",
                                                                    "map-from-core",
                                                                    "tcp",
                                                                    "tcp-option"};

constexpr Outer outer_of(Form form) {
  if (form == Form::softwire_from_edge) return Outer::from_edge;
  return form == Form::softwire_from_core ? Outer::from_core : Outer::none;
}

constexpr Mapped mapped_of(Form form) {
  if (form == Form::map_from_edge) return Mapped::from_edge;
  return form == Form::map_from_core ? Mapped::from_core : Mapped::none;
}

constexpr Transport transport_of(Form form) {
  return form == Form::tcp || form == Form::tcp_option ? Transport::tcp : Transport::udp;
}

/// Returns whether frames of a family have a form: IPv6 alone has extension headers, and what crosses IPv6 in a
/// softwire or mapped is IPv4.
constexpr bool has_form(Family family, Form form) {
  if (form == Form::udp || transport_of(form) == Transport::tcp) return true;
  const bool crosses = outer_of(form) != Outer::none || mapped_of(form) != Mapped::none;
  return crosses == (family == Family::ipv4);
}

/// The bytes of the most extension headers that a form has. `with_layout` and NATXY_FOR_EACH_LAYOUT have a layout for
/// each number of headers up to it.
inline constexpr std::size_t kMostExtensionBytes = 2 * kExtensionUnitBytes;

inline constexpr std::array<std::uint8_t, 2> kOptionsProtocols = {kProtocolHopByHop, kProtocolDestinationOptions};

/// Returns the protocol numbers of a form's extension headers, of 8 bytes each (RFC 5180 §5.3). Only IPv6 has them.
constexpr std::span<const std::uint8_t> extensions_of(Form form, Family family) {
  if (family == Family::ipv4) return {};
  switch (form) {
    case Form::hop_by_hop:
      return std::span(kOptionsProtocols).first(1);
    case Form::destination_options:
      return std::span(kOptionsProtocols).last(1);
    case Form::both_options:
      return kOptionsProtocols;
    default:
      return {};
  }
}

static_assert([] {
  for (std::size_t form = 0; form < kForms; ++form) {
    const std::size_t headers = extensions_of(static_cast<Form>(form), Family::ipv6).size();
    if (headers * kExtensionUnitBytes > kMostExtensionBytes) return false;
  }
  return true;
}());

/// Returns the layout of a form, which the family must have.
constexpr Layout layout_of(Form form, Family family) {
  return {family,
          kExtensionUnitBytes * extensions_of(form, family).size(),
          outer_of(form),
          mapped_of(form),
          transport_of(form),
          form == Form::tcp_option ? kOptionBytes : 0};
}

inline constexpr Layout kFromEdge = layout_of(Form::softwire_from_edge, Family::ipv4);
inline constexpr Layout kFromCore = layout_of(Form::softwire_from_core, Family::ipv4);
inline constexpr Layout kMapFromEdge = layout_of(Form::map_from_edge, Family::ipv4);
inline constexpr Layout kMapFromCore = layout_of(Form::map_from_core, Family::ipv4);

/// Calls `use` with the layout of a form that is known only at run time, as a template argument.
template <class Use>
decltype(auto) with_layout(Form form, Family family, Use&& use) {
  if (outer_of(form) == Outer::from_edge) return use.template operator()<kFromEdge>();
  if (outer_of(form) == Outer::from_core) return use.template operator()<kFromCore>();
  if (mapped_of(form) == Mapped::from_edge) return use.template operator()<kMapFromEdge>();
  if (mapped_of(form) == Mapped::from_core) return use.template operator()<kMapFromCore>();
  if (form == Form::tcp) {
    return family == Family::ipv4 ? use.template operator()<kTcpIpv4>() : use.template operator()<kTcpIpv6>();
  }
  if (form == Form::tcp_option) {
    return family == Family::ipv4 ? use.template operator()<kTcpOptionIpv4>()
                                  : use.template operator()<kTcpOptionIpv6>();
  }
  if (family == Family::ipv4) return use.template operator()<kUdpIpv4>();
  switch (extensions_of(form, family).size()) {
    case 1:
      return use.template operator()<Layout{Family::ipv6, kExtensionUnitBytes}>();
    case 2:
      return use.template operator()<Layout{Family::ipv6, 2 * kExtensionUnitBytes}>();
    default:
      return use.template operator()<kUdpIpv6>();
  }
}

/// Calls the macro with every layout that `with_layout` gives.
#define NATXY_FOR_EACH_LAYOUT(macro)                                                                               \
  macro(kUdpIpv4) macro(kUdpIpv6) macro((Layout{Family::ipv6, kExtensionUnitBytes}))                               \
      macro((Layout{Family::ipv6, 2 * kExtensionUnitBytes})) macro(kFromEdge) macro(kFromCore) macro(kMapFromEdge) \
          macro(kMapFromCore) macro(kTcpIpv4) macro(kTcpIpv6) macro(kTcpOptionIpv4) macro(kTcpOptionIpv6)

}  // namespace natxy
