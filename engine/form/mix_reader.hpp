// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "form/frame_reader.hpp"
#include "form/size_cycle.hpp"

namespace natxy {

/// Recognises the frames of a stream as FrameReader does, each of its own size.
class MixReader {
 public:
  using Frame = FrameReader::Frame;

  /// `payloads` has the sizes of the UDP payloads.
  MixReader(Form form, Family family, const SizeCycle& payloads, std::uint16_t run_id, std::uint8_t stream,
            const Softwire& softwire = {});

  /// Reads the signatures of the first of `frames`, at most kBurst, that are the stream's. Returns their number.
  std::size_t read(std::span<const Frame> frames, SignatureLanes& signatures) const {
    return others_.empty() ? first_.read(frames, signatures) : read_mixed(frames, signatures);
  }

  /// Returns the offset of the IP header with the addresses, and of the UDP header, in a frame that has been read.
  [[nodiscard]] std::size_t ip_at() const { return first_.ip_at(); }
  [[nodiscard]] std::size_t udp_at() const { return first_.udp_at(); }
  [[nodiscard]] std::size_t payload_bytes(std::uint64_t sequence) const { return payloads_.of(sequence); }

 private:
  std::size_t read_mixed(std::span<const Frame> all, SignatureLanes& signatures) const;
  /// Reads those of `frames` that have the length of a reader's frames, number `rank` of the sizes, and notes their
  /// rank.
  static void read_of_length(const FrameReader& reader, std::uint8_t rank, std::span<const Frame> frames,
                             SignatureLanes& signatures, Lanes<std::uint8_t>& ranks);

  FrameReader first_;  // of the smallest
  std::vector<FrameReader> others_;
  SizeCycle payloads_;
};

}  // namespace natxy
