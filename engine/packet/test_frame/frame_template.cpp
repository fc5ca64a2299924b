// SPDX-License-Identifier: Apache-2.0
#include "packet/test_frame/frame_template.hpp"

#include <algorithm>
#include <stdexcept>

namespace natxy {

template <Family F>
FrameTemplate<F>::FrameTemplate(const FrameFormat& format) {
  if (format.size < smallest_frame(F)) throw std::invalid_argument("frame too small for the signature");
  bytes_.assign(format.size - kFcsBytes, 0);
  std::uint8_t* ethernet = bytes_.data();
  std::ranges::copy(format.destination_mac, ethernet);
  std::ranges::copy(format.source_mac, ethernet + 6);
  store_be16(ethernet + 12, F == Family::ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);

  std::uint8_t* ip = ethernet + kEthernetBytes;
  const std::size_t ip_length = bytes_.size() - kEthernetBytes;
  const std::size_t udp_length = ip_length - ip_bytes(F);
  if constexpr (F == Family::ipv4) {
    ip[0] = 0x45;
    store_be16(ip + 2, static_cast<std::uint16_t>(ip_length));
    store_be16(ip + 6, format.dont_fragment ? 0x4000 : 0);
    ip[8] = format.ttl;
    ip[9] = kProtocolUdp;
    constant_.header_sum = __builtin_bswap16(fold(checksum_of(ip, kIpv4Bytes)));
  } else {
    ip[0] = 0x60;
    store_be16(ip + 4, static_cast<std::uint16_t>(udp_length));
    ip[6] = kProtocolUdp;
    ip[7] = format.ttl;
  }

  std::uint8_t* udp = ip + ip_bytes(F);
  store_be16(udp + 4, static_cast<std::uint16_t>(udp_length));
  store_signature(udp + kUdpBytes, {format.stream, format.run_id, 0, 0});
  constant_.udp_rest =
      ~(kProtocolUdp + std::uint64_t{udp_length} + __builtin_bswap16(fold(checksum_of(udp, udp_length))));
  for (std::size_t word = 0; word < kWords; ++word) constant_.words[word] = load_be64(bytes_.data() + place(word));
}

template class FrameTemplate<Family::ipv4>;
template class FrameTemplate<Family::ipv6>;

}  // namespace natxy
