// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/trial_runner.hpp"

#include <fmt/format.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <random>
#include <thread>

#include "measure/core_probe.hpp"
#include "trial/runner/collect_report.hpp"
#include "trial/runner/flows.hpp"
#include "trial/runner/port_watch.hpp"
#include "trial/runner/task_builder.hpp"
#include "trial/verdict.hpp"
#include "trial/worker.hpp"

namespace natxy {

namespace {

// From the moment at which all workers are ready to the first frame, so that they poll by then.
constexpr double kStartDelay_s = 0.001;
// A worker that is not ready after this time is late, which the trial's verdict will say.
constexpr double kReadyPatience_s = 1.0;
constexpr auto kReadyInterval = std::chrono::microseconds(20);
constexpr auto kWatchInterval = std::chrono::milliseconds(10);
// A worker may need this time to notice that its senders have to give up, and these intervals to stop when asked to.
constexpr double kNotice_s = 0.3;
constexpr auto kStopInterval = std::chrono::microseconds(100);
constexpr int kStopIntervals = 13'000;

std::uint16_t next_run_id() {
  // The first id is random, so that frames of an earlier engine that are still in the DUT have another id.
  static auto id = static_cast<std::uint16_t>(std::random_device{}());
  return ++id;
}

class TrialRun {
 public:
  TrialRun(const TrialSpec& spec, const TrialResources& resources, std::span<Connections> connections)
      : spec_{spec}, resources_{resources}, connections_{connections} {
    check_request(spec, resources, connections);
    for_each_phase1([&](std::size_t i) { begin_connections(spec, i, learned(i)); });
    check_prompt_streams(spec, resources, connections);
    const Clock& clock = resources.clock;
    start_ = now_ticks();
    workers_.resize(resources.workers.size());
    for (auto& worker : workers_) {
      worker.signals = &signals_;
      worker.high_priority = resources.workers_apart;
    }
    const TaskBuilder builder(spec, resources, connections, run_id_, start_);
    builder.add_senders(workers_);
    builder.add_receivers(workers_, senders_give_up_at() + clock.ticks(kNotice_s + spec.drain_s));
  }

  TrialRun(const TrialRun&) = delete;
  TrialRun& operator=(const TrialRun&) = delete;
  /// Stops the workers, which after an exception still use this object.
  ~TrialRun() {
    if (stop_workers()) std::terminate();
  }

  TrialReport run(const std::function<bool(const TrialProgress&)>& keep_going) {
    PortWatch ports(resources_.ports);
    SuspensionWatch clocks(resources_.clock, resources_.moment);
    CoreProbe dut_cores(resources_.dut_cores, resources_.clock);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (rte_eal_remote_launch(Worker::run, &workers_[i], resources_.workers[i]) != 0) {
        throw TrialError("a worker core is busy");
      }
    }
    begin_when_ready();
    bool aborted = false;
    bool link_lost = false;
    bool going = true;
    // Looks every kWatchInterval, and more often around the moments in which the end may be expected.
    const auto watch_until = [&](std::initializer_list<std::uint64_t> expected, const auto& ended) {
      while (going && !ended()) {
        auto interval = kWatchInterval;
        for (const std::uint64_t moment : expected) interval = std::min(interval, distance_to(moment));
        std::this_thread::sleep_for(interval);
        link_lost = ports.check_links() && !spec_.limits.link_may_fall;
        aborted = !keep_going(progress());
        // After a suspension the end may never come, because the counter may have begun anew.
        going = !aborted && !clocks.suspended() && !link_lost;
      }
    };
    const std::uint64_t given_up = senders_give_up_at() + resources_.clock.ticks(kNotice_s);
    bool decided = false;
    watch_until({schedules_end()}, [&] {
      decided = is_decided();
      return decided || all_sent() || now_ticks() > given_up;
    });
    const bool early = !all_sent() && (link_lost || (going && decided));
    if (early) halt_senders();
    dut_cores.finish();
    // The drain starts now: if this thread lost its core and saw the end late, the drain still has its full length.
    const std::uint64_t drain_start = now_ticks();
    const std::uint64_t drained = drain_start + resources_.clock.ticks(early || all_sent() ? spec_.drain_s : 0);
    watch_until({drain_start, drained},
                [&] { return now_ticks() >= drained || (spec_.drain_ends_early && all_arrived(early)); });
    if (const auto stuck = stop_workers()) {
      throw WorkerStuck(
          fmt::format("the worker on core {} does not stop: a port's driver does not return, or the worker had no CPU "
                      "time; check the ports' interfaces and the other processes on this core",
                      rte_lcore_to_cpu_id(static_cast<int>(*stuck))));
    }
    clocks.suspended();
    TrialReport found = report(ports, clocks.why(), aborted, early);
    found.dut_cores = dut_cores.stop();
    return found;
  }

 private:
  /// Lets the workers begin as soon as all of them wait for it. The trial starts then, because nobody knows before how
  /// long they take to get there, or at the moment that the request asks for, if that is later.
  void begin_when_ready() {
    const std::uint64_t latest = now_ticks() + resources_.clock.ticks(kReadyPatience_s);
    while (signals_.ready.load(std::memory_order_acquire) < workers_.size() && now_ticks() < latest) {
      std::this_thread::sleep_for(kReadyInterval);
    }
    const std::uint64_t soonest = now_ticks() + resources_.clock.ticks(kStartDelay_s);
    postpone(std::max(soonest, resources_.clock.ticks_of_ns(spec_.begin_at_ns.value_or(0))) - start_);
    signals_.begin.store(true, std::memory_order_release);
  }

  /// Stops all workers. Returns one that does not stop, if there is one.
  std::optional<unsigned> stop_workers() {
    signals_.stop = true;
    // Counts intervals instead of time: while the whole process is suspended, the workers cannot stop either.
    int intervals = 0;
    for (const unsigned worker : resources_.workers) {
      for (; rte_eal_get_lcore_state(worker) == RUNNING; ++intervals) {
        if (intervals == kStopIntervals) return worker;
        std::this_thread::sleep_for(kStopInterval);
      }
      rte_eal_wait_lcore(worker);
    }
    return std::nullopt;
  }

  template <class Use>
  void for_each_sender(Use use) const {
    for (const auto& worker : workers_) {
      for (const auto& sender : worker.senders) use(*sender);
    }
  }

  [[nodiscard]] bool all_sent() const {
    bool all = true;
    for_each_sender([&](const Sender& sender) { all = all && sender.done(); });
    return all;
  }

  template <class Use>
  void for_each_receiver(Use use) const {
    for (const auto& worker : workers_) {
      for (const auto& receiver : worker.receivers) use(*receiver.task);
    }
  }

  /// Returns whether the trial cannot pass any more, and may therefore end.
  [[nodiscard]] bool is_decided() const {
    switch (spec_.ends_early) {
      case EarlyEnd::never:
        return false;
      case EarlyEnd::invalid:
        return pauses_explain_loss();
      case EarlyEnd::lost:
        break;
    }
    bool lost = false;
    for_each_receiver([&](const Receiver& receiver) { lost = lost || receiver.lost_too_many(); });
    return lost;
  }

  /// Returns whether streams have certainly lost more frames than they may, but not more than left in bursts after the
  /// tester's pauses, and none since a while. A gateway that is too slow goes on to lose frames.
  [[nodiscard]] bool pauses_explain_loss() const {
    std::uint64_t lost = 0;
    for_each_receiver([&](const Receiver& receiver) { lost += receiver.settled_loss(); });
    std::uint64_t in_bursts = 0;
    for_each_sender([&](const Sender& sender) { in_bursts += sender.due_in_pauses(); });
    return lost > 0 && lost <= in_bursts;
  }

  /// Ends all streams, and waits until their senders have noticed.
  void halt_senders() const {
    for_each_sender([](Sender& sender) { sender.halt(); });
    const std::uint64_t latest = now_ticks() + resources_.clock.ticks(kNotice_s);
    while (!all_sent() && now_ticks() < latest) std::this_thread::sleep_for(kReadyInterval);
  }

  /// Returns whether every frame of every stream has arrived. Receivers count duplicates apart; a duplicate arrives in
  /// the queue of its original, because both have the same four-tuple.
  [[nodiscard]] bool all_arrived(bool early) const {
    const TrialProgress now = progress();
    return now.received >= (early ? now.sent : now.planned);
  }

  [[nodiscard]] std::uint64_t senders_give_up_at() const {
    std::uint64_t last = start_;
    for_each_sender([&](const Sender& sender) { last = std::max(last, sender.gives_up_at()); });
    return last;
  }

  /// Returns when the last frame is due.
  [[nodiscard]] std::uint64_t schedules_end() const {
    std::uint64_t last = start_;
    for_each_sender([&](const Sender& sender) { last = std::max(last, sender.schedule().end()); });
    return last;
  }

  /// Returns how far away `moment` is, and at least 1 ms: the longer what was expected then is late, the less often it
  /// has to be looked for.
  [[nodiscard]] std::chrono::milliseconds distance_to(std::uint64_t moment) const {
    const std::uint64_t now = now_ticks();
    const double distance_s = resources_.clock.seconds(moment > now ? moment - now : now - moment);
    return std::chrono::milliseconds(1 + static_cast<std::int64_t>(1000 * distance_s));
  }

  void postpone(std::uint64_t ticks) {
    start_ += ticks;
    for (const auto& worker : workers_) {
      for (const auto& sender : worker.senders) sender->postpone(ticks);
      for (const auto& receiver : worker.receivers) receiver.task->postpone(ticks);
    }
  }

  [[nodiscard]] TrialProgress progress() const {
    TrialProgress progress;
    const std::uint64_t now = now_ticks();
    progress.elapsed_s = now > start_ ? resources_.clock.seconds(now - start_) : 0;
    for (const StreamSpec& stream : spec_.streams) progress.planned += stream.frames;
    for_each_sender([&](const Sender& sender) { progress.sent += sender.sent_so_far(); });
    for (const auto& worker : workers_) {
      for (const auto& receiver : worker.receivers) progress.received += receiver.task->received_so_far();
    }
    return progress;
  }

  /// Calls `use` with the number of each stream that makes connections.
  template <class Use>
  void for_each_phase1(const Use& use) const {
    for (std::size_t i = 0; spec_.phase1 && i < spec_.streams.size(); ++i) {
      if (!spec_.is_prompt(spec_.streams[i])) use(i);
    }
  }

  /// Returns the connections that a stream of phase 1 makes.
  Connections& learned(std::size_t stream) { return connections_[spec_.streams[stream].pair]; }

  TrialReport report(const PortWatch& ports, const std::optional<std::string>& suspended, bool aborted, bool early) {
    TrialReport report = collect_report(spec_, resources_.clock, start_, workers_, ports, early);
    report.run_id = run_id_;
    report.began = start_;
    report.suspended = suspended;
    report.aborted = aborted;
    for_each_phase1([&](std::size_t i) {
      end_connections(report.streams[i].received, learned(i));
      report.established += learned(i).established;
      // Each pair has public addresses of its own.
      const auto sources = sources_of(learned(i), spec_.list_ports);
      report.sources = i == 0 ? sources : joined(report.sources, sources);
    });
    judge(spec_, resources_.clock, report);
    for (std::size_t i = 0; report.verdict == Verdict::fail && i < spec_.streams.size(); ++i) {
      if (spec_.streams[i].queries) continue;  // which have other four-tuples than its flows
      StreamReport& stream = report.streams[i];
      stream.lost_flows = lost_flows_of(spec_, connections_[spec_.streams[i].pair], i, stream.lost_sample);
    }
    return report;
  }

  const TrialSpec& spec_;
  const TrialResources& resources_;
  std::span<Connections> connections_;
  std::uint16_t run_id_ = next_run_id();
  std::uint64_t start_ = 0;
  std::vector<Worker> workers_;
  WorkerSignals signals_;
};

}  // namespace

TrialReport run_trial(const TrialSpec& spec, const TrialResources& resources, std::span<Connections> connections,
                      const std::function<bool(const TrialProgress&)>& keep_going) {
  auto trial = std::make_unique<TrialRun>(spec, resources, connections);
  try {
    return trial->run(keep_going);
  } catch (const WorkerStuck&) {
    // The stuck worker still uses the trial, which must therefore never be destroyed.
    static std::atomic<TrialRun*> used_by_stuck_worker;
    used_by_stuck_worker = trial.release();
    throw;
  }
}

}  // namespace natxy
