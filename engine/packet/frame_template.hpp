// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/address.hpp"
#include "packet/burst.hpp"
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

/// A UDP test frame of one stream, built once with its checksums; `write` makes burst after burst of it by patching
/// what varies and adding that to the constant part's sums.
template <Family F>
class FrameTemplate {
 public:
  /// `format.size` must be at least `smallest_frame(F)`.
  explicit FrameTemplate(const FrameFormat& format);

  /// Bytes that `write` writes to each frame: all of it without its FCS.
  [[nodiscard]] std::size_t length() const { return bytes_.size(); }

  /// Writes whole frames, at most kBurst; their sequence numbers and `time` below 2^48.
  void write(std::span<std::uint8_t* const> frames, const TupleLanes<F>& tuples, const Series& sequences,
             std::uint64_t time) const {
    Lanes<std::uint16_t> header_checksums;
    Lanes<std::uint16_t> udp_checksums;
    const std::uint32_t udp_sum = udp_sum_ + words_of(time);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::uint32_t addresses = words_of(tuples.source, i) + words_of(tuples.destination, i);
      const std::uint32_t rest = tuples.source_port[i] + tuples.destination_port[i] + words_of(sequences.at(i));
      header_checksums[i] = static_cast<std::uint16_t>(~fold_words(header_sum_ + addresses));
      udp_checksums[i] = never_zero(static_cast<std::uint16_t>(~fold_words(udp_sum + addresses + rest)));
    }
    for (std::size_t i = 0; i < frames.size(); ++i) {
      copy_to(frames[i]);
      std::uint8_t* ip = frames[i] + kEthernetBytes;
      if constexpr (F == Family::ipv4) {
        store_be16(ip + 10, header_checksums[i]);
        store_be32(ip + 12, tuples.source.values[i]);
        store_be32(ip + 16, tuples.destination.values[i]);
      } else {
        store_be64(ip + 8, tuples.source.high[i]);
        store_be64(ip + 16, tuples.source.low[i]);
        store_be64(ip + 24, tuples.destination.high[i]);
        store_be64(ip + 32, tuples.destination.low[i]);
      }
      std::uint8_t* udp = ip + ip_bytes(F);
      store_be16(udp, tuples.source_port[i]);
      store_be16(udp + 2, tuples.destination_port[i]);
      store_be16(udp + 6, udp_checksums[i]);
      store_be48(udp + kUdpBytes + kSequenceOffset, sequences.at(i));
      store_be48(udp + kUdpBytes + kTimeOffset, time);
    }
  }

 private:
  static std::uint32_t words_of(std::uint64_t value) { return natxy::words_of(value); }
  static std::uint32_t words_of(const AddressLanes<Family::ipv4>& addresses, std::size_t i) {
    return natxy::words_of(addresses.values[i]);
  }
  static std::uint32_t words_of(const AddressLanes<Family::ipv6>& addresses, std::size_t i) {
    return natxy::words_of(addresses.high[i]) + natxy::words_of(addresses.low[i]);
  }

  /// In pieces of one size, the last one over the end of the one before: no piece needs a call to find its length.
  void copy_to(std::uint8_t* frame) const {
    const std::size_t last = bytes_.size() - kPiece;
    for (std::size_t done = 0; done < last; done += kPiece) std::memcpy(frame + done, bytes_.data() + done, kPiece);
    std::memcpy(frame + last, bytes_.data() + last, kPiece);
  }

  static constexpr std::size_t kPiece = 32;
  static_assert(kPiece <= smallest_frame(F) - kFcsBytes);

  std::vector<std::uint8_t> bytes_;
  std::uint32_t header_sum_ = 0;  // IPv4 header without addresses and checksum
  std::uint32_t udp_sum_ = 0;     // pseudo-header, UDP header and payload without what varies
};

extern template class FrameTemplate<Family::ipv4>;
extern template class FrameTemplate<Family::ipv6>;

}  // namespace natxy
