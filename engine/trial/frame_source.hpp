// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "form/frame_writer.hpp"
#include "form/size_cycle.hpp"
#include "measure/own_lines.hpp"
#include "pace/clock.hpp"
#include "pace/turns.hpp"
#include "port/port.hpp"
#include "trial/flow_source.hpp"

namespace natxy {

/// Writes the frames of a sender, a burst per call, so that the virtual call costs next to nothing per frame.
class alignas(kCacheLine) FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// Returns the length of the longest frame, in bytes without FCS.
  [[nodiscard]] virtual std::uint16_t length() const = 0;
  /// Writes the first frames of `sequences`, stamped with the current time, into `buffers`, at most kBurst. The buffers
  /// must be for frames of `length()` bytes; those of shorter frames are made shorter. Returns which of the frames must
  /// not be sent, the first in the lowest bit, because they reply to what has not arrived.
  virtual std::uint64_t write(std::span<rte_mbuf* const> buffers, const Series& sequences) = 0;
};

/// Writes the frames of a stream that are all of one size.
template <Layout L>
class StreamFrames final : public FrameSource {
 public:
  StreamFrames(const FrameWriter<L>& writer, std::unique_ptr<FlowSource<L.family>> flows)
      : writer_{writer}, flows_{std::move(flows)} {}

  [[nodiscard]] std::uint16_t length() const override { return static_cast<std::uint16_t>(writer_.length()); }

  std::uint64_t write(std::span<rte_mbuf* const> buffers, const Series& sequences) override {
    TupleLanes<L.family> tuples;
    const std::uint64_t absent = flows_->fill(sequences, buffers.size(), tuples);
    std::array<std::uint8_t*, kBurst> frames;
    for (std::size_t i = 0; i < buffers.size(); ++i) frames[i] = Port::frame_of(buffers[i]);
    writer_.write({frames.data(), buffers.size()}, tuples, sequences, now_ticks() & kMask48);
    return absent;
  }

 private:
  FrameWriter<L> writer_;
  std::unique_ptr<FlowSource<L.family>> flows_;
};

/// Writes the frames of a stream, each of its own size. Frame n has the four-tuple n of the stream, and size n of the
/// cycle.
template <Layout L>
class MixedFrames final : public FrameSource {
 public:
  /// `writer` writes frames of the smallest size.
  MixedFrames(SizeCycle sizes, const FrameWriter<L>& writer, std::unique_ptr<FlowSource<L.family>> flows)
      : sizes_{std::move(sizes)}, writer_{writer}, flows_{std::move(flows)} {}

  [[nodiscard]] std::uint16_t length() const override {
    return static_cast<std::uint16_t>(sizes_.largest() - kFcsBytes);
  }

  std::uint64_t write(std::span<rte_mbuf* const> buffers, const Series& sequences) override {
    TupleLanes<L.family> tuples;
    const std::uint64_t absent = flows_->fill(sequences, buffers.size(), tuples);
    const auto next = sizes_.from(sequences.first);
    std::array<std::uint8_t*, kBurst> frames;
    Lanes<std::uint16_t> more;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      frames[i] = Port::frame_of(buffers[i]);
      const std::size_t size = sequences.stride == 1 ? next[i] : sizes_.of(sequences.at(i));
      more[i] = static_cast<std::uint16_t>(size - sizes_.smallest());
      buffers[i]->data_len = static_cast<std::uint16_t>(size - kFcsBytes);
      buffers[i]->pkt_len = static_cast<std::uint16_t>(size - kFcsBytes);
    }
    writer_.write_longer({frames.data(), buffers.size()}, more, tuples, sequences, now_ticks() & kMask48);
    return absent;
  }

 private:
  SizeCycle sizes_;
  FrameWriter<L> writer_;
  std::unique_ptr<FlowSource<L.family>> flows_;
};

/// Makes the source of a stream's frames. `settings` are those of all sizes.
template <Layout L>
std::unique_ptr<FrameSource> make_frame_source(Form form, const SizeCycle& sizes, FrameSettings settings,
                                               std::unique_ptr<FlowSource<L.family>> flows) {
  settings.size = sizes.smallest();
  const FrameWriter<L> writer(form, settings);
  if (!sizes.mixed()) return std::make_unique<StreamFrames<L>>(writer, std::move(flows));
  return std::make_unique<MixedFrames<L>>(sizes, writer, std::move(flows));
}

/// Writes the frames of two streams in turn, which may differ in family. Sequence numbers are slots of their schedule.
class InterleavedFrames final : public FrameSource {
 public:
  InterleavedFrames(const Turns& turns, std::unique_ptr<FrameSource> first, std::unique_ptr<FrameSource> second)
      : turns_{turns}, first_{std::move(first)}, second_{std::move(second)} {}

  [[nodiscard]] std::uint16_t length() const override { return std::max(first_->length(), second_->length()); }

  std::uint64_t write(std::span<rte_mbuf* const> buffers, const Series& slots) override {
    std::uint64_t absent = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Turns::Turn turn = turns_.at(slots.at(i));
      FrameSource& source = turn.second ? *second_ : *first_;
      buffers[i]->data_len = source.length();
      buffers[i]->pkt_len = source.length();
      absent |= source.write(buffers.subspan(i, 1), {turn.sequence, 1}) << i;
    }
    return absent;
  }

 private:
  Turns turns_;
  std::unique_ptr<FrameSource> first_;
  std::unique_ptr<FrameSource> second_;
};

}  // namespace natxy
