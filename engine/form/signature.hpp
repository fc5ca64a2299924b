// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "packet/bytes.hpp"

// The signature is the first 18 bytes of a test frame's payload. It identifies the frame whatever a gateway does to
// the headers.
//
//   0  magic     24 bits   "NXY"
//   3  stream     8 bits   index of the stream in its trial
//   4  run id    16 bits   of the trial; a frame with another one is a late arrival of an earlier trial
//   6  sequence  48 bits
//  12  time      48 bits   clock ticks when the frame was built, modulo 2^48
namespace natxy {

inline constexpr std::size_t kSignatureBytes = 18;
inline constexpr std::uint32_t kMagic = 0x4E5859;
inline constexpr std::uint64_t kMask48 = (std::uint64_t{1} << 48) - 1;
inline constexpr std::size_t kSequenceOffset = 6;
inline constexpr std::size_t kTimeOffset = 12;

struct Signature {
  std::uint8_t stream = 0;
  std::uint16_t run_id = 0;
  std::uint64_t sequence = 0;
  std::uint64_t time = 0;
};

inline void store_signature(std::uint8_t* to, const Signature& signature) {
  store_be32(to, (kMagic << 8) | signature.stream);
  store_be16(to + 4, signature.run_id);
  store_be48(to + kSequenceOffset, signature.sequence);
  store_be48(to + kTimeOffset, signature.time);
}

inline bool has_signature(const std::uint8_t* from) { return (load_be32(from) >> 8) == kMagic; }

inline Signature load_signature(const std::uint8_t* from) {
  // One load reads each field of 48 bits together with the two bytes before it.
  const std::uint64_t run_and_sequence = load_be64(from + kSequenceOffset - 2);
  return {from[3], static_cast<std::uint16_t>(run_and_sequence >> 48), run_and_sequence & kMask48,
          load_be64(from + kTimeOffset - 2) & kMask48};
}

}  // namespace natxy
