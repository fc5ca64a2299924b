// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "packet/address.hpp"
#include "packet/burst.hpp"
#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/classifier.hpp"
#include "packet/headers.hpp"
#include "packet/signature.hpp"
#include "packet/test_frame/transpose.hpp"

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

/// Recognises the form in which nearly all test frames of a stream arrive: intact, with the stream's length and the
/// trial's run id, without options or extension headers. This takes a fraction of the time of `classify`, which handles
/// all other frames.
class TestFrameForm {
 public:
  using Frame = std::span<const std::uint8_t>;

  TestFrameForm(Family family, std::size_t payload_bytes, std::uint16_t run_id, std::uint8_t stream);

  /// Reads the signatures of the first of `frames`, at most kBurst, that have this form. Returns their number.
  /// `classify` classifies all of them as test frames, and maybe others, too.
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    return family_ == Family::ipv4 ? read<Family::ipv4>(frames, signatures) : read<Family::ipv6>(frames, signatures);
  }

  /// Returns the offset of the UDP header in a frame of this form.
  [[nodiscard]] std::size_t udp_at() const { return udp_at_; }

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
  template <Family F>
  struct Words {
    static constexpr std::size_t kUdp = kEthernetBytes + ip_bytes(F);
    static constexpr std::size_t kEnd = kUdp + kUdpBytes + kSignatureBytes;
    static constexpr std::size_t kCount = F == Family::ipv4 ? 6 : 8;
    static constexpr std::size_t kFirst = kEnd - 8 * kCount;  // in or before the IP header
    // The last four: the end of the destination address and the source port; the destination port, the length, the
    // checksum and the start of the magic; the rest of what is known, and the start of the sequence number; its rest
    // and the time.
    static constexpr std::size_t kPorts = kCount - 4;
    static_assert(kFirst + 8 * kPorts == kUdp - 6);
    // Those with known bits. The bytes before IPv6's are compared apart.
    static constexpr auto kKnown = [] {
      if constexpr (F == Family::ipv4) return std::array<std::size_t, 4>{0, 1, 3, 4};
      if constexpr (F == Family::ipv6) return std::array<std::size_t, 3>{0, 5, 6};
    }();
  };

  template <Family F>
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    // The compiler does not have to reload a local copy after other stores.
    const TestFrameForm form = *this;
    std::size_t count = 0;
    if constexpr (kFourWordsFitRegister) {
      // Where streams alternate, trying to read four frames would be in vain.
      const bool alike = frames.size() >= 4 && form.is_of_stream<F>(frames[1]) && form.is_of_stream<F>(frames[3]);
      while (alike && count + 4 <= frames.size() && form.read_four<F>(&frames[count], signatures, count)) count += 4;
    }
    for (; count < frames.size() && form.has<F>(frames[count]); ++count) {
      signatures.set(count, load_signature(frames[count].data() + Words<F>::kEnd - kSignatureBytes));
    }
    return count;
  }

  template <Family F>
  [[nodiscard]] bool is_of_stream(Frame frame) const {
    return frame.size() >= bytes_ && stream_.differences_at(frame.data() + Words<F>::kUdp + kUdpBytes) == 0;
  }

  template <Family F>
  [[nodiscard]] bool has(Frame frame) const {
    constexpr std::size_t kUdp = kEthernetBytes + ip_bytes(F);
    if (frame.size() < bytes_) return false;
    const std::uint8_t* bytes = frame.data();
    const TwoWords differences = headers_.differences_at(bytes + kHeadersAt) | datagram_.differences_at(bytes + kUdp);
    if ((differences[0] | differences[1]) != 0 || load_raw<std::uint16_t>(bytes + kUdp + 6) == 0) return false;
    // The UDP checksum covers everything from the addresses on.
    constexpr std::size_t kAddresses = kEthernetBytes + (F == Family::ipv4 ? 12 : 8);
    constexpr std::size_t kLeast = kUdp + kUdpBytes + kSignatureBytes;
    OnesSum sum{pseudo_header_};
    std::size_t at = kAddresses;
    for (; at < kLeast - 8; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    for (; at < last_at_; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    sum.add(load_raw<std::uint64_t>(bytes + bytes_ - 8) >> last_shift_);
    if constexpr (F == Family::ipv4) {
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
  template <Family F>
  [[gnu::always_inline]] bool read_four(const Frame* frames, SignatureLanes& signatures, std::size_t lane) const {
    using In = Words<F>;
    std::uint32_t differences = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      if (frames[i].size() < bytes_) return false;
      if constexpr (F == Family::ipv6) differences |= start_.differences_at(frames[i].data() + kHeadersAt);
    }
    if (differences != 0) return false;
    const std::array<FourWords, In::kCount> words = words_of<In::kCount>(frames, In::kFirst);
    // Of a word, 48 bits are added as they are, so that no sum overflows.
    const FourWords end = words[In::kCount - 1];
    FourWords addresses = words[In::kPorts] & kMask48;
    if constexpr (F == Family::ipv4) addresses += words[1] >> 48;
    if constexpr (F == Family::ipv6) {
      const FourWords high = (words[1] >> 32) + (words[2] >> 32) + (words[3] >> 32);
      addresses += (words[0] >> 48) + (words[1] + words[2] + words[3] - (high << 32)) + high;
    }
    FourWords sum = addresses + (words[In::kPorts] >> 48) + (words[In::kPorts + 1] & kMask48) +
                    (words[In::kPorts + 2] >> 32) + (end >> 48) + (end & kMask48) + known_;
    if (bytes_ > In::kEnd) {
      sum += FourWords{rest_of<F>(frames[0]), rest_of<F>(frames[1]), rest_of<F>(frames[2]), rest_of<F>(frames[3])};
    }
    // The sums are below 2^52, so that quotients by 0xFFFF are below 2^48; other products are not.
    FourWords quotient = sum * -kMostMultiple;
    if constexpr (F == Family::ipv4) {
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
  template <Family F>
  [[nodiscard]] std::uint64_t rest_of(Frame frame) const {
    return checksum_of(frame.data() + Words<F>::kEnd, bytes_ - Words<F>::kEnd);
  }

  Family family_;
  std::size_t udp_at_;
  std::size_t bytes_;
  std::size_t last_at_;              // offset of the last word, whole or partial, counting words from the addresses on
  unsigned last_shift_;              // bits of the frame's last eight bytes that do not belong to that word
  std::uint64_t pseudo_header_ = 0;  // its sum without the addresses
  std::uint64_t known_ = 0;          // the same with the known bits of the signature
  Known<TwoWords> headers_;
  Known<TwoWords> datagram_;                 // the UDP header and the start of the signature
  Known<std::uint32_t> start_;               // of the headers
  Known<std::uint32_t> stream_;              // in the signature, with its magic
  std::array<Known<FourWords>, 4> words_{};  // those of Words::kKnown
};

}  // namespace natxy
