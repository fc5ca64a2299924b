// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "form/forms.hpp"
#include "form/four_subscribers.hpp"
#include "form/mapping.hpp"
#include "form/segment.hpp"
#include "form/size_cycle.hpp"
#include "form/softwire.hpp"
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

/// Knows the bytes that all frames of a stream have in common, and compares frames with them. Frames are of one length,
/// or in a mix of any length that agrees with their headers.
class KnownFrame {
 public:
  using Frame = std::span<const std::uint8_t>;

  /// `payloads` has the sizes of the payloads. `softwire`, `mapping` and `segment`: those of forms which have one.
  KnownFrame(Form form, Family family, const SizeCycle& payloads, std::uint16_t run_id, std::uint8_t stream,
             const Softwire& softwire, const Mapping& mapping, const Segment& segment);

  /// Reads the signatures of the first of `frames`, at most kBurst, that are the stream's. Returns their number.
  template <Layout L, bool kMixed>
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    // The compiler does not have to reload a local copy after other stores.
    const KnownFrame known = *this;
    std::size_t count = 0;
    if constexpr (kFourWordsFitRegister && L.protocol == Transport::udp) {
      // Where streams alternate, trying to read four frames would be in vain.
      const bool alike =
          known.by_fours_ && frames.size() >= 4 && known.is_of_stream<L>(frames[1]) && known.is_of_stream<L>(frames[3]);
      while (alike && count + 4 <= frames.size() && known.read_four<L, kMixed>(&frames[count], signatures, count)) {
        count += 4;
      }
    }
    for (; count < frames.size() && known.has<L, kMixed>(frames[count]); ++count) {
      signatures.set(count, load_signature(frames[count].data() + L.signature()));
    }
    return count;
  }

  /// Returns whether the header of a test frame of TCP has the sequence numbers and flags of the stream's segments.
  [[nodiscard]] bool has_segment(const std::uint8_t* transport) const {
    const TwoWords differences = datagram_.differences_at(transport);
    return (differences[0] | differences[1]) == 0;
  }

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
  // The pieces of 16 bytes in which the headers of a frame with a subscriber are compared, up to the ports.
  static constexpr std::size_t kPieces = (kFromEdge.transport() - kHeadersAt + 15) / 16;

  /// Describes the words up to the end of the signature by which four frames are read.
  template <Layout L>
  struct Words {
    // From the EtherType on in IPv4, from the third byte of the header on in IPv6. With an odd number of extension
    // headers, the word before is read, too, because words are read in pairs.
    static constexpr std::size_t kIp = L.header_family() == Family::ipv4 ? kHeadersAt : kHeadersAt + 4;
    static constexpr std::size_t kCount = (L.end() - kIp + 15) / 16 * 2;
    static constexpr std::size_t kFirst = L.end() - 8 * kCount;
    static constexpr std::size_t kHeader = (kIp - kFirst) / 8;
    // The last two bytes before the IPv4 header, and its start.
    static constexpr std::size_t kIpv4 = (L.ip() - 2 - kFirst) / 8;
    // The word with the first six bytes of a subscriber's outer address. Of one in a mapped frame, the word with the
    // first two, which are known.
    static constexpr std::size_t kSubscriber = (kEthernetBytes + (L.from_edge() ? 8 : 24) - 2 - kFirst) / 8;
    // The end of the destination address, and what follows it.
    static constexpr std::size_t kAddressesEnd = kHeader + (L.extensions() - 6 - kIp) / 8;
    // The last four: six bytes and the source port; the destination port, the length, the checksum and the start of the
    // magic; the rest of what is known, and the start of the sequence number; its rest and the time.
    static constexpr std::size_t kPorts = kCount - 4;
    static_assert(kFirst + 8 * kPorts == L.transport() - 6);
    // Those with known bits. The bytes before IPv6's are compared apart.
    static constexpr auto kKnown = [] {
      if constexpr (L.mapped != Mapped::none) {
        // Also those with the prefix of far hosts.
        constexpr std::size_t kFar = kHeader + (L.from_edge() ? 2 : 0);
        if constexpr (kFar == kHeader) {
          return std::array{kFar, kFar + 1, kFar + 2, kPorts + 1, kPorts + 2};
        } else {
          return std::array{kHeader, kFar, kFar + 1, kFar + 2, kPorts + 1, kPorts + 2};
        }
      } else if constexpr (L.outer != Outer::none) {
        constexpr std::size_t kOfOuter = L.outer_bytes() / 8;
        std::array<std::size_t, 5 + kOfOuter> known{kIpv4, kIpv4 + 1, kAddressesEnd, kPorts + 1, kPorts + 2};
        for (std::size_t i = 0; i < kOfOuter; ++i) known[5 + i] = kHeader + i;
        return known;
      } else if constexpr (L.family == Family::ipv4) {
        return std::array{kIpv4, kIpv4 + 1, kPorts + 1, kPorts + 2};
      } else {
        constexpr std::size_t kOfExtensions = L.extension_bytes == 0 ? 0 : L.extension_bytes / 8 + 1;
        std::array<std::size_t, 3 + kOfExtensions> known{kHeader, kPorts + 1, kPorts + 2};
        for (std::size_t i = 0; i < kOfExtensions; ++i) known[3 + i] = kAddressesEnd + i;
        return known;
      }
    }();
  };

  template <Layout L>
  [[nodiscard]] bool is_of_stream(Frame frame) const {
    return frame.size() >= bytes_ && stream_.differences_at(frame.data() + L.signature()) == 0;
  }

  template <Layout L, bool kMixed>
  [[nodiscard]] bool has(Frame frame) const {
    if (frame.size() < bytes_) return false;
    const std::size_t length = kMixed ? frame.size() : bytes_;
    const std::uint8_t* bytes = frame.data();
    TwoWords differences =
        headers_[0].differences_at(bytes + kHeadersAt) | datagram_.differences_at(bytes + L.transport());
    if constexpr (L.has_subscriber()) {
      for (std::size_t i = 1; i < kPieces; ++i) differences |= headers_[i].differences_at(bytes + kHeadersAt + 16 * i);
      differences[0] |= subscriber_differences<L>(bytes);
    }
    if constexpr (L.outer != Outer::none) {
      if (bytes[kEthernetBytes + kHopLimitAt] <= kSpentHopLimit) return false;
    }
    if constexpr (kMixed) {
      for (const LengthField& field : L.length_fields()) {
        differences[0] |= load_be16(bytes + field.at) ^ (length - field.from);
      }
    }
    if constexpr (L.extension_bytes != 0) differences |= extensions_.differences_at(bytes + L.extensions());
    if constexpr (L.protocol == Transport::tcp) differences[0] |= signature_.differences_at(bytes + L.signature());
    if constexpr (L.option_bytes != 0) {
      differences[0] |= option_.differences_at(bytes + L.signature() - kExperimentBytes);
    }
    if ((differences[0] | differences[1]) != 0) return false;
    if constexpr (L.protocol == Transport::udp) {
      if (load_raw<std::uint16_t>(bytes + L.checksum()) == 0) return false;
    }
    // The checksum covers the addresses, and everything behind the extension headers.
    OnesSum sum{kMixed ? pseudo_header_ + __builtin_bswap16(static_cast<std::uint16_t>(length - L.transport()))
                       : pseudo_header_};
    for (std::size_t at = L.addresses(); at < L.extensions(); at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    std::size_t at = L.transport();
    for (; at < L.end() - 8; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    for (; at + 8 < length; at += 8) sum.add(load_raw<std::uint64_t>(bytes + at));
    // The last word, whole or partial, and none of the bytes before it.
    sum.add(load_raw<std::uint64_t>(bytes + length - 8) >> 8 * (at + 8 - length));
    if constexpr (L.header_family() == Family::ipv4) {
      OnesSum header{load_raw<std::uint32_t>(bytes + L.ip() + 16)};
      header.add(load_raw<std::uint64_t>(bytes + L.ip()));
      header.add(load_raw<std::uint64_t>(bytes + L.ip() + 8));
      return is_intact(sum.value) && is_intact(header.value);
    } else {
      return is_intact(sum.value);
    }
  }

  /// Returns the bits in which the IPv6 address of a frame's subscriber differs from that of its IPv4 address and port.
  /// Where all inner addresses are the same, and in mapped frames, the IPv4 address is in the identifier.
  template <Layout L>
  [[nodiscard]] std::uint64_t subscriber_differences(const std::uint8_t* bytes) const {
    constexpr bool kFromIt = L.from_edge();
    const std::uint8_t* outer = bytes + kEthernetBytes + (kFromIt ? 8 : 24);
    const std::uint64_t high = load_be64(outer);
    const std::uint64_t low = load_be64(outer + 8);
    const std::uint64_t port = load_be16(bytes + L.transport() + (kFromIt ? 0 : 2));
    std::uint64_t address = SubscriberRule::address_in(low);
    if constexpr (L.outer != Outer::none) {
      const std::uint64_t inner = load_be32(bytes + L.addresses() + (kFromIt ? 0 : 4));
      address = chosen_address(inner, address);
    }
    return (high ^ subscribers_.high_of(address, port)) | (low ^ subscribers_.low_of(address, port)) |
           subscribers_.ports.differences(port);
  }

  /// Returns the same for four frames, of which `words` are the words that Words<L> describes.
  template <Layout L, std::size_t kCount>
  [[nodiscard, gnu::always_inline]] FourWords subscriber_differences(const std::array<FourWords, kCount>& words) const {
    using In = Words<L>;
    // Numbers, with the first byte as the highest.
    const FourWords end = swapped_bytes(words[In::kAddressesEnd]);
    const FourWords destination_port = swapped_bytes(words[In::kPorts + 1]) >> 48;
    constexpr std::size_t kAt = In::kSubscriber;
    const FourWords first = swapped_bytes(words[kAt]);
    const FourWords middle = swapped_bytes(words[kAt + 1]);
    const FourWords last = swapped_bytes(words[kAt + 2]);
    if constexpr (L.mapped != Mapped::none) {
      return four_subscribers_.differences(middle, last, L.from_edge() ? end : destination_port);
    } else {
      const FourWords port = L.from_edge() ? end & 0xFFFF : destination_port;
      const FourWords inner =
          L.from_edge() ? (swapped_bytes(words[In::kIpv4 + 1]) & 0xFFFF) << 16 | end >> 48 : end >> 16 & 0xFFFF'FFFF;
      const FourWords address = chosen_address(inner, middle & 0xFFFF'FFFF);
      const FourWords high = subscribers_.high_of(address, port);
      const FourWords low = subscribers_.low_of(address, port);
      return ((first & kMask48) ^ high >> 16) | (middle ^ (high << 48 | low >> 16)) | (last >> 48 ^ (low & 0xFFFF)) |
             subscribers_.ports.differences(port);
    }
  }

  /// Returns the address in a subscriber's four-tuple: its inner one, or that in the identifier of its outer one.
  template <class Word>
  [[nodiscard]] Word chosen_address(const Word& inner, const Word& in_identifier) const {
    return (inner & inner_bits_) | (in_identifier & ~inner_bits_);
  }

  /// Reads the signatures of four frames into the lanes from `lane` on, if `has` is true for each; otherwise returns
  /// false. An operation compares or adds the same word of all four.
  template <Layout L, bool kMixed>
  [[gnu::always_inline]] bool read_four(const Frame* frames, SignatureLanes& signatures, std::size_t lane) const {
    using In = Words<L>;
    std::uint32_t differences = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      if (frames[i].size() < bytes_) return false;
      if constexpr (L.header_family() == Family::ipv6)
        differences |= start_.differences_at(frames[i].data() + kHeadersAt);
    }
    if (differences != 0) return false;
    const std::array<FourWords, In::kCount> words = words_of<In::kCount>(frames, In::kFirst);
    // Of a word, 48 bits are added as they are, so that no sum overflows.
    const FourWords end = words[In::kCount - 1];
    FourWords addresses = words[In::kAddressesEnd] & kMask48;
    if constexpr (L.header_family() == Family::ipv4) addresses += words[In::kIpv4 + 1] >> 48;
    if constexpr (L.header_family() == Family::ipv6) {
      constexpr std::size_t kIn = In::kHeader;
      const FourWords high = (words[kIn + 1] >> 32) + (words[kIn + 2] >> 32) + (words[kIn + 3] >> 32);
      addresses += (words[kIn] >> 48) + (words[kIn + 1] + words[kIn + 2] + words[kIn + 3] - (high << 32)) + high;
    }
    FourWords sum = addresses + (words[In::kPorts] >> 48) + (words[In::kPorts + 1] & kMask48) +
                    (words[In::kPorts + 2] >> 32) + (end >> 48) + (end & kMask48) + with_signature_;
    FourWords wrong_lengths{};
    if constexpr (kMixed) {
      const FourWords lengths{frames[0].size(), frames[1].size(), frames[2].size(), frames[3].size()};
      for (const LengthField& field : L.length_fields()) {
        const std::size_t at = field.at - In::kFirst;
        wrong_lengths |= ((words[at / 8] >> 8 * (at % 8)) & 0xFFFF) ^ (swapped_bytes(lengths - field.from) >> 48);
      }
      sum += swapped_bytes(lengths - L.transport()) >> 48;
    }
    if (kMixed || bytes_ > L.end()) {
      const auto rest = [&](const Frame& frame) {
        return checksum_of(frame.data() + L.end(), (kMixed ? frame.size() : bytes_) - L.end());
      };
      sum += FourWords{rest(frames[0]), rest(frames[1]), rest(frames[2]), rest(frames[3])};
    }
    // The sums are below 2^52, so that quotients by 0xFFFF are below 2^48; other products are not.
    FourWords quotient = sum * -kMostMultiple;
    if constexpr (L.header_family() == Family::ipv4) {
      quotient |= (addresses + (words[In::kIpv4] >> 16) + (words[In::kIpv4 + 1] & kMask48)) * -kMostMultiple;
    }
    FourWords wrong = (quotient & ~kMask48) | wrong_lengths;
    for (std::size_t i = 0; i < In::kKnown.size(); ++i) wrong |= words_[i].differences(words[In::kKnown[i]]);
    wrong |= (words[In::kPorts + 1] & 0xFFFF'0000'0000) == 0;
    if constexpr (L.outer != Outer::none) {
      constexpr std::size_t kAt = kEthernetBytes + kHopLimitAt - In::kFirst;
      wrong |= (words[kAt / 8] >> 8 * (kAt % 8) & (0xFF ^ kSpentHopLimit)) == 0;
    }
    if constexpr (L.has_subscriber()) wrong |= subscriber_differences<L>(words);
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

  std::size_t bytes_;                             // the length of the smallest frame
  std::uint64_t pseudo_header_ = 0;               // its sum without the addresses, and without the length in a mix
  std::uint64_t with_signature_ = 0;              // the same with the known bits of the signature
  std::array<Known<TwoWords>, kPieces> headers_;  // without a subscriber, the first piece alone
  Known<TwoWords> datagram_;                      // the UDP header and the start of the signature; TCP's but its end
  Known<std::uint64_t> signature_;                // its start
  Known<TwoWords> extensions_;
  static_assert(sizeof(TwoWords) >= kMostExtensionBytes);
  Known<std::uint32_t> start_;                // of the headers
  Known<std::uint32_t> option_;               // its start, if it has the signature
  Known<std::uint32_t> stream_;               // in the signature, with its magic
  std::array<Known<FourWords>, 10> words_{};  // those of Words::kKnown
  SubscriberRule subscribers_;
  FourSubscribers four_subscribers_;  // of mapped frames
  bool by_fours_ = true;              // whether four frames can be read at once
  std::uint64_t inner_bits_ = 0;      // of a subscriber's address in the four-tuple, which its inner address has
};

/// Recognises the frames of a stream that arrive as nearly all do: intact, in the stream's form, as long as they were
/// sent, with the trial's run id. This takes a fraction of the time of `classify`, which handles all other frames.
class FrameReader {
 public:
  using Frame = KnownFrame::Frame;

  /// `payloads` has the sizes of the payloads. `softwire`, `mapping` and `segment`: those of forms which have one.
  /// Frames with other addresses or of other segments are not the stream's.
  FrameReader(Form form, Family family, SizeCycle payloads, std::uint16_t run_id, std::uint8_t stream,
              const Softwire& softwire = {}, const Mapping& mapping = {}, const Segment& segment = {})
      : form_{form},
        family_{family},
        ip_at_{layout_of(form, family).ip()},
        transport_at_{layout_of(form, family).transport()},
        signature_at_{layout_of(form, family).signature()},
        payloads_{std::move(payloads)},
        known_{form, family, payloads_, run_id, stream, softwire, mapping, segment} {}

  /// Reads the signatures of the first of `frames`, at most kBurst, that are the stream's. Returns their number.
  /// `classify` classifies all of them as test frames, and maybe others, too.
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    return with_layout(form_, family_, [&]<Layout L>() {
      if (!payloads_.mixed()) return known_.read<L, false>(frames, signatures);
      return of_due_length(frames.first(known_.read<L, true>(frames, signatures)), signatures);
    });
  }

  /// Returns the offset of the IP header with the addresses, and of the transport header, in a frame that has been
  /// read.
  [[nodiscard]] std::size_t ip_at() const { return ip_at_; }
  [[nodiscard]] std::size_t transport_at() const { return transport_at_; }
  /// Returns whether the header at `transport`, if it is TCP's, has what the stream's segments have.
  [[nodiscard]] bool has_segment(const std::uint8_t* transport) const {
    return transport_of(form_) == Transport::udp || known_.has_segment(transport);
  }
  /// Returns the size of the payload with which a frame was sent.
  [[nodiscard]] std::size_t payload_bytes(std::uint64_t sequence) const { return payloads_.of(sequence); }

 private:
  /// Returns how many of the first of `frames` have the length with which they were sent.
  [[nodiscard]] std::size_t of_due_length(std::span<const Frame> frames, const SignatureLanes& signatures) const {
    for (std::size_t i = 0; i < frames.size();) {
      for (const std::uint16_t payload : payloads_.from(signatures.sequence[i])) {
        if (frames[i].size() != signature_at_ + payload) return i;
        ++i;
        if (i == frames.size() || signatures.sequence[i] != signatures.sequence[i - 1] + 1) break;
      }
    }
    return frames.size();
  }

  Form form_;
  Family family_;
  std::size_t ip_at_;
  std::size_t transport_at_;
  std::size_t signature_at_;
  SizeCycle payloads_;
  KnownFrame known_;
};

}  // namespace natxy
