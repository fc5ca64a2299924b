// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "packet/address.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/signature.hpp"

namespace natxy {

/// What all frames of one stream have in common. `size` counts the FCS.
struct FrameFormat {
  std::size_t size = 64;
  std::uint8_t ttl = 64;
  bool dont_fragment = false;
  MacAddress source_mac{};
  MacAddress destination_mac{};
  std::uint8_t stream = 0;
  std::uint16_t run_id = 0;
};

/// Smallest frame, FCS counted, that holds the signature: 64 for IPv4, 84 for IPv6.
constexpr std::size_t smallest_frame(Family family) {
  return kEthernetBytes + ip_bytes(family) + kUdpBytes + kSignatureBytes + kFcsBytes;
}

/// A UDP test frame of one stream, built once with its checksums; `write` makes frame after frame of it by patching
/// what varies and adding that to the constant part's sums.
template <Family F>
class FrameTemplate {
 public:
  /// `format.size` must be at least `smallest_frame(F)`.
  explicit FrameTemplate(const FrameFormat& format);

  /// Bytes that `write` writes: the frame without its FCS.
  [[nodiscard]] std::size_t length() const { return bytes_.size(); }

  /// Writes the whole frame to `frame`; `sequence` and `time` below 2^48.
  void write(std::uint8_t* frame, const Tuple<F>& tuple, std::uint64_t sequence, std::uint64_t time) const {
    std::memcpy(frame, bytes_.data(), bytes_.size());
    const std::uint64_t addresses = checksum_of_address(tuple.source) + checksum_of_address(tuple.destination);
    std::uint8_t* ip = frame + kEthernetBytes;
    if constexpr (F == Family::ipv4) {
      store_be32(ip + 12, tuple.source);
      store_be32(ip + 16, tuple.destination);
      store_raw(ip + 10, ip_checksum(header_sum_ + addresses));
    } else {
      store_be128(ip + 8, tuple.source);
      store_be128(ip + 24, tuple.destination);
    }
    std::uint8_t* udp = ip + ip_bytes(F);
    std::uint8_t* payload = udp + kUdpBytes;
    store_be16(udp, tuple.source_port);
    store_be16(udp + 2, tuple.destination_port);
    store_be48(payload + kSequenceOffset, sequence);
    store_be48(payload + kTimeOffset, time);
    store_raw(udp + 6,
              udp_checksum(udp_sum_ + addresses + checksum_of_port(tuple.source_port) +
                           checksum_of_port(tuple.destination_port) + checksum_of_48(sequence) + checksum_of_48(time)));
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::uint64_t header_sum_ = 0;  // IPv4 header without addresses and checksum
  std::uint64_t udp_sum_ = 0;     // pseudo-header, UDP header and payload without what varies
};

extern template class FrameTemplate<Family::ipv4>;
extern template class FrameTemplate<Family::ipv6>;

}  // namespace natxy
