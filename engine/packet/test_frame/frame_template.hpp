// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "packet/address.hpp"
#include "packet/burst.hpp"
#include "packet/checksum.hpp"
#include "packet/headers.hpp"
#include "packet/signature.hpp"
#include "packet/test_frame/transpose.hpp"

namespace natxy {

/// Describes the fields that all frames of a stream have in common. `size` includes the FCS.
struct FrameFormat {
  std::size_t size = 64;
  std::uint8_t ttl = 64;
  bool dont_fragment = false;
  MacAddress source_mac{};
  MacAddress destination_mac{};
  std::uint8_t stream = 0;
  std::uint16_t run_id = 0;
};

/// Returns the size of the smallest frame that holds the signature, FCS included: 64 for IPv4, 84 for IPv6.
constexpr std::size_t smallest_frame(Family family) {
  return kEthernetBytes + ip_bytes(family) + kUdpBytes + kSignatureBytes + kFcsBytes;
}

/// Builds the UDP test frames of one stream. The constructor computes the constant part and its checksum sums once;
/// `write` then patches the fields that vary and adds them to the sums.
template <Family F>
class FrameTemplate {
 public:
  /// Throws std::invalid_argument if `format.size` is below `smallest_frame(F)`.
  explicit FrameTemplate(const FrameFormat& format);

  /// Returns the number of bytes that `write` writes to each frame: all of the frame except its FCS.
  [[nodiscard]] std::size_t length() const { return bytes_.size(); }

  /// Writes whole frames, at most kBurst. Their sequence numbers and `time` must be below 2^48.
  void write(std::span<std::uint8_t* const> frames, const TupleLanes<F>& tuples, const Series& sequences,
             std::uint64_t time) const {
    Image image;
    const Words constant = constant_;  // a copy that the stores to frames cannot alias
    const std::uint64_t udp_sum = udp_sum_ + natxy::halves_of(time);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::uint64_t sequence = sequences.at(i);
      const std::uint64_t source_port = tuples.source_port[i];
      const std::uint64_t destination_port = tuples.destination_port[i];
      const std::uint64_t addresses = halves_of(tuples.source, i) + halves_of(tuples.destination, i);
      const std::uint64_t rest = source_port + destination_port + natxy::halves_of(sequence);
      Words words = constant;
      if constexpr (F == Family::ipv4) {
        put<kIp + 10, 2>(words, fold_halves(header_sum_ + addresses) ^ 0xFFFF);
        put<kIp + 12, 4>(words, tuples.source.values[i]);
        put<kIp + 16, 4>(words, tuples.destination.values[i]);
      } else {
        put<kIp + 8, 8>(words, tuples.source.high[i]);
        put<kIp + 16, 8>(words, tuples.source.low[i]);
        put<kIp + 24, 8>(words, tuples.destination.high[i]);
        put<kIp + 32, 8>(words, tuples.destination.low[i]);
      }
      put<kUdp, 2>(words, source_port);
      put<kUdp + 2, 2>(words, destination_port);
      put<kUdp + 6, 2>(words, never_zero(fold_halves(udp_sum + addresses + rest) ^ 0xFFFF));
      put<kUdp + kUdpBytes + kSequenceOffset, 6>(words, sequence);
      put<kUdp + kUdpBytes + kTimeOffset, 6>(words, time);
      for (std::size_t word = kHead; word < kWords; ++word) image[word - kHead][i] = __builtin_bswap64(words[word]);
    }
    if (bytes_.size() > kEnd) {
      for (std::uint8_t* frame : frames) copy_rest(bytes_, frame);
    }
    const std::size_t in_fours = frames.size() / 4 * 4;
    for (std::size_t i = 0; i < in_fours; i += 4) {
      store_four(constant, image, i, frames.subspan(i).template first<4>());
    }
    for (std::size_t i = in_fours; i < frames.size(); ++i) store_one(constant, image, i, frames[i]);
  }

 private:
  static constexpr std::size_t kIp = kEthernetBytes;
  static constexpr std::size_t kUdp = kIp + ip_bytes(F);
  static constexpr std::size_t kEnd = kUdp + kUdpBytes + kSignatureBytes;
  // The frame up to the end of its signature consists of whole words, stored four at a time to make few and long
  // stores.
  static constexpr std::size_t kWords = F == Family::ipv4 ? 8 : 10;
  static constexpr std::size_t kHead = F == Family::ipv4 ? 3 : 2;  // leading words in which nothing varies
  using Words = std::array<std::uint64_t, kWords>;
  using Image = std::array<Lanes<std::uint64_t>, kWords - kHead>;

  /// Returns the offset of a word. IPv4's 60 bytes are not a multiple of 8, so its second four words overlap the first.
  static constexpr std::size_t place(std::size_t word) {
    return 8 * word - (F == Family::ipv4 && word >= 4 ? 8 * kWords - kEnd : 0);
  }
  static_assert(place(kWords - 1) + 8 == kEnd);

  /// Inserts a big-endian field of `kBytes` bytes at offset `kAt`, where `words` must be zero.
  template <std::size_t kAt, std::size_t kBytes, std::size_t kWord = 0>
  static void put(Words& words, std::uint64_t value) {
    constexpr std::size_t kFieldEnd = kAt + kBytes;
    constexpr std::size_t kWordEnd = place(kWord) + 8;
    if constexpr (kFieldEnd > kWordEnd && kAt < kWordEnd) {
      words[kWord] |= value >> 8 * (kFieldEnd - kWordEnd);
    } else if constexpr (kFieldEnd > place(kWord) && kFieldEnd <= kWordEnd) {
      words[kWord] |= value << 8 * (kWordEnd - kFieldEnd);
    }
    if constexpr (kWord + 1 < kWords) put<kAt, kBytes, kWord + 1>(words, value);
  }

  static std::uint64_t halves_of(const AddressLanes<Family::ipv4>& addresses, std::size_t i) {
    return addresses.values[i];
  }
  static std::uint64_t halves_of(const AddressLanes<Family::ipv6>& addresses, std::size_t i) {
    return natxy::halves_of(addresses.high[i]) + natxy::halves_of(addresses.low[i]);
  }

  /// Stores the words from `kWord` on of four frames.
  template <std::size_t kWord = 0>
  static void store_four(const Words& head, const Image& image, std::size_t first,
                         std::span<std::uint8_t* const, 4> frames) {
    constexpr std::size_t kCount = std::min<std::size_t>(4, kWords - kWord);
    std::array<FourWords, kCount> rows{};
    for (std::size_t i = 0; i < kCount; ++i) {
      if (kWord + i < kHead) {
        rows[i] += __builtin_bswap64(head[kWord + i]);
      } else {
        std::memcpy(&rows[i], &image[kWord + i - kHead][first], sizeof rows[i]);
      }
    }
    const auto columns = transposed(rows);
    for (std::size_t i = 0; i < 4; ++i) store_raw(frames[i] + place(kWord), columns[i]);
    if constexpr (kWord + kCount < kWords) store_four<kWord + kCount>(head, image, first, frames);
  }

  static void store_one(const Words& head, const Image& image, std::size_t lane, std::uint8_t* frame) {
    for (std::size_t word = 0; word < kHead; ++word) store_be64(frame + place(word), head[word]);
    for (std::size_t word = kHead; word < kWords; ++word) store_raw(frame + place(word), image[word - kHead][lane]);
  }

  /// Copies the bytes after the signature in pieces of one size, so that no copy needs a call with a variable length.
  /// The last piece overlaps the one before, and maybe the words, which are written afterwards.
  static void copy_rest(std::span<const std::uint8_t> bytes, std::uint8_t* frame) {
    constexpr std::size_t kPiece = 32;
    const std::size_t last = bytes.size() - kPiece;
    for (std::size_t done = kEnd; done < last; done += kPiece) std::memcpy(frame + done, bytes.data() + done, kPiece);
    std::memcpy(frame + last, bytes.data() + last, kPiece);
  }

  std::vector<std::uint8_t> bytes_;
  Words constant_{};
  std::uint64_t header_sum_ = 0;  // IPv4 header without addresses and checksum
  std::uint64_t udp_sum_ = 0;     // pseudo-header, UDP header and payload without the varying fields
};

extern template class FrameTemplate<Family::ipv4>;
extern template class FrameTemplate<Family::ipv6>;

}  // namespace natxy
