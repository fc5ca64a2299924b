// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "measure/own_lines.hpp"
#include "measure/pause_marks.hpp"
#include "pace/clock.hpp"
#include "pace/schedule.hpp"
#include "pace/turns.hpp"
#include "port/port.hpp"
#include "trial/frame_source.hpp"
#include "trial/report.hpp"
#include "trial/task.hpp"

namespace natxy {

/// Sends one stream, two interleaved streams, or a slice of them on one queue of a port. Each frame leaves when it is
/// due or as soon as possible afterwards (open loop), and the schedule is never stretched. No frame is skipped but a
/// reply to what has not arrived, which is absent.
class Sender final : public Task {
 public:
  struct Setup {
    std::vector<std::size_t> streams;  // indexes in the request, one or two
    Turns turns;
    std::uint64_t trial_start;  // clock ticks
    Schedule schedule;
    Series slice;                 // which frames of the schedule
    std::uint64_t give_up_at;     // clock ticks
    std::uint64_t longest_pause;  // ticks; longer pauses add up to `paused` in the report
    std::uint64_t notable_pause;  // ticks; longer pauses add up to `pauses` in the report
    std::uint64_t second;         // ticks
    PauseMarks marks;             // with none yet
  };

  Sender(const Port& port, std::uint16_t queue, std::unique_ptr<FrameSource> frames, const Setup& setup)
      : port_{port},
        queue_{queue},
        frames_{std::move(frames)},
        setup_{setup},
        total_{in_slice(setup.schedule.frames())} {
    const std::size_t seconds = (setup.give_up_at - setup.trial_start) / setup.second + 2;
    for (const std::size_t stream : setup.streams) parts_.push_back({stream, 0, OwnLines<std::uint64_t>(seconds)});
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() override { drop_pending(); }

  void poll() override {
    if (done_) return;
    const std::uint64_t now = now_ticks();
    note_pause(now);
    if (now < setup_.schedule.start()) return;
    if (now > setup_.give_up_at || halted_.load(std::memory_order_relaxed)) {
      give_up(now);
      return;
    }
    if (pending_first_ == pending_end_) make_burst(now);
    if (pending_first_ != pending_end_) transmit();
    if (sent_.get() == total_) finish(now);
  }

  void postpone(std::uint64_t ticks) override {
    setup_.trial_start += ticks;
    setup_.give_up_at += ticks;
    setup_.schedule.postpone(ticks);
  }

  /// Leaves the remaining frames unsent. Another thread may call it.
  void halt() { halted_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] bool done() const { return done_; }
  /// Returns the tick at which the last frame left or was given up. Valid once `done`.
  [[nodiscard]] std::uint64_t finished_at() const { return finished_at_; }
  /// Returns the tick at which the sender gives up and leaves the remaining frames unsent.
  [[nodiscard]] std::uint64_t gives_up_at() const { return setup_.give_up_at; }
  [[nodiscard]] const Schedule& schedule() const { return setup_.schedule; }
  [[nodiscard]] std::uint64_t sent_so_far() const { return sent_.get(); }
  /// Returns how many frames were due during the pauses that add up to `paused`. Other threads may ask at any time.
  [[nodiscard]] std::uint64_t due_in_pauses() const {
    const std::uint64_t paused = paused_.get();
    return paused > 0 ? setup_.schedule.due(setup_.schedule.start() + paused) : 0;
  }

  /// Adds this sender's results to the reports of its streams, which share its pacing, and its marks to those of all
  /// senders. Call it after the worker has stopped.
  void report(std::span<StreamReport> streams, PauseMarks& marks) const {
    marks.add(setup_.marks);
    if (behind_since_ != 0) marks.mark(since_start(behind_since_), since_start(last_poll_));
    for (const Part& part : parts_) {
      StreamReport& report = streams[part.stream];
      report.sent += part.sent;
      report.absent += absent_;
      PacingReport& pacing = report.pacing;
      pacing.lateness.add(lateness_);
      pacing.overrun = std::max(pacing.overrun, overrun_);
      pacing.max_pause = std::max(pacing.max_pause, max_pause_);
      pacing.paused = std::max(pacing.paused, paused_.get());
      pacing.pauses = std::max(pacing.pauses, pauses_);
      pacing.refused += refused_;
      pacing.blocked = std::max(pacing.blocked, blocked_);
      report.sent_per_second.resize(std::max(report.sent_per_second.size(), part.per_second.size()));
      for (std::size_t i = 0; i < part.per_second.size(); ++i) report.sent_per_second[i] += part.per_second[i];
    }
  }

 private:
  /// Counts the frames sent of one stream.
  struct Part {
    std::size_t stream;
    std::uint64_t sent;
    OwnLines<std::uint64_t> per_second;
  };

  [[nodiscard]] std::uint64_t in_slice(std::uint64_t frames) const {
    const Series& slice = setup_.slice;
    return frames > slice.first ? (frames - slice.first + slice.stride - 1) / slice.stride : 0;
  }
  [[nodiscard]] std::uint64_t sequence_of(std::uint64_t index) const { return setup_.slice.at(index); }

  void note_pause(std::uint64_t now) {
    // Nothing is due before the start, so earlier pauses do not matter.
    const std::uint64_t since = std::max(last_poll_, setup_.schedule.start());
    const std::uint64_t pause = now > since ? now - since : 0;
    max_pause_ = std::max(max_pause_, pause);
    if (pause > setup_.notable_pause) pauses_ += pause;
    if (pause > setup_.longest_pause) {
      paused_.add(pause);
      if (behind_since_ == 0) behind_since_ = since;
      // During the pause the port was not asked to take frames, so it did not refuse any.
      if (refused_at_ != 0) refused_at_ += pause;
    }
    last_poll_ = now;
  }

  [[nodiscard]] std::uint64_t since_start(std::uint64_t now) const { return now - setup_.trial_start; }

  void finish(std::uint64_t now) {
    finished_at_ = now;
    done_ = true;
  }

  /// Ends sending because the port or the core was too slow for too long, or because it was told to. The remaining
  /// frames stay unsent.
  void give_up(std::uint64_t now) {
    const std::uint64_t next_due = setup_.schedule.due_at(sequence_of(sent_.get()));
    overrun_ = now > next_due ? now - next_due : 0;
    note_acceptance(now);
    finish(now);
  }

  void make_burst(std::uint64_t now) {
    const std::uint64_t made = sent_.get();
    const std::uint64_t due = in_slice(setup_.schedule.due(now));
    if (behind_since_ != 0 && due - made < kBurst) {
      setup_.marks.mark(since_start(behind_since_), since_start(now));
      behind_since_ = 0;
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(due - made, kBurst));
    if (size == 0) {
      // The sender is on schedule again, so earlier refusals of the port had no effect.
      blocked_ = 0;
      return;
    }
    if (!port_.allocate({pending_.data(), size}, frames_->length())) {
      // The port still holds all buffers, so it takes no more.
      note_refusal(now);
      return;
    }
    const std::uint64_t absent = frames_->write({pending_.data(), size}, {sequence_of(made), setup_.slice.stride});
    pending_first_ = 0;
    pending_end_ = absent == 0 ? size : without(absent, size);
    port_.tag({pending_.data(), pending_end_});
  }

  /// Frees those of the first `size` pending buffers that are `absent`, counts their frames, and moves the others
  /// together. Returns the number of the others.
  std::size_t without(std::uint64_t absent, std::size_t size) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if ((absent >> i & 1) == 0) {
        pending_[kept++] = pending_[i];
      } else {
        rte_pktmbuf_free(pending_[i]);
      }
    }
    absent_ += size - kept;
    sent_.add(size - kept);
    return kept;
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
      note_sent(now, taken);
      if (sent_.get() == total_) {
        const std::uint64_t late_at = setup_.schedule.late_at(sequence_of(total_ - 1));
        overrun_ = now > late_at ? now - late_at : 0;
      }
    }
    if (taken < waiting) note_refusal(now);
  }

  void note_sent(std::uint64_t now, std::size_t taken) {
    const std::uint64_t first = sent_.get();
    sent_.add(taken);
    const std::uint64_t second =
        std::min<std::uint64_t>((now - setup_.trial_start) / setup_.second, parts_.front().per_second.size() - 1);
    if (parts_.size() == 1) {
      parts_.front().sent += taken;
      parts_.front().per_second[second] += taken;
      return;
    }
    for (std::size_t i = 0; i < taken; ++i) {
      Part& part = parts_[setup_.turns.at(sequence_of(first + i)).second ? 1 : 0];
      ++part.sent;
      ++part.per_second[second];
    }
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
  std::unique_ptr<FrameSource> frames_;
  Setup setup_;
  std::uint64_t total_;

  std::array<rte_mbuf*, kBurst> pending_{};  // built and stamped, but not yet taken by the port
  std::size_t pending_first_ = 0;
  std::size_t pending_end_ = 0;
  Counter sent_;  // with those that are absent
  std::uint64_t absent_ = 0;
  std::atomic<bool> done_ = false;
  std::atomic<bool> halted_ = false;
  std::uint64_t finished_at_ = 0;
  std::uint64_t last_poll_ = 0;
  std::uint64_t refused_at_ = 0;
  std::uint64_t behind_since_ = 0;  // when the first pause began after which the sender is not on schedule yet

  Histogram lateness_;
  std::uint64_t overrun_ = 0;
  std::uint64_t max_pause_ = 0;
  Counter paused_;
  std::uint64_t pauses_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t blocked_ = 0;
  OwnLines<Part> parts_;
};

}  // namespace natxy
