// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "measure/own_lines.hpp"
#include "pace/clock.hpp"
#include "pace/turns.hpp"
#include "packet/test_frame/frame_template.hpp"
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
  /// must be for frames of `length()` bytes.
  virtual void write(std::span<rte_mbuf* const> buffers, const Series& sequences) = 0;
};

/// Writes the frames of one stream.
template <Family F>
class StreamFrames final : public FrameSource {
 public:
  StreamFrames(const FrameTemplate<F>& frame, std::unique_ptr<FlowSource<F>> flows)
      : template_{frame}, flows_{std::move(flows)} {}

  [[nodiscard]] std::uint16_t length() const override { return static_cast<std::uint16_t>(template_.length()); }

  void write(std::span<rte_mbuf* const> buffers, const Series& sequences) override {
    TupleLanes<F> tuples;
    flows_->fill(sequences, buffers.size(), tuples);
    std::array<std::uint8_t*, kBurst> frames;
    for (std::size_t i = 0; i < buffers.size(); ++i) frames[i] = Port::frame_of(buffers[i]);
    template_.write({frames.data(), buffers.size()}, tuples, sequences, now_ticks() & kMask48);
  }

 private:
  FrameTemplate<F> template_;
  std::unique_ptr<FlowSource<F>> flows_;
};

/// Writes the frames of two streams in turn, which may differ in family. Sequence numbers are slots of their schedule.
class InterleavedFrames final : public FrameSource {
 public:
  InterleavedFrames(const Turns& turns, std::unique_ptr<FrameSource> first, std::unique_ptr<FrameSource> second)
      : turns_{turns}, first_{std::move(first)}, second_{std::move(second)} {}

  [[nodiscard]] std::uint16_t length() const override { return std::max(first_->length(), second_->length()); }

  void write(std::span<rte_mbuf* const> buffers, const Series& slots) override {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Turns::Turn turn = turns_.at(slots.at(i));
      FrameSource& source = turn.second ? *second_ : *first_;
      source.write(buffers.subspan(i, 1), {turn.sequence, 1});
      buffers[i]->data_len = source.length();
      buffers[i]->pkt_len = source.length();
    }
  }

 private:
  Turns turns_;
  std::unique_ptr<FrameSource> first_;
  std::unique_ptr<FrameSource> second_;
};

}  // namespace natxy
