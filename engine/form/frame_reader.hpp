// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "form/forms.hpp"
#include "packet/burst.hpp"
#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/vectors.hpp"

namespace natxy {

/// Holds what the signatures of a burst say, one of each field per frame. No store of four lies on two cache lines.
struct alignas(64) SignatureLanes {
  Lanes<std::uint64_t> sequence;
  Lanes<std::uint64_t> time;

  void set(std::size_t lane, const Signature& signature) {
    sequence[lane] = signature.sequence;
    time[lane] = signature.time;
  }
};

/// Recognises the frames of a stream that arrive as nearly all do: intact, in the stream's form, of one length, with
/// the trial's run id. This takes a fraction of the time of `classify`, which handles all other frames.
class FrameReader {
 public:
  using Frame = std::span<const std::uint8_t>;

  FrameReader(Form form, Family family, std::size_t payload_bytes, std::uint16_t run_id, std::uint8_t stream);

  /// Reads the signatures of the first of `frames`, at most kBurst, that are the stream's. Returns their number.
  /// `classify` classifies all of them as test frames, and maybe others, too.
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    return with_layout(form_, family_, [&]<Layout L>() { return read<L>(frames, signatures); });
  }

  /// Returns how many of the first of `frames` have the signature of the stream where this form has it.
  [[nodiscard]] std::size_t of_stream(std::span<const Frame> frames) const {
    return with_layout(form_, family_, [&]<Layout L>() {
      const auto other = std::ranges::find_if(frames, [&](Frame frame) { return !is_of_stream<L>(frame); });
      return static_cast<std::size_t>(other - frames.begin());
    });
  }

  /// Returns the offset of the UDP header in a frame that has been read.
  [[nodiscard]] std::size_t udp_at() const { return udp_at_; }
  /// Returns the length of such a frame, without the FCS.
  [[nodiscard]] std::size_t length() const { return bytes_; }

 private:
  /// Holds the known bits of some bytes of a frame, or of the same word of four frames.
  template <class Bytes>
  struct Known {
    Bytes bits{};
    Bytes value{};

    [[nodiscard]] Bytes differences(Bytes bytes) const { return (bytes ^ value) & bits; }
    [[nodiscard]] Bytes differences_at(const std::uint8_t* bytes) const { return differences(load_raw<Bytes>(bytes)); }
  };

  static constexpr std::size_t kHeadersAt = 12;  // from the EtherType on

  /// Describes the words up to the end of the signature by which four frames are read.
  template <Layout L>
  struct Words {
    // From the EtherType on in IPv4, from the third byte of the header on in IPv6. With an odd number of extension
    // headers, the word before is read, too, because words are read in pairs.
    static constexpr std::size_t kIp = L.family == Family::ipv4 ? kHeadersAt : kHeadersAt + 4;
    static constexpr std::size_t kCount = (L.end() - kIp + 15) / 16 * 2;
    static constexpr std::size_t kFirst = L.end() - 8 * kCount;
    static constexpr std::size_t kHeader = (kIp - kFirst) / 8;
    // The end of the destination address, and what follows it.
    static constexpr std::size_t kAddressesEnd = kHeader + (L.extensions() - 6 - kIp) / 8;
    // The last four: six bytes and the source port; the destination port, the length, the checksum and the start of the
    // magic; the rest of what is known, and the start of the sequence number; its rest and the time.
    static constexpr std::size_t kPorts = kCount - 4;
    static_assert(kFirst + 8 * kPorts == L.udp() - 6);
    // Those with known bits. The bytes before IPv6's are compared apart.
    static constexpr auto kKnown = [] {
      if constexpr (L.family == Family::ipv4) {
        return std::array<std::size_t, 4>{0, 1, kPorts + 1, kPorts + 2};
      } else {
        constexpr std::size_t kOfExtensions = L.extension_bytes == 0 ? 0 : L.extension_bytes / 8 + 1;
        std::array<std::size_t, 3 + kOfExtensions> known{kHeader, kPorts + 1, kPorts + 2};
        for (std::size_t i = 0; i < kOfExtensions; ++i) known[3 + i] = kAddressesEnd + i;
        return known;
      }
    }();
  };

  template <Layout L>
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    // The compiler does not have to reload a local copy after other stores.
    const FrameReader reader = *this;
    std::size_t count = 0;
    if constexpr (kFourWordsFitRegister) {
      // Where streams alternate, trying to read four frames would be in vain.
      const bool alike = frames.size() >= 4 && reader.is_of_stream<L>(frames[1]) && reader.is_of_stream<L>(frames[3]);
      while (alike && count + 4 <= frames.size() && reader.read_four<L>(&frames[count], signatures, count)) count += 4;
    }
    for (; count < frames.size() && reader.has<L>(frames[count]); ++count) {
      signatures.set(count, load_signature(frames[count].data() + L.signature()));
    }
    return count;
  }

  template <Layout L>
  [[nodiscard]] bool is_of_stream(Frame frame) const {
    return frame.size() >= bytes_ && stream_.differences_at(frame.data() + L.signature()) == 0;
  }

  template <Layout L>
  [[nodiscard]] bool has(Frame frame) const {
    if (frame.size() < bytes_) return false;
    const std::uint8_t* bytes = frame.data();
    TwoWords differences = headers_.differences_at(bytes + kHeadersAt) | datagram_.differences_at(bytes + L.udp());
    if constexpr (L.extension_bytes != 0) differences |= extensions_.differences_at(bytes + L.extensions());
    if ((differences[0] | differences[1]) != 0 || load_raw<std::uint16_t>(bytes + L.udp() + 6) == 0) return false;
    // The UDP checksum covers the addresses, and everything behind the extension headers.
    OnesSum sum{pseudo_header_};
    for (std::size_t at = L.addresses(); at < L.extensions(); at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    std::size_t at = L.udp();
    for (; at < L.end() - 8; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    for (; at < last_at_; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    sum.add(load_raw<std::uint64_t>(bytes + bytes_ - 8) >> last_shift_);
    if constexpr (L.family == Family::ipv4) {
      OnesSum header{load_raw<std::uint32_t>(bytes + kEthernetBytes + 16)};
      header.add(load_raw<std::uint64_t>(bytes + kEthernetBytes));
      header.add(load_raw<std::uint64_t>(bytes + kEthernetBytes + 8));
      return is_intact(sum.value) && is_intact(header.value);
    } else {
      return is_intact(sum.value);
    }
  }

  /// Reads the signatures of four frames into the lanes from `lane` on, if `has` is true for each; otherwise returns
  /// false. An operation compares or adds the same word of all four.
  template <Layout L>
  [[gnu::always_inline]] bool read_four(const Frame* frames, SignatureLanes& signatures, std::size_t lane) const {
    using In = Words<L>;
    std::uint32_t differences = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      if (frames[i].size() < bytes_) return false;
      if constexpr (L.family == Family::ipv6) differences |= start_.differences_at(frames[i].data() + kHeadersAt);
    }
    if (differences != 0) return false;
    const std::array<FourWords, In::kCount> words = words_of<In::kCount>(frames, In::kFirst);
    // Of a word, 48 bits are added as they are, so that no sum overflows.
    const FourWords end = words[In::kCount - 1];
    FourWords addresses = words[In::kAddressesEnd] & kMask48;
    if constexpr (L.family == Family::ipv4) addresses += words[1] >> 48;
    if constexpr (L.family == Family::ipv6) {
      constexpr std::size_t kIn = In::kHeader;
      const FourWords high = (words[kIn + 1] >> 32) + (words[kIn + 2] >> 32) + (words[kIn + 3] >> 32);
      addresses += (words[kIn] >> 48) + (words[kIn + 1] + words[kIn + 2] + words[kIn + 3] - (high << 32)) + high;
    }
    FourWords sum = addresses + (words[In::kPorts] >> 48) + (words[In::kPorts + 1] & kMask48) +
                    (words[In::kPorts + 2] >> 32) + (end >> 48) + (end & kMask48) + known_;
    if (bytes_ > L.end()) {
      sum += FourWords{rest_of<L>(frames[0]), rest_of<L>(frames[1]), rest_of<L>(frames[2]), rest_of<L>(frames[3])};
    }
    // The sums are below 2^52, so that quotients by 0xFFFF are below 2^48; other products are not.
    FourWords quotient = sum * -kMostMultiple;
    if constexpr (L.family == Family::ipv4) {
      quotient |= (addresses + (words[0] >> 16) + (words[1] & kMask48)) * -kMostMultiple;
    }
    FourWords wrong = quotient & ~kMask48;
    for (std::size_t i = 0; i < In::kKnown.size(); ++i) wrong |= words_[i].differences(words[In::kKnown[i]]);
    wrong |= (words[In::kPorts + 1] & 0xFFFF'0000'0000) == 0;
    if (any(wrong)) return false;
    const FourWords last = swapped_bytes(end);
    const FourWords sequence = (swapped_bytes(words[In::kCount - 2]) << 16 | last >> 48) & kMask48;
    const FourWords time = last & kMask48;
    std::memcpy(&signatures.sequence[lane], &sequence, sizeof sequence);
    std::memcpy(&signatures.time[lane], &time, sizeof time);
    return true;
  }

  /// Returns the words from offset `first` on of four frames: each vector is one word of all.
  template <std::size_t kCount>
  static std::array<FourWords, kCount> words_of(const Frame* frames, std::size_t first) {
    std::array<FourWords, kCount> words;
    const auto at = [&](std::size_t frame, std::size_t word) { return frames[frame].data() + first + 8 * word; };
    for (std::size_t word = 0; word + 4 <= kCount; word += 4) {
      const auto columns = transposed(std::array{load_raw<FourWords>(at(0, word)), load_raw<FourWords>(at(1, word)),
                                                 load_raw<FourWords>(at(2, word)), load_raw<FourWords>(at(3, word))});
      for (std::size_t i = 0; i < 4; ++i) words[word + i] = columns[i];
    }
    if constexpr (kCount % 4 == 2) {
      const auto columns =
          transposed(std::array{load_raw<TwoWords>(at(0, kCount - 2)), load_raw<TwoWords>(at(1, kCount - 2)),
                                load_raw<TwoWords>(at(2, kCount - 2)), load_raw<TwoWords>(at(3, kCount - 2))});
      for (std::size_t i = 0; i < 2; ++i) words[kCount - 2 + i] = columns[i];
    }
    return words;
  }

  /// Returns the sum of the bytes behind the signature.
  template <Layout L>
  [[nodiscard]] std::uint64_t rest_of(Frame frame) const {
    return checksum_of(frame.data() + L.end(), bytes_ - L.end());
  }

  Form form_;
  Family family_;
  std::size_t udp_at_;
  std::size_t bytes_;
  std::size_t last_at_;              // offset of the last word, whole or partial, counting words from the UDP header on
  unsigned last_shift_;              // bits of the frame's last eight bytes that do not belong to that word
  std::uint64_t pseudo_header_ = 0;  // its sum without the addresses
  std::uint64_t known_ = 0;          // the same with the known bits of the signature
  Known<TwoWords> headers_;
  Known<TwoWords> datagram_;  // the UDP header and the start of the signature
  Known<TwoWords> extensions_;
  static_assert(sizeof(TwoWords) >= kMostExtensionBytes);
  Known<std::uint32_t> start_;               // of the headers
  Known<std::uint32_t> stream_;              // in the signature, with its magic
  std::array<Known<FourWords>, 6> words_{};  // those of Words::kKnown
};

}  // namespace natxy
