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
    std::array<Lanes<std::uint64_t>, kWords> image;
    const std::uint32_t udp_sum = udp_sum_ + natxy::words_of(time);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::uint64_t sequence = sequences.at(i);
      const std::uint32_t addresses = words_of(tuples.source, i) + words_of(tuples.destination, i);
      const std::uint32_t rest = tuples.source_port[i] + tuples.destination_port[i] + natxy::words_of(sequence);
      Words words = constant_;
      if constexpr (F == Family::ipv4) {
        put<kIp + 10, 2>(words, static_cast<std::uint16_t>(~fold_words(header_sum_ + addresses)));
        put<kIp + 12, 4>(words, tuples.source.values[i]);
        put<kIp + 16, 4>(words, tuples.destination.values[i]);
      } else {
        put<kIp + 8, 8>(words, tuples.source.high[i]);
        put<kIp + 16, 8>(words, tuples.source.low[i]);
        put<kIp + 24, 8>(words, tuples.destination.high[i]);
        put<kIp + 32, 8>(words, tuples.destination.low[i]);
      }
      put<kUdp, 2>(words, tuples.source_port[i]);
      put<kUdp + 2, 2>(words, tuples.destination_port[i]);
      put<kUdp + 6, 2>(words, never_zero(static_cast<std::uint16_t>(~fold_words(udp_sum + addresses + rest))));
      put<kUdp + kUdpBytes + kSequenceOffset, 6>(words, sequence);
      put<kUdp + kUdpBytes + kTimeOffset, 6>(words, time);
      for (std::size_t word = 0; word < kWords; ++word) image[word][i] = __builtin_bswap64(words[word]);
    }
    const std::span<const std::uint8_t> bytes = bytes_;  // which the stores can't change
    for (std::size_t i = 0; i < frames.size(); ++i) {
      copy_constant(bytes, frames[i]);
      for (std::size_t word = 0; word < kWords; ++word) store_raw(frames[i] + kWordsAt + 8 * word, image[word][i]);
    }
  }

 private:
  static constexpr std::size_t kIp = kEthernetBytes;
  static constexpr std::size_t kUdp = kIp + ip_bytes(F);
  static constexpr std::size_t kEnd = kUdp + kUdpBytes + kSignatureBytes;
  // All that varies, and a little that doesn't, as whole words up to the end of the signature: a few long stores a
  // frame instead of one for each field.
  static constexpr std::size_t kWords = F == Family::ipv4 ? 5 : 8;
  static constexpr std::size_t kWordsAt = kEnd - 8 * kWords;
  using Words = std::array<std::uint64_t, kWords>;

  /// Adds the big-endian field of `kBytes` at `kAt` to what is zero there.
  template <std::size_t kAt, std::size_t kBytes>
  static void put(Words& words, std::uint64_t value) {
    constexpr std::size_t kWord = (kAt - kWordsAt) / 8;
    constexpr std::size_t kFieldEnd = (kAt - kWordsAt) % 8 + kBytes;
    if constexpr (kFieldEnd <= 8) {
      words[kWord] |= value << 8 * (8 - kFieldEnd);
    } else {
      words[kWord] |= value >> 8 * (kFieldEnd - 8);
      words[kWord + 1] |= value << 8 * (16 - kFieldEnd);
    }
  }

  static std::uint32_t words_of(const AddressLanes<Family::ipv4>& addresses, std::size_t i) {
    return natxy::words_of(addresses.values[i]);
  }
  static std::uint32_t words_of(const AddressLanes<Family::ipv6>& addresses, std::size_t i) {
    return natxy::words_of(addresses.high[i]) + natxy::words_of(addresses.low[i]);
  }

  /// What stands before and after the words, in pieces of one size, the last one over the end of the one before: no
  /// piece needs a call to find its length. Some reach into the words' place, which are written later.
  static void copy_constant(std::span<const std::uint8_t> bytes, std::uint8_t* frame) {
    std::memcpy(frame, bytes.data(), kPiece);
    if (bytes.size() == kEnd) return;
    const std::size_t last = bytes.size() - kPiece;
    for (std::size_t done = kEnd; done < last; done += kPiece) std::memcpy(frame + done, bytes.data() + done, kPiece);
    std::memcpy(frame + last, bytes.data() + last, kPiece);
  }

  static constexpr std::size_t kPiece = 32;
  static_assert(kWordsAt <= kPiece && kPiece <= smallest_frame(F) - kFcsBytes);

  std::vector<std::uint8_t> bytes_;
  Words constant_{};              // of `bytes_`, where the words stand
  std::uint32_t header_sum_ = 0;  // IPv4 header without addresses and checksum
  std::uint32_t udp_sum_ = 0;     // pseudo-header, UDP header and payload without what varies
};

extern template class FrameTemplate<Family::ipv4>;
extern template class FrameTemplate<Family::ipv6>;

}  // namespace natxy
