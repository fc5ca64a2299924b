// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "form/frame_settings.hpp"
#include "packet/burst.hpp"
#include "packet/checksum.hpp"
#include "packet/vectors.hpp"

namespace natxy {

/// Writes the test frames of one stream. The constructor computes the constant part and its checksum sums once;
/// `write` then inserts the fields that vary and adds them to the sums. It makes four frames at once where vectors have
/// 32 bytes, otherwise one by one.
template <Layout L>
class FrameWriter {
 public:
  static constexpr Family kFamily = L.family;

  /// `form` must have the layout L. Throws std::invalid_argument if `settings.size` is below its smallest frame.
  FrameWriter(Form form, const FrameSettings& settings);

  /// Returns the length of a frame of the settings' size, without its FCS.
  [[nodiscard]] std::size_t length() const { return length_; }

  /// Writes whole frames, at most kBurst. Their sequence numbers, a Series or Lanes, and `time` must be below 2^48.
  template <class Sequences>
  void write(std::span<std::uint8_t* const> frames, const TupleLanes<kFamily>& tuples, const Sequences& sequences,
             std::uint64_t time) const {
    write_longer(frames, NoMore{}, tuples, sequences, time);
  }

  /// Writes frames of which each is longer than `length()` by its number of `more`, Lanes or NoMore.
  template <class More, class Sequences>
  void write_longer(std::span<std::uint8_t* const> frames, const More& more, const TupleLanes<kFamily>& tuples,
                    const Sequences& sequences, std::uint64_t time) const {
    for (std::size_t i = 0; i < frames.size(); ++i) put_zeros(frames[i], length_ + more[i]);
    Constant constant = constant_;
    put<L.signature() + kTimeOffset, 6>(constant.words, time);
    constant.transport_rest -= time;
    if constexpr (kFamily == Family::ipv6) {
      if (share_prefixes(tuples, frames.size())) {
        put<kIp + 8, 8>(constant.words, tuples.source.high[0]);
        put<kIp + 16, 2>(constant.words, tuples.source.low[0] >> 48);
        put<kIp + 24, 8>(constant.words, tuples.destination.high[0]);
        put<kIp + 32, 2>(constant.words, tuples.destination.low[0] >> 48);
        constant.transport_rest -= halves_of(tuples.source.high[0]) + (tuples.source.low[0] >> 48) +
                                   halves_of(tuples.destination.high[0]) + (tuples.destination.low[0] >> 48);
        write_with<true>(constant, frames, more, tuples, sequences);
        return;
      }
    }
    write_with<false>(constant, frames, more, tuples, sequences);
  }

 private:
  static constexpr std::size_t kIp = L.ip();
  static constexpr std::size_t kTransport = L.transport();
  static constexpr std::size_t kEnd = L.end();
  // The frame up to the end of its signature consists of an even number of words, stored four at a time to make few and
  // long stores.
  static constexpr std::size_t kWords = (kEnd + 15) / 16 * 2;
  template <class Word>
  using Words = std::array<Word, kWords>;

  struct Nothing {};
  /// Holds how the outer address of a subscriber follows from its own, and its address in the inner header.
  struct Ends {
    SubscriberRule subscribers;
    std::uint64_t own_bits = 0;  // that the inner address has
    std::uint64_t other = 0;     // and its other bits

    template <class Word>
    [[nodiscard]] Word inner(const Word& address) const {
      return (address & own_bits) | other;
    }
  };
  /// Says that no frame is longer.
  struct NoMore {
    constexpr std::size_t operator[](std::size_t /*lane*/) const { return 0; }
  };
  template <class More>
  static constexpr bool kOfOneLength = std::is_same_v<More, NoMore>;

  /// Holds what frames have in common. Fields that vary are zero in the words and left out of the sums.
  struct Constant {
    Words<std::uint64_t> words{};
    std::uint64_t header_sum = 0;  // of the IPv4 header
    // The complement of the sum of pseudo-header, transport header and payload. What is left of it, folded, is the
    // checksum, and never 0, which UDP does not allow and which means the same as 0xFFFF in TCP.
    std::uint64_t transport_rest = 0;
    [[no_unique_address]] std::conditional_t<L.outer == Outer::none, Nothing, Ends> ends{};
    [[no_unique_address]] std::conditional_t<L.mapped == Mapped::none, Nothing, Mapping> mapping{};
  };

  /// Returns the offset of a word. Where the bytes are no even number of words, the later words overlap the first four.
  static constexpr std::size_t place(std::size_t word) { return 8 * word - (word >= 4 ? 8 * kWords - kEnd : 0); }
  static_assert(place(kWords - 1) + 8 == kEnd);

  /// Inserts a big-endian field of `kBytes` bytes at offset `kAt`, where `words` must be zero.
  template <std::size_t kAt, std::size_t kBytes, std::size_t kWord = 0, class Word>
  static void put(Words<Word>& words, const Word& value) {
    constexpr std::size_t kFieldEnd = kAt + kBytes;
    constexpr std::size_t kWordEnd = place(kWord) + 8;
    if constexpr (kFieldEnd > kWordEnd && kAt < kWordEnd) {
      words[kWord] |= value >> 8 * (kFieldEnd - kWordEnd);
    } else if constexpr (kFieldEnd > place(kWord) && kFieldEnd <= kWordEnd) {
      words[kWord] |= value << 8 * (kWordEnd - kFieldEnd);
    }
    if constexpr (kWord + 1 < kWords) put<kAt, kBytes, kWord + 1>(words, value);
  }

  /// Adds to the field of 16 bits at offset `kAt`, whose sum must fit.
  template <std::size_t kAt, std::size_t kWord = 0, class Word>
  static void add(Words<Word>& words, const Word& value) {
    constexpr std::size_t kPlace = place(kWord);
    if constexpr (kAt >= kPlace && kAt < kPlace + 8) words[kWord] += value << 8 * (kPlace + 6 - kAt);
    if constexpr (kWord + 1 < kWords) add<kAt, kWord + 1>(words, value);
  }

  /// Inserts a subscriber's IPv6 address at offset `kAt`.
  template <std::size_t kAt, class Word>
  static void put_subscriber(const SubscriberRule& rule, Words<Word>& words, const Word& address, const Word& port) {
    if constexpr (L.mapped != Mapped::none) {
      // Those of mapped frames have no table.
      put<kAt, 8>(words, rule.computed_high_of(address, port));
      put<kAt + 8, 8>(words, rule.computed_low_of(address, port));
    } else {
      put<kAt, 8>(words, rule.high_of(address, port));
      put<kAt + 8, 8>(words, rule.low_of(address, port));
    }
  }

  /// Returns whether the first 80 bits of the source addresses are the same in all frames, and so for the destinations.
  /// They nearly always are, and then half of a frame's words.
  static bool share_prefixes(const TupleLanes<Family::ipv6>& tuples, std::size_t count) {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    for (std::size_t i = 0; i < count; ++i) {
      high |= tuples.source.high[i] ^ tuples.source.high[0];
      high |= tuples.destination.high[i] ^ tuples.destination.high[0];
      low |= tuples.source.low[i] ^ tuples.source.low[0];
      low |= tuples.destination.low[i] ^ tuples.destination.low[0];
    }
    return (high | low >> 48) == 0;
  }

  /// Returns the sequence number of a frame, or those of four.
  template <class Word>
  static Word numbers(const Series& sequences, std::size_t first) {
    if constexpr (std::is_integral_v<Word>) {
      return sequences.at(first);
    } else {
      return sequences.at(first) + Word{0, 1, 2, 3} * sequences.stride;
    }
  }
  template <class Word>
  static Word numbers(const Lanes<std::uint64_t>& sequences, std::size_t first) {
    return load_lanes<Word>(sequences, first);
  }

  /// Writes the words of frames. Its own copies of `constant` and of a series cannot be changed by stores to frames.
  template <bool kSharePrefixes, class More, class Sequences>
  static void write_with(Constant constant, std::span<std::uint8_t* const> frames, const More& more,
                         const TupleLanes<kFamily>& tuples, const Sequences& given) {
    // A series fits registers, and lanes do not.
    std::conditional_t<std::is_same_v<Sequences, Series>, Series, const Sequences&> sequences = given;
    std::size_t i = 0;
    if constexpr (kFourWordsFitRegister) {
      for (; i + 4 <= frames.size(); i += 4) {
        const auto words =
            words_of<FourWords, kSharePrefixes>(constant, more, tuples, i, numbers<FourWords>(sequences, i));
        store_four<kSharePrefixes && kOfOneLength<More>>(constant, words,
                                                         {frames[i], frames[i + 1], frames[i + 2], frames[i + 3]});
      }
    }
    for (; i < frames.size(); ++i) {
      const auto words =
          words_of<std::uint64_t, kSharePrefixes>(constant, more, tuples, i, numbers<std::uint64_t>(sequences, i));
      for (std::size_t word = 0; word < kWords; ++word) store_be64(frames[i] + place(word), words[word]);
    }
  }

  /// Returns the words of one frame, or each word of four, whose fields are in the lanes from `lane` on.
  template <class Word, bool kSharePrefixes, class More>
  [[gnu::always_inline]] static Words<Word> words_of(const Constant& constant, const More& more,
                                                     const TupleLanes<kFamily>& tuples, std::size_t lane,
                                                     const Word& sequence) {
    Words<Word> words{};
    for (std::size_t i = 0; i < kWords; ++i) words[i] += constant.words[i];
    Word header_sum = Word{} + constant.header_sum;
    Word transport_rest = Word{} + constant.transport_rest;
    if constexpr (!kOfOneLength<More>) {
      const Word longer = load_lanes<Word>(more, lane);
      constexpr auto kLengths = L.length_fields();
      add<kLengths[1].at>(words, longer);
      if constexpr (L.protocol == Transport::udp) add<kLengths[2].at>(words, longer);
      if constexpr (L.outer != Outer::none) add<kLengths[0].at>(words, longer);
      header_sum += longer;
      transport_rest -= longer;                                              // in the pseudo-header
      if constexpr (L.protocol == Transport::udp) transport_rest -= longer;  // and in the UDP header
    }
    const Word source_port = load_lanes<Word>(tuples.source_port, lane);
    const Word destination_port = load_lanes<Word>(tuples.destination_port, lane);
    Word addresses;
    if constexpr (L.mapped != Mapped::none) {
      const Mapping& mapping = constant.mapping;
      const Word subscriber = load_lanes<Word>((L.from_edge() ? tuples.source : tuples.destination).values, lane);
      const Word far = load_lanes<Word>((L.from_edge() ? tuples.destination : tuples.source).values, lane);
      const Word port = L.from_edge() ? source_port : destination_port;
      constexpr std::size_t kFarAt = kIp + (L.from_edge() ? 24 : 8);
      put_subscriber<kIp + (L.from_edge() ? 8 : 24)>(mapping.subscribers, words, subscriber, port);
      put<kFarAt, 8>(words, mapping.prefix.high_of(far));
      put<kFarAt + 8, 8>(words, mapping.prefix.low_of(far));
      addresses = mapping.subscribers.sum_of(subscriber, port) + mapping.prefix.sum_of(far);
    } else if constexpr (kFamily == Family::ipv4) {
      const Word own_source = load_lanes<Word>(tuples.source.values, lane);
      const Word own_destination = load_lanes<Word>(tuples.destination.values, lane);
      Word source = own_source;
      Word destination = own_destination;
      if constexpr (L.outer == Outer::from_edge) source = constant.ends.inner(source);
      if constexpr (L.outer == Outer::from_core) destination = constant.ends.inner(destination);
      addresses = source + destination;
      put<kIp + 10, 2>(words, folded(addresses + header_sum) ^ 0xFFFF);
      put<kIp + 12, 4>(words, source);
      put<kIp + 16, 4>(words, destination);
      if constexpr (L.outer == Outer::from_edge) {
        put_subscriber<kEthernetBytes + 8>(constant.ends.subscribers, words, own_source, source_port);
      } else if constexpr (L.outer == Outer::from_core) {
        put_subscriber<kEthernetBytes + 24>(constant.ends.subscribers, words, own_destination, destination_port);
      }
    } else {
      const Word source = load_lanes<Word>(tuples.source.low, lane);
      const Word destination = load_lanes<Word>(tuples.destination.low, lane);
      if constexpr (kSharePrefixes) {
        const Word source_end = source & kMask48;
        const Word destination_end = destination & kMask48;
        addresses = source_end + destination_end;
        put<kIp + 18, 6>(words, source_end);
        put<kIp + 34, 6>(words, destination_end);
      } else {
        const Word source_start = load_lanes<Word>(tuples.source.high, lane);
        const Word destination_start = load_lanes<Word>(tuples.destination.high, lane);
        addresses = halves_of(source_start) + halves_of(source) + halves_of(destination_start) + halves_of(destination);
        put<kIp + 8, 8>(words, source_start);
        put<kIp + 16, 8>(words, source);
        put<kIp + 24, 8>(words, destination_start);
        put<kIp + 32, 8>(words, destination);
      }
    }
    const Word sum = addresses + source_port + destination_port + sequence;
    put<kTransport, 2>(words, source_port);
    put<kTransport + 2, 2>(words, destination_port);
    put<L.checksum(), 2>(words, folded(transport_rest - sum));
    put<L.signature() + kSequenceOffset, 6>(words, sequence);
    return words;
  }

  /// Stores the words of four frames from `kWord` on. With `kSameStart` the first four words are those of
  /// `constant`.
  template <bool kSameStart, std::size_t kWord = 0>
  [[gnu::always_inline]] static void store_four(const Constant& constant, const Words<FourWords>& words,
                                                std::array<std::uint8_t*, 4> frames) {
    constexpr std::size_t kCount = std::min<std::size_t>(4, kWords - kWord);
    if constexpr (kSameStart && kWord == 0) {
      const FourWords same = swapped_bytes(load_lanes<FourWords>(constant.words, 0));
      for (std::uint8_t* frame : frames) store_raw(frame, same);
    } else {
      std::array<FourWords, kCount> rows;
      for (std::size_t i = 0; i < kCount; ++i) rows[i] = swapped_bytes(words[kWord + i]);
      const auto columns = transposed(rows);
      for (std::size_t i = 0; i < 4; ++i) store_raw(frames[i] + place(kWord), columns[i]);
    }
    if constexpr (kWord + kCount < kWords) store_four<kSameStart, kWord + kCount>(constant, words, frames);
  }

  /// Writes the zeros behind the signature in pieces, so that none needs a call with a variable length. Long pieces lie
  /// on one cache line each. The first and the last may overlap the words, which are written afterwards.
  static void put_zeros(std::uint8_t* frame, std::size_t length) {
    if (length <= kEnd) return;
    constexpr std::size_t kShort = sizeof(FourWords);
    constexpr std::size_t kLong = sizeof(EightWholes);
    std::size_t done = kEnd / kShort * kShort;
    if (done % kLong != 0 && done + kShort <= length) {
      store_raw(frame + done, FourWords{});
      done += kShort;
    }
    for (; done + kLong <= length; done += kLong) store_raw(frame + done, EightWholes{});
    // No branch, which nobody could predict in a mix of sizes.
    store_raw(frame + std::min(done, length - kShort), FourWords{});
    store_raw(frame + length - kShort, FourWords{});
  }

  std::size_t length_;
  Constant constant_;
};

#define NATXY_INSTANTIATE_ELSEWHERE(layout) extern template class FrameWriter<layout>;
NATXY_FOR_EACH_LAYOUT(NATXY_INSTANTIATE_ELSEWHERE)
#undef NATXY_INSTANTIATE_ELSEWHERE

}  // namespace natxy
