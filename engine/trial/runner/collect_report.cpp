// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/collect_report.hpp"

#include <algorithm>

namespace natxy {

namespace {

/// Returns the tick at which the last sender ended. An abort stops senders before they are done.
std::uint64_t sending_ended(std::span<const Worker> workers, std::uint64_t start) {
  const std::uint64_t now = now_ticks();
  std::uint64_t last = start;
  for (const Worker& worker : workers) {
    for (const auto& sender : worker.senders) {
      last = std::max(last, sender->done() ? sender->finished_at() : std::min(now, sender->gives_up_at()));
    }
  }
  return last;
}

/// Returns true if a frame that comes after a later one was overtaken on its way. Frames on several queues of a port
/// overtake each other in the tester itself.
bool shows_order(const StreamSpec& stream, std::span<const PortReport> ports) {
  return std::ranges::none_of(ports, [&](const PortReport& port) {
    return (port.place == stream.from() || port.place == stream.to()) && port.received_by_queue.size() > 1;
  });
}

/// Removes zeros from the end, but keeps the first `seconds` values.
void trim(std::vector<std::uint64_t>& per_second, std::size_t seconds) {
  while (per_second.size() > seconds && per_second.back() == 0) per_second.pop_back();
}

}  // namespace

TrialReport collect_report(const TrialSpec& spec, const Clock& clock, std::uint64_t start,
                           std::span<const Worker> workers, const PortWatch& ports, bool ended_early) {
  TrialReport report;
  report.streams.resize(spec.streams.size());
  for (StreamReport& stream : report.streams) stream.ended_early = ended_early;
  report.ports = ports.reports();
  PauseMarks marks = spec.pause_marks(clock);
  std::vector<std::vector<Receiver*>> receivers(report.ports.size());
  for (const Worker& worker : workers) {
    for (const auto& receiver : worker.receivers) receivers[receiver.port].push_back(receiver.task.get());
    for (const auto& sender : worker.senders) sender->report(report.streams, marks);
  }
  for (std::size_t port = 0; port < receivers.size(); ++port) {
    Receiver::report(receivers[port], marks, report, report.ports[port]);
  }
  report.duration_s = clock.seconds(sending_ended(workers, start) - start);
  const auto seconds = static_cast<std::size_t>(report.duration_s + spec.drain_s) + 1;
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    StreamReport& stream = report.streams[i];
    if (!shows_order(spec.streams[i], report.ports)) stream.reordered.reset();
    // The slot of the last frame is included, so that a stream sent on time has exactly its intended rate.
    const double sending_s =
        static_cast<double>(stream.sent) / spec.streams[i].rate_fps + clock.seconds(stream.pacing.overrun);
    stream.offered_rate_fps = sending_s > 0 ? static_cast<double>(stream.sent) / sending_s : 0;
    trim(stream.sent_per_second, seconds);
    trim(stream.received_per_second, seconds);
  }
  return report;
}

}  // namespace natxy
