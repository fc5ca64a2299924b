// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/joined_ports.hpp"
#include "bench/task_bed.hpp"
#include "trial/runner/flows.hpp"
#include "trial/runner/ring_bed.hpp"
#include "trial/runner/task_builder.hpp"

// Benchmarks of whole lives of TCP connections on one core, which sends and receives every segment.
namespace natxy {

/// Lists the segments of a connection that is opened, used with `data` bytes in each direction and closed, as the
/// plan's `tcp-connection-rate` has them by default.
inline std::vector<Segment> life(std::uint32_t data) {
  constexpr std::uint8_t kData = kTcpPush | kTcpAck;
  constexpr std::uint8_t kFin = kTcpFin | kTcpAck;
  return {{true, kTcpSyn, 0, 0},
          {false, kTcpSyn | kTcpAck, 0, 1},
          {true, kTcpAck, 1, 1},
          {true, kData, 1, 1},
          {false, kData, 1, 1 + data},
          {true, kFin, 1 + data, 1 + data},
          {false, kFin, 1 + data, 2 + data},
          {true, kTcpAck, 2 + data, 2 + data}};
}

/// Returns a trial in which each step of the connections' lives is a stream, as fast as can be.
template <Family F>
TrialSpec lives_of(std::uint64_t connections) {
  TrialSpec trial = phase1(F, connections);
  trial.limits.overrun_floor_s = kLongest_s;
  const StreamSpec opening = trial.streams.front();
  trial.streams.clear();
  for (const Segment& segment : life(kSignatureBytes)) {
    StreamSpec stream = opening;
    stream.name = fmt::format("step {}", trial.streams.size());
    stream.segment = segment;
    stream.form = (segment.flags & kTcpPush) != 0 ? Form::tcp : Form::tcp_option;
    stream.frame_sizes = {layout_of(stream.form, F).smallest_frame()};
    stream.rate_fps = kUnreachable_fps;
    if (trial.streams.empty()) {
      stream.flows = flows(F, 50'000, 2'001);
    } else {
      stream.flows.reset();
      stream.role = StreamRole::foreground;
      stream.kind = segment.of_initiator ? StreamKind::connections : StreamKind::replies;
      stream.source = segment.of_initiator ? Side::left : Side::right;
      stream.order = Order::increasing;
    }
    trial.streams.push_back(stream);
  }
  return trial;
}

/// Has connections live, whose frames go from one port to the other over a ring.
class Lives {
 public:
  Lives(const TrialSpec& trial, const TrialResources& resources, Connections& connections) : trial_{trial} {
    begin_connections(trial, 0, connections);
    const std::uint64_t now = now_ticks();
    const TaskBuilder builder(trial_, resources, {&connections, 1}, kRunId, now);
    builder.add_senders({&worker_, 1});
    builder.add_receivers({&worker_, 1}, now + resources.clock.ticks(kLongest_s));
    // The senders of the left port come first.
    for (const Side side : {Side::left, Side::right}) {
      for (std::size_t i = 0; i < trial.streams.size(); ++i) {
        if (trial.streams[i].source == side) places_.push_back(i);
      }
    }
  }

  /// Sends a burst of a step, and receives all of it.
  void advance(std::size_t step) {
    const auto place = static_cast<std::size_t>(std::ranges::find(places_, step) - places_.begin());
    Sender& sender = *worker_.senders[place];
    Receiver& receiver = *worker_.receivers[trial_.streams[step].source == Side::left ? 1 : 0].task;
    const std::uint64_t due = receiver.received_so_far() + kBurst;
    for (const std::uint64_t sent = sender.sent_so_far() + kBurst; sender.sent_so_far() < sent;) sender.poll();
    while (receiver.received_so_far() < due) receiver.poll();
  }

 private:
  const TrialSpec& trial_;
  Worker worker_;
  std::vector<std::size_t> places_;  // of the senders' streams in the trial
};

/// Measures how many frames of whole lives a core sends and receives per second while so many connections are open: it
/// opens all of them, and then some live on to their end.
template <Family F>
std::string live(std::uint64_t connections, const Bed& bed) {
  Wires wires = new_wires();
  const auto ports = joined_ports(wires);
  const Neighbors nobody;
  const TrialResources resources{ports, nobody, bed.workers, true, the_clock()};
  // Whole bursts, of which the last one of a life is no sender's last.
  const TrialSpec trial = lives_of<F>((connections / kBurst + 1) * kBurst);
  const std::uint64_t bursts = connections / kBurst;
  Connections table;
  double open_s = 0;
  double rest_s = 0;
  std::uint64_t lived = 0;
  auto work = [&] {
    // The first time brings the table into memory.
    for (const bool timed : {false, true}) {
      Lives lives(trial, resources, table);
      const double before = own_seconds();
      for (std::uint64_t i = 0; i < bursts; ++i) lives.advance(0);
      if (!timed) continue;
      open_s = own_seconds() - before;
      while (rest_s < bed.seconds && lived < bursts) {
        for (std::size_t step = 1; step < trial.streams.size(); ++step) lives.advance(step);
        ++lived;
        rest_s = own_seconds() - before - open_s;
      }
    }
  };
  launch(work, bed.workers.front());
  await(bed.workers.front(), bed.seconds);
  const double life_s =
      (open_s / static_cast<double>(bursts) + rest_s / static_cast<double>(lived)) / static_cast<double>(kBurst);
  const auto steps = static_cast<double>(trial.streams.size());
  return fmt::format(R"("frames": {}, "fps": {:.0f}, "lives_per_s": {:.0f})", lived * kBurst * trial.streams.size(),
                     steps / life_s, 1 / life_s);
}

}  // namespace natxy
