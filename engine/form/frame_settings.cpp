// SPDX-License-Identifier: Apache-2.0
#include "form/frame_settings.hpp"

#include <algorithm>

namespace natxy {

namespace {

/// Writes extension headers of 8 bytes, each with one option of padding (RFC 8200 §4.2), and returns the protocol
/// number by which the IP header names the first.
std::uint8_t fill_extensions(std::span<const std::uint8_t> protocols, std::uint8_t* to) {
  constexpr std::uint8_t kPadN = 1;
  for (std::size_t i = 0; i < protocols.size(); ++i, to += kExtensionUnitBytes) {
    to[0] = i + 1 < protocols.size() ? protocols[i + 1] : kProtocolUdp;
    to[2] = kPadN;
    to[3] = kExtensionUnitBytes - 4;
  }
  return protocols.empty() ? kProtocolUdp : protocols.front();
}

/// Writes the version, the traffic class and the flow label of an IPv6 header, whose first word they are.
template <class Settings>
void fill_first_word(const Settings& settings, std::uint8_t* header) {
  store_be32(header, 0x6000'0000U | std::uint32_t{settings.traffic_class} << 20 | (settings.flow_label & 0xF'FFFFU));
}

/// Writes the outer header of a packet of `bytes`. Of the two addresses, only the core's is the same in all frames.
void fill_outer(const Layout& layout, const Softwire& softwire, std::size_t bytes, std::uint8_t* outer) {
  fill_first_word(softwire, outer);
  store_be16(outer + 4, static_cast<std::uint16_t>(bytes));
  outer[6] = kProtocolIpv4;
  outer[7] = softwire.hop_limit;
  store_be128(outer + (layout.outer == Outer::from_edge ? 24 : 8), softwire.core);
}

}  // namespace

void fill(Form form, Family family, const FrameSettings& settings, std::span<std::uint8_t> start) {
  const Layout layout = layout_of(form, family);
  std::uint8_t* ethernet = start.data();
  std::ranges::copy(settings.destination_mac, ethernet);
  std::ranges::copy(settings.source_mac, ethernet + sizeof(MacAddress));
  store_be16(ethernet + 12, layout.link_family() == Family::ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);

  const std::size_t end = settings.size - kFcsBytes;
  if (layout.outer != Outer::none) fill_outer(layout, settings.softwire, end - layout.ip(), ethernet + kEthernetBytes);
  std::uint8_t* ip = ethernet + layout.ip();
  if (layout.header_family() == Family::ipv4) {
    ip[0] = 0x45;
    store_be16(ip + 2, static_cast<std::uint16_t>(end - layout.ip()));
    store_be16(ip + 6, settings.dont_fragment ? kIpv4DontFragment : 0);
    ip[8] = settings.ttl;
    ip[9] = number_of(layout.protocol);
  } else {
    fill_first_word(layout.mapped == Mapped::none ? Mapping{} : settings.mapping, ip);
    store_be16(ip + 4, static_cast<std::uint16_t>(end - layout.extensions()));
    ip[6] = layout.protocol == Transport::udp
                ? fill_extensions(extensions_of(form, family), ethernet + layout.extensions())
                : kProtocolTcp;
    ip[7] = settings.ttl;
  }
  if (layout.protocol == Transport::udp) {
    store_be16(ethernet + layout.transport() + 4, static_cast<std::uint16_t>(end - layout.transport()));
  } else {
    fill_segment(settings.segment, layout, ethernet + layout.transport());
  }
  store_signature(ethernet + layout.signature(), {settings.stream, settings.run_id, 0, 0});
}

}  // namespace natxy
