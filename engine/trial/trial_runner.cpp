// SPDX-License-Identifier: Apache-2.0
#include "trial/trial_runner.hpp"

#include <fmt/format.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "trial/verdict.hpp"
#include "trial/worker.hpp"

namespace natxy {

namespace {

// By the start all tasks are made and all workers poll; a task's books take some milliseconds to make.
constexpr double kStartDelay_s = 0.02;
constexpr double kStartDelayPerTask_s = 0.005;
constexpr double kGrace_s = 1.0;     // how long a sender may lag before it gives up,
constexpr double kGraceShare = 0.1;  // or this share of the trial, whichever is longer
constexpr auto kWatchInterval = std::chrono::milliseconds(10);
// How long a worker may take to notice that it is late, and to end once it is told to.
constexpr double kNotice_s = 0.3;
constexpr auto kStopInterval = std::chrono::milliseconds(1);
constexpr int kStopIntervals = 1300;

std::uint16_t next_run_id() {
  // A random first id: frames that an earlier engine left in the DUT must not pass for this one's.
  static auto id = static_cast<std::uint16_t>(std::random_device{}());
  return ++id;
}

/// Each stream and purpose has its own random sequence, all derived from the trial's one seed.
enum class Purpose : std::uint8_t { space, cycle };
std::uint64_t seed_of(std::uint64_t seed, Purpose purpose, std::size_t stream) {
  return random_word(seed, static_cast<std::uint64_t>(purpose) * 256 + stream);
}

/// Leaves out what follows the first `seconds`, as far as nothing happened then.
void trim(std::vector<std::uint64_t>& per_second, std::size_t seconds) {
  while (per_second.size() > seconds && per_second.back() == 0) per_second.pop_back();
}

template <Family F>
AddressField<F> field_of(const AnyAddressField& field) {
  AddressField<F> result{static_cast<Address<F>>(field.address.value), field.low_bit, field.bits, field.range, {}};
  for (const uint128 other : field.others) result.others.push_back(static_cast<Address<F>>(other));
  return result;
}

template <Family F>
TupleSpace<F> space_of(const FlowFields& fields, std::uint64_t seed) {
  return TupleSpace<F>({field_of<F>(fields.destination_address), field_of<F>(fields.source_address),
                        fields.destination_port, fields.source_port},
                       seed);
}

/// Calls `use` for the family that is known only at run time.
template <class Use>
void with_family(Family family, const Use& use) {
  if (family == Family::ipv4) {
    use.template operator()<Family::ipv4>();
  } else {
    use.template operator()<Family::ipv6>();
  }
}

class TrialRun {
 public:
  TrialRun(const TrialSpec& spec, const TrialSetting& setting, Connections& connections)
      : spec_{spec}, setting_{setting}, connections_{connections} {
    for (const StreamSpec& stream : spec_.streams) check(stream);
    if (spec_.learn) begin_connections();
    start_ = now_ticks() + setting_.clock.ticks(kStartDelay_s + kStartDelayPerTask_s * static_cast<double>(tasks()));
    workers_.resize(setting_.workers.size());
    for (auto& worker : workers_) {
      worker.stop = &stop_;
      worker.first_in_line = setting_.workers_apart;
    }
    for_each_queue_pair(
        [&](Worker& worker, std::size_t port, std::uint16_t queue) { add_senders(worker, port, queue); });
    const std::uint64_t end = senders_give_up_at() + setting_.clock.ticks(kNotice_s + spec_.drain_s);
    for_each_queue_pair(
        [&](Worker& worker, std::size_t port, std::uint16_t queue) { add_receiver(worker, port, queue, end); });
  }

  TrialRun(const TrialRun&) = delete;
  TrialRun& operator=(const TrialRun&) = delete;
  /// Also after an exception: the workers use what is about to go.
  ~TrialRun() {
    if (stop_workers()) std::terminate();
  }

  TrialReport run(const std::function<bool(const TrialProgress&)>& keep_going) {
    std::vector<Drops> drops_before;
    for (const auto& port : setting_.ports) drops_before.push_back({port->drops(), port->rejected()});
    std::vector<bool> fallen(setting_.ports.size());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (rte_eal_remote_launch(Worker::run, &workers_[i], setting_.workers[i]) != 0) {
        throw TrialError("a worker core is busy");
      }
    }
    bool going = true;
    const auto watch_until = [&](const auto& ended) {
      while (going && !ended()) {
        std::this_thread::sleep_for(kWatchInterval);
        for (std::size_t i = 0; i < fallen.size(); ++i) fallen[i] = fallen[i] || !setting_.ports[i]->link_up();
        going = keep_going(progress());
      }
    };
    const std::uint64_t given_up = senders_give_up_at() + setting_.clock.ticks(kNotice_s);
    watch_until([&] { return all_sent() || now_ticks() > given_up; });
    // From here on: a thread that was kept from its core has seen the end late, and has a drain all the same.
    const std::uint64_t drained = now_ticks() + setting_.clock.ticks(all_sent() ? spec_.drain_s : 0);
    watch_until([&] { return now_ticks() >= drained; });
    if (const auto stuck = stop_workers()) {
      throw WorkerStuck(
          fmt::format("the worker on core {} does not end its trial: it is stuck in the driver of a port, or was kept "
                      "from its core all the time; look at the ports' interfaces and at what else runs there",
                      rte_lcore_to_cpu_id(static_cast<int>(*stuck))));
    }
    return collect(drops_before, fallen, !going);
  }

 private:
  struct Drops {
    ReceiveDrops received;
    std::uint64_t rejected;
  };

  /// Receivers and senders, at the most.
  [[nodiscard]] std::size_t tasks() const {
    std::size_t pairs = 0;
    for (const auto& port : setting_.ports) pairs += port->options().queues;
    return pairs * (1 + spec_.streams.size());
  }

  [[noreturn]] static void refuse(const StreamSpec& stream, const std::string& why) {
    throw TrialError(fmt::format("stream {}: {}", stream.name, why));
  }

  /// Of the sender's side.
  [[nodiscard]] Family family_of(const StreamSpec& stream) const {
    switch (stream.kind) {
      case StreamKind::connections:
        return connections_.offered.family();
      case StreamKind::replies:
        return connections_.seen.family();
      case StreamKind::flows:
        break;
    }
    return stream.flows->source_address.address.family;
  }

  /// Of the receiver's side: another one behind a gateway that translates.
  [[nodiscard]] Family arrival_family_of(const StreamSpec& stream) const {
    switch (stream.kind) {
      case StreamKind::connections:
        return connections_.seen.family();
      case StreamKind::replies:
        return connections_.offered.family();
      case StreamKind::flows:
        break;
    }
    return stream.arrives_as.value_or(family_of(stream));
  }

  /// The DUT's; without one, in a loop, the other port is the next hop.
  [[nodiscard]] std::optional<MacAddress> destination_mac(Side source, Family family) const {
    if (const auto gateway = setting_.neighbors.gateway_mac(source, family)) return gateway;
    for (const auto& port : setting_.ports) {
      if (port->options().medium == Medium::loop && port->options().side == opposite(source)) return port->mac();
    }
    return std::nullopt;
  }

  void check(const StreamSpec& stream) const {
    for (const Side side : {Side::left, Side::right}) {
      if (std::ranges::none_of(setting_.ports, [&](const auto& port) { return port->options().side == side; })) {
        refuse(stream, "both ports have to be open; call ports.open first");
      }
    }
    if (stream.kind != StreamKind::flows && !connections_.complete()) {
      refuse(stream, fmt::format("phase 2 needs a complete phase 1; {} of {} connections are established",
                                 connections_.established, connections_.count));
    }
    const Family family = family_of(stream);
    if (stream.frame_size < smallest_frame(family)) {
      refuse(stream, fmt::format("a frame of {} bytes is too short; {} is the least for IPv{}", stream.frame_size,
                                 smallest_frame(family), static_cast<int>(family)));
    }
    for (const auto& port : setting_.ports) {
      const Family here = port->options().side == stream.source ? family : arrival_family_of(stream);
      const std::size_t size = stream.frame_size + ip_bytes(here) - ip_bytes(family);
      if (size - kFcsBytes > port->longest_frame()) {
        refuse(stream, fmt::format("a frame of {} bytes is longer than the {} that port {} takes; raise its `mtu`",
                                   size, port->longest_frame() + kFcsBytes, port->options().device));
      }
    }
    if (!destination_mac(stream.source, family)) {
      refuse(stream, "the DUT's MAC address is not known; call neighbors.resolve first");
    }
  }

  void begin_connections() {
    const StreamSpec& stream = spec_.streams.front();
    connections_.count = 0;  // whatever is thrown from here on
    const auto offer = [&]<Family F>() {
      const auto& space =
          connections_.offered.make<F>(space_of<F>(*stream.flows, seed_of(spec_.seed, Purpose::space, 0)));
      if (space.size() < stream.frames) {
        refuse(stream, fmt::format("{} connections asked for, but its flows make only {} four-tuples", stream.frames,
                                   space.size()));
      }
    };
    with_family(family_of(stream), offer);
    // The table's memory is there already: pages that the kernel had to find would hold the receiver up.
    with_family(arrival_family_of(stream),
                [&]<Family F>() { connections_.seen.keep_or_make<F>().reset(stream.frames); });
    connections_.count = stream.frames;
    connections_.initiator = stream;
  }

  /// A worker serves whole pairs of queues: what is received and what is sent on one share a core and need no lock.
  template <class Use>
  void for_each_queue_pair(Use use) {
    std::size_t pair = 0;
    for (std::size_t port = 0; port < setting_.ports.size(); ++port) {
      for (std::uint16_t queue = 0; queue < setting_.ports[port]->options().queues; ++queue, ++pair) {
        use(workers_[pair % workers_.size()], port, queue);
      }
    }
  }

  void add_senders(Worker& worker, std::size_t port_index, std::uint16_t queue) {
    const Port& port = *setting_.ports[port_index];
    for (std::size_t i = 0; i < spec_.streams.size(); ++i) {
      if (spec_.streams[i].source != port.options().side || spec_.streams[i].interleaved_with) continue;
      worker.senders.push_back(sender_of(i, port, queue));
    }
  }

  /// `end`: ticks when nothing is waited for any more.
  void add_receiver(Worker& worker, std::size_t port_index, std::uint16_t queue, std::uint64_t end) {
    const Port& port = *setting_.ports[port_index];
    std::vector<Receiver::Stream> arriving;
    for (std::size_t i = 0; i < spec_.streams.size(); ++i) {
      const StreamSpec& stream = spec_.streams[i];
      const bool expected = opposite(stream.source) == port.options().side;
      const std::size_t payload_bytes =
          stream.frame_size - kFcsBytes - kEthernetBytes - ip_bytes(family_of(stream)) - kUdpBytes;
      arriving.push_back({expected, arrival_family_of(stream), stream.frames, payload_bytes, stream.tagged, stream.ipdv,
                          expected ? check_of(i) : nullptr});
    }
    worker.receivers.push_back(
        {port_index, std::make_unique<Receiver>(port, queue, setting_.neighbors, run_id_, std::move(arriving),
                                                Receiver::Period{start_, end}, setting_.clock)});
  }

  [[nodiscard]] Cycle cycle_of(std::size_t stream) const {
    return {connections_.count, spec_.streams[stream].order, seed_of(spec_.seed, Purpose::cycle, stream)};
  }

  [[nodiscard]] std::unique_ptr<ArrivalCheck> check_of(std::size_t stream) const {
    return arrival_family_of(spec_.streams[stream]) == Family::ipv4 ? family_check_of<Family::ipv4>(stream)
                                                                    : family_check_of<Family::ipv6>(stream);
  }

  template <Family F>
  [[nodiscard]] std::unique_ptr<ArrivalCheck> family_check_of(std::size_t stream) const {
    if (spec_.learn) return std::make_unique<RecordConnection<F>>(*connections_.seen.of<F>());
    switch (spec_.streams[stream].kind) {
      case StreamKind::connections:
        return std::make_unique<SameConnection<F>>(*connections_.seen.of<F>(), cycle_of(stream));
      case StreamKind::replies:
        return std::make_unique<ReplyOfConnection<F>>(*connections_.offered.of<F>(), cycle_of(stream));
      case StreamKind::flows:
        break;
    }
    return nullptr;
  }

  template <Family F>
  [[nodiscard]] std::unique_ptr<FlowSource<F>> source_of(std::size_t stream) const {
    const StreamSpec& spec = spec_.streams[stream];
    switch (spec.kind) {
      case StreamKind::connections:
        return std::make_unique<ConnectionFlows<F>>(*connections_.offered.of<F>(), cycle_of(stream));
      case StreamKind::replies:
        return std::make_unique<ReplyFlows<F>>(*connections_.seen.of<F>(), cycle_of(stream));
      case StreamKind::flows:
        break;
    }
    const auto space = space_of<F>(*spec.flows, seed_of(spec_.seed, Purpose::space, stream));
    if (spec.selection == Selection::random) return std::make_unique<RandomFlows<F>>(space);
    return std::make_unique<EnumeratedFlows<F>>(space);
  }

  template <Family F>
  [[nodiscard]] std::unique_ptr<FrameSource> family_frames_of(std::size_t stream, const Port& port) const {
    const StreamSpec& spec = spec_.streams[stream];
    const FrameTemplate<F> frame({spec.frame_size, spec.ttl, spec.dont_fragment, port.mac(),
                                  *destination_mac(spec.source, F), static_cast<std::uint8_t>(stream), run_id_});
    return std::make_unique<StreamFrames<F>>(frame, source_of<F>(stream));
  }

  [[nodiscard]] std::unique_ptr<FrameSource> frames_of(std::size_t stream, const Port& port) const {
    return family_of(spec_.streams[stream]) == Family::ipv4 ? family_frames_of<Family::ipv4>(stream, port)
                                                            : family_frames_of<Family::ipv6>(stream, port);
  }

  /// Of a stream and of the one that takes turns with it.
  [[nodiscard]] std::unique_ptr<Sender> sender_of(std::size_t stream, const Port& port, std::uint16_t queue) const {
    const StreamSpec& spec = spec_.streams[stream];
    const auto found = std::ranges::find(spec_.streams, std::optional{stream}, &StreamSpec::interleaved_with);
    if (found == spec_.streams.end()) {
      return std::make_unique<Sender>(
          port, queue, frames_of(stream, port),
          setup_of({stream}, Turns(spec.frames, 0), spec.frames, spec.rate_fps, port, queue));
    }
    const auto second = static_cast<std::size_t>(found - spec_.streams.begin());
    const Turns turns(spec.frames, found->frames);
    return std::make_unique<Sender>(
        port, queue, std::make_unique<InterleavedFrames>(turns, frames_of(stream, port), frames_of(second, port)),
        setup_of({stream, second}, turns, spec.frames + found->frames, spec.rate_fps + found->rate_fps, port, queue));
  }

  /// For `count` frames at `rate_fps`; the rest is the first stream's.
  [[nodiscard]] Sender::Setup setup_of(const std::vector<std::size_t>& streams, const Turns& turns, std::uint64_t count,
                                       double rate_fps, const Port& port, std::uint16_t queue) const {
    const StreamSpec& spec = spec_.streams[streams.front()];
    const Clock& clock = setting_.clock;
    const Schedule schedule(start_ + clock.ticks(spec.start_s), count, rate_fps, clock.hz(), spec.burst);
    const double grace_s = std::max(kGrace_s, kGraceShare * static_cast<double>(count) / rate_fps);
    return {streams,
            turns,
            start_,
            schedule,
            {queue, port.options().queues},
            schedule.end() + clock.ticks(grace_s),
            clock.ticks(spec_.limits.max_pause_s),
            clock.ticks(kNotablePause_s),
            clock.hz()};
  }

  /// Returns one that doesn't stop, if any.
  std::optional<unsigned> stop_workers() {
    stop_ = true;
    // By intervals and not by the clock: while this whole process is stopped, no worker can be asked for more.
    int intervals = 0;
    for (const unsigned worker : setting_.workers) {
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

  /// After the workers have stopped, which an abort makes them do before they are done.
  [[nodiscard]] std::uint64_t sending_ended() const {
    const std::uint64_t now = now_ticks();
    std::uint64_t last = start_;
    for_each_sender([&](const Sender& sender) {
      last = std::max(last, sender.done() ? sender.finished_at() : std::min(now, sender.gives_up_at()));
    });
    return last;
  }

  [[nodiscard]] std::uint64_t senders_give_up_at() const {
    std::uint64_t last = start_;
    for_each_sender([&](const Sender& sender) { last = std::max(last, sender.gives_up_at()); });
    return last;
  }

  [[nodiscard]] TrialProgress progress() const {
    TrialProgress progress;
    const std::uint64_t now = now_ticks();
    progress.elapsed_s = now > start_ ? setting_.clock.seconds(now - start_) : 0;
    for (const StreamSpec& stream : spec_.streams) progress.planned += stream.frames;
    for_each_sender([&](const Sender& sender) { progress.sent += sender.sent_so_far(); });
    for (const auto& worker : workers_) {
      for (const auto& receiver : worker.receivers) progress.received += receiver.task->received_so_far();
    }
    return progress;
  }

  TrialReport collect(const std::vector<Drops>& before, const std::vector<bool>& fallen, bool aborted) {
    TrialReport report;
    report.run_id = run_id_;
    report.aborted = aborted;
    report.streams.resize(spec_.streams.size());
    for (std::size_t i = 0; i < setting_.ports.size(); ++i) {
      const Port& port = *setting_.ports[i];
      const ReceiveDrops after = port.drops();
      const ReceiveDrops& start = before[i].received;
      report.ports.push_back(
          {port.options().side,
           port.options().medium,
           {after.missed - start.missed, after.no_buffer - start.no_buffer, after.kernel - start.kernel},
           port.rejected() - before[i].rejected,
           port.link_up(),
           fallen[i],
           {}});
    }
    for (const Worker& worker : workers_) {
      for (const auto& receiver : worker.receivers) receiver.task->report(report, report.ports[receiver.port]);
      for (const auto& sender : worker.senders) sender->report(report.streams);
    }
    const Clock& clock = setting_.clock;
    const std::uint64_t ended = sending_ended();
    report.duration_s = clock.seconds(ended - start_);
    const auto seconds = static_cast<std::size_t>(report.duration_s + spec_.drain_s) + 1;
    for (std::size_t i = 0; i < spec_.streams.size(); ++i) {
      StreamReport& stream = report.streams[i];
      // The slot of the last frame counts, so that a stream sent on time has exactly its intended rate.
      const StreamSpec& spec = spec_.streams[i];
      const double sending_s = static_cast<double>(stream.sent) / spec.rate_fps + clock.seconds(stream.pacing.overrun);
      stream.offered_rate_fps = sending_s > 0 ? static_cast<double>(stream.sent) / sending_s : 0;
      trim(stream.sent_per_second, seconds);
      trim(stream.received_per_second, seconds);
    }
    if (spec_.learn) {
      connections_.established = report.streams.front().received;
      report.established = connections_.established;
    }
    judge(spec_, clock, report);
    return report;
  }

  const TrialSpec& spec_;
  const TrialSetting& setting_;
  Connections& connections_;
  std::uint16_t run_id_ = next_run_id();
  std::uint64_t start_ = 0;
  std::vector<Worker> workers_;
  std::atomic<bool> stop_ = false;
};

}  // namespace

TrialReport run_trial(const TrialSpec& spec, const TrialSetting& setting, Connections& connections,
                      const std::function<bool(const TrialProgress&)>& keep_going) {
  auto trial = std::make_unique<TrialRun>(spec, setting, connections);
  try {
    return trial->run(keep_going);
  } catch (const WorkerStuck&) {
    static std::atomic<TrialRun*> in_use_for_good;
    in_use_for_good = trial.release();
    throw;
  }
}

}  // namespace natxy
