// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "pace/clock.hpp"
#include "pace/schedule.hpp"
#include "packet/frame_template.hpp"
#include "port/port.hpp"
#include "trial/flow_source.hpp"
#include "trial/task.hpp"
#include "trial/types.hpp"

namespace natxy {

/// What a sender of any family shows to the one who runs the trial.
class SenderTask : public Task {
 public:
  [[nodiscard]] virtual bool done() const = 0;
  /// Clock ticks when the last frame left or was given up; after `done`.
  [[nodiscard]] virtual std::uint64_t finished_at() const = 0;
  [[nodiscard]] virtual std::uint64_t sent_so_far() const = 0;
  /// Adds this sender's part to its stream's report; after the worker has stopped.
  virtual void report(StreamReport& report) const = 0;
};

/// Which frames of a stream a sender sends: first, first + stride, …
struct Slice {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
};

/// Sends one stream, or a slice of it, on one queue of a port, each frame when it is due or as soon after as it can
/// (open loop). No frame is skipped and the schedule never stretched.
template <Family F>
class Sender final : public SenderTask {
 public:
  struct Setup {
    std::uint64_t trial_start;  // clock ticks
    Schedule schedule;
    Slice slice;
    std::uint64_t give_up_at;     // clock ticks
    std::uint64_t longest_pause;  // ticks; longer ones are added up
    std::uint64_t second;         // ticks
  };

  Sender(const Port& port, std::uint16_t queue, const FrameTemplate<F>& frame, std::unique_ptr<FlowSource<F>> flows,
         const Setup& setup)
      : port_{port},
        queue_{queue},
        template_{frame},
        flows_{std::move(flows)},
        setup_{setup},
        total_{in_slice(setup.schedule.frames())} {
    sent_per_second_.resize((setup.give_up_at - setup.trial_start) / setup.second + 2);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() override { drop_pending(); }

  void poll() override {
    if (done_) return;
    const std::uint64_t now = now_ticks();
    note_pause(now);
    if (now < setup_.schedule.start()) return;
    if (now > setup_.give_up_at) {
      give_up(now);
      return;
    }
    if (pending_first_ == pending_end_) make_burst(now);
    if (pending_first_ != pending_end_) transmit();
    if (sent_.get() == total_) finish(now);
  }

  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] std::uint64_t finished_at() const override { return finished_at_; }
  [[nodiscard]] std::uint64_t sent_so_far() const override { return sent_.get(); }

  void report(StreamReport& report) const override {
    report.sent += sent_.get();
    PacingReport& pacing = report.pacing;
    pacing.lateness.add(lateness_);
    pacing.overrun = std::max(pacing.overrun, overrun_);
    pacing.max_pause = std::max(pacing.max_pause, max_pause_);
    pacing.paused = std::max(pacing.paused, paused_);
    pacing.refused += refused_;
    pacing.blocked = std::max(pacing.blocked, blocked_);
    report.sent_per_second.resize(std::max(report.sent_per_second.size(), sent_per_second_.size()));
    for (std::size_t i = 0; i < sent_per_second_.size(); ++i) report.sent_per_second[i] += sent_per_second_[i];
  }

 private:
  [[nodiscard]] std::uint64_t in_slice(std::uint64_t frames) const {
    const Slice& slice = setup_.slice;
    return frames > slice.first ? (frames - slice.first + slice.stride - 1) / slice.stride : 0;
  }
  [[nodiscard]] std::uint64_t sequence_of(std::uint64_t index) const {
    return setup_.slice.first + index * setup_.slice.stride;
  }

  void note_pause(std::uint64_t now) {
    // Before the start nothing is due, so nothing is missed.
    const std::uint64_t since = std::max(last_poll_, setup_.schedule.start());
    const std::uint64_t pause = now > since ? now - since : 0;
    max_pause_ = std::max(max_pause_, pause);
    if (pause > setup_.longest_pause) {
      paused_ += pause;
      // While this core was away nobody asked the port.
      if (refused_at_ != 0) refused_at_ += pause;
    }
    last_poll_ = now;
  }

  void finish(std::uint64_t now) {
    finished_at_ = now;
    done_ = true;
  }

  /// The port or the core was too slow for too long: what is left stays unsent.
  void give_up(std::uint64_t now) {
    const std::uint64_t next_due = setup_.schedule.due_at(sequence_of(sent_.get()));
    overrun_ = now > next_due ? now - next_due : 0;
    note_acceptance(now);
    finish(now);
  }

  void make_burst(std::uint64_t now) {
    const std::uint64_t made = sent_.get();
    const std::uint64_t due = in_slice(setup_.schedule.due(now));
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(due - made, kBurst));
    if (size == 0) {
      // On schedule again: what the port held up before has cost nothing in the end.
      blocked_ = 0;
      return;
    }
    if (!port_.allocate({pending_.data(), size}, static_cast<std::uint16_t>(template_.length()))) {
      // The port still holds all buffers: it takes no more.
      note_refusal(now);
      return;
    }
    std::array<Tuple<F>, kBurst> tuples;
    flows_->fill({tuples.data(), size}, sequence_of(made), setup_.slice.stride);
    const std::uint64_t time = now_ticks() & kMask48;
    for (std::size_t i = 0; i < size; ++i) {
      template_.write(rte_pktmbuf_mtod(pending_[i], std::uint8_t*), tuples[i], sequence_of(made + i), time);
    }
    pending_first_ = 0;
    pending_end_ = size;
  }

  void transmit() {
    const std::uint64_t now = now_ticks();
    const std::uint64_t oldest_due = setup_.schedule.due_at(sequence_of(sent_.get()));
    const std::size_t waiting = pending_end_ - pending_first_;
    const std::size_t taken = port_.transmit(queue_, {pending_.data() + pending_first_, waiting});
    if (taken > 0) {
      note_acceptance(now);
      const std::uint64_t lateness = now > oldest_due ? now - oldest_due : 0;
      lateness_.record(lateness, taken);
      pending_first_ += taken;
      sent_.add(taken);
      const std::uint64_t second = (now - setup_.trial_start) / setup_.second;
      sent_per_second_[std::min<std::uint64_t>(second, sent_per_second_.size() - 1)] += taken;
      if (sent_.get() == total_) {
        const std::uint64_t late_at = setup_.schedule.late_at(sequence_of(total_ - 1));
        overrun_ = now > late_at ? now - late_at : 0;
      }
    }
    if (taken < waiting) note_refusal(now);
  }

  void note_refusal(std::uint64_t now) {
    if (refused_at_ != 0) return;
    ++refused_;
    refused_at_ = now;
  }

  void note_acceptance(std::uint64_t now) {
    if (refused_at_ != 0 && now > refused_at_) blocked_ += now - refused_at_;
    refused_at_ = 0;
  }

  void drop_pending() {
    for (; pending_first_ < pending_end_; ++pending_first_) rte_pktmbuf_free(pending_[pending_first_]);
  }

  const Port& port_;
  std::uint16_t queue_;
  FrameTemplate<F> template_;
  std::unique_ptr<FlowSource<F>> flows_;
  Setup setup_;
  std::uint64_t total_;

  std::array<rte_mbuf*, kBurst> pending_{};  // made, stamped, not yet taken by the port
  std::size_t pending_first_ = 0;
  std::size_t pending_end_ = 0;
  Counter sent_;
  std::atomic<bool> done_ = false;
  std::uint64_t finished_at_ = 0;
  std::uint64_t last_poll_ = 0;
  std::uint64_t refused_at_ = 0;

  Histogram lateness_;
  std::uint64_t overrun_ = 0;
  std::uint64_t max_pause_ = 0;
  std::uint64_t paused_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t blocked_ = 0;
  std::vector<std::uint64_t> sent_per_second_;
};

}  // namespace natxy
