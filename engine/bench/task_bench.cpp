// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>
#include <rte_version.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bench/lives.hpp"
#include "bench/task_bed.hpp"
#include "flow/cycle.hpp"
#include "port/eal.hpp"
#include "trial/receiver.hpp"
#include "version.hpp"

// Measures how many frames per second cores can send, answer or receive if only the engine's tasks limit them. It runs
// the tasks of a trial on a given port, or on one that costs next to nothing, and prints one line of JSON.
namespace natxy {
namespace {

/// Fetches the frames that the senders' port loops back, on a core of its own.
struct Drain {
  const Port& port;
  const std::atomic<bool>& stop;

  void operator()() const {
    std::array<rte_mbuf*, kBurst> frames;
    while (!stop) {
      const std::size_t count = port.receive(0, frames);
      rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
    }
  }
};

std::string speed(std::uint64_t frames, double fps) {
  return fmt::format(R"("frames": {}, "fps": {:.0f})", frames, fps);
}

/// Measures the rate of all workers together. Each has a queue of the port and its share of the frames.
template <Family F, class MakeFlows>
std::string send_frames(const Bed& bed, const MakeFlows& make_flows, const Shape& shape = {}) {
  PortOptions options;
  options.side = Side::left;
  options.device = bed.device.empty() ? kNowhere : bed.device;
  options.medium = Medium::loop;
  options.queues = static_cast<unsigned>(bed.workers.size());
  const Port port(options);
  wait_for_link(port);
  WorkerSignals signals{.begin = true};
  const Schedule schedule(now_ticks(), kManyFrames, kUnreachable_fps, the_clock().hz());
  std::vector<TimedWorker> workers;
  workers.reserve(bed.workers.size());
  for (std::size_t i = 0; i < bed.workers.size(); ++i) {
    workers.emplace_back(
        std::make_unique<Sender>(port, static_cast<std::uint16_t>(i), frames_of<F>(shape, make_flows()),
                                 setup_of(schedule, {i, bed.workers.size()})),
        signals);
  }
  Drain drain{port, signals.stop};
  if (bed.drain) launch(drain, *bed.drain);
  for (std::size_t i = 0; i < workers.size(); ++i) launch(workers[i], bed.workers[i]);
  rte_delay_us_sleep(static_cast<unsigned>(1e6 * bed.seconds));
  signals.stop = true;
  rte_eal_mp_wait_lcore();
  std::uint64_t frames = 0;
  double fps = 0;
  for (const TimedWorker& timed : workers) {
    frames += timed.sender().sent_so_far();
    fps += static_cast<double>(timed.sender().sent_so_far()) / timed.seconds;
  }
  return speed(frames, fps);
}

template <Family F>
std::string send(const Variation& variation, bool enumerated, const Bed& bed, const Shape& shape = {}) {
  const auto space = space_of<F>(variation);
  if (enumerated)
    return send_frames<F>(
        bed, [&] { return std::make_unique<EnumeratedFlows<F>>(space); }, shape);
  return send_frames<F>(
      bed, [&] { return std::make_unique<RandomFlows<F>>(space); }, shape);
}

/// Makes a state table of the first `connections` tuples of `space`.
template <Family F>
std::unique_ptr<StateTable<F>> filled_table(const TupleSpace<F>& space, std::uint64_t connections) {
  auto table = std::make_unique<StateTable<F>>();
  table->reset(connections);
  EnumeratedFlows<F> flows(space);
  TupleLanes<F> tuples;
  for (std::uint64_t first = 0; first < connections; first += kBurst) {
    const std::uint64_t count = std::min<std::uint64_t>(kBurst, connections - first);
    flows.fill({first, 1}, count, tuples);
    for (std::uint64_t i = 0; i < count; ++i) table->record(first + i, tuples.get(i));
  }
  return table;
}

template <Family F>
std::string respond(std::uint64_t connections, const Bed& bed, const Shape& shape = {}) {
  const auto table = filled_table(space_of<F>({true, true}), connections);
  const Cycle cycle(connections, Order::pseudorandom, 1);
  return send_frames<F>(
      bed, [&] { return std::make_unique<ReplyFlows<F>>(*table, cycle); }, shape);
}

/// Measures the rate at which a receiver processes the frames of one stream, fed through a ring. Only the receiver is
/// timed.
template <Family F>
std::string receive(std::unique_ptr<ArrivalCheck> check, const TupleSpace<F>& space, const Bed& bed,
                    const Shape& shape = {}) {
  constexpr unsigned kRound = 2048;  // the size of a port's queue
  rte_ring* ring = rte_ring_create("wire", 2 * kRound, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  rte_eth_from_rings("wire", &ring, 1, &ring, 1, 0);
  PortOptions options;
  options.side = Side::right;
  options.device = "net_ring_wire";
  options.medium = Medium::loop;
  const Port port(options);
  const Neighbors nobody;
  const Clock clock = the_clock();
  const auto frames = frames_of<F>(shape, std::make_unique<EnumeratedFlows<F>>(space));
  std::vector<std::size_t> payloads;
  const SizeCycle sizes = shape.cycle(F);
  for (std::size_t i = 0; i < std::max<std::size_t>(1, shape.sizes.size()); ++i) {
    payloads.push_back(layout_of(shape.form, F).payload_bytes(sizes.of(i)));
  }
  std::vector<Receiver::Stream> streams;
  streams.push_back({.expected = true,
                     .form = shape.form,
                     .family = F,
                     .frames = kManyFrames,
                     .payloads = SizeCycle(payloads),
                     .check = std::move(check),
                     .softwire = shape.softwire,
                     .mapping = shape.mapping});
  const std::uint64_t now = now_ticks();
  Receiver receiver(port, std::array{Receiver::Source{0}}, false, nobody, kRunId, std::move(streams),
                    {now, now + clock.ticks(kLongest_s)}, clock);

  std::uint64_t sequence = 0;
  double busy = 0;
  std::vector<rte_mbuf*> round(kRound);
  auto work = [&] {
    while (busy < bed.seconds) {
      while (!port.allocate(round, frames->length())) continue;
      for (std::size_t made = 0; made < kRound; made += kBurst) {
        frames->write(std::span(round).subspan(made, kBurst), {sequence + made, 1});
      }
      sequence += kRound;
      rte_ring_enqueue_bulk(ring, reinterpret_cast<void**>(round.data()), kRound, nullptr);
      const double before = own_seconds();
      while (receiver.received_so_far() < sequence) receiver.poll();
      busy += own_seconds() - before;
    }
  };
  launch(work, bed.workers.front());
  await(bed.workers.front(), bed.seconds);
  const std::uint64_t received = receiver.received_so_far();
  return speed(received, static_cast<double>(received) / busy);
}

/// Fills the state table as phase 1 does, but again and again. The table is so large that every write goes to memory
/// that is not in a cache.
template <Family F>
class RecordAround final : public ArrivalCheck {
 public:
  explicit RecordAround(StateTable<F>& table) : table_{table} {}
  void accept(const Arrivals& arrivals, Lanes<bool>& accepted) override {
    Lanes<std::uint64_t> entries;
    const auto used = std::span(entries).first(arrivals.size());
    wrap({arrivals.sequences.front(), 1}, table_.size(), used);
    record_arrivals(table_, std::span<const std::uint64_t>(used), arrivals);
    std::fill_n(accepted.begin(), arrivals.size(), true);
  }

 private:
  StateTable<F>& table_;
};

template <Family F>
std::string learn(std::uint64_t connections, const Bed& bed, const Shape& shape = {}) {
  const auto space = space_of<F>({true, true});
  const auto table = filled_table(space, connections);
  return receive<F>(std::make_unique<RecordAround<F>>(*table), space, bed, shape);
}

using Case = std::function<std::string(const Bed&)>;

template <Family F>
void add_cases(std::map<std::string, Case>& cases, const std::string& family) {
  const auto add = [&](const std::string& what, const Case& run) { cases.emplace(what + "-" + family, run); };
  add("send-fixed", [](const Bed& bed) { return send<F>({false, false}, false, bed); });
  add("send-ports", [](const Bed& bed) { return send<F>({false, true}, false, bed); });
  add("send-addresses-ports", [](const Bed& bed) { return send<F>({true, true}, false, bed); });
  add("send-enumerated", [](const Bed& bed) { return send<F>({true, true}, true, bed); });
  add("respond-4M", [](const Bed& bed) { return respond<F>(4'000'000, bed); });
  add("respond-100M", [](const Bed& bed) { return respond<F>(100'000'000, bed); });
  add("receive", [](const Bed& bed) { return receive<F>(nullptr, space_of<F>({true, true}), bed); });
  add("receive-learn-4M", [](const Bed& bed) { return learn<F>(4'000'000, bed); });
  add("lives-4M", [](const Bed& bed) { return live<F>(4'000'000, bed); });
  add("lives-100M", [](const Bed& bed) { return live<F>(100'000'000, bed); });
  const auto add_shape = [&](const std::string& what, const Shape& shape) {
    add("send-" + what, [shape](const Bed& bed) { return send<F>({true, true}, false, bed, shape); });
    add("receive-" + what, [shape](const Bed& bed) {
      return receive<F>(nullptr, space_of<F>({true, true}), bed, shape);
    });
  };
  // Seven small frames, four of medium size and a long one; beside them, frames of their mean size.
  add_shape("imix", {.form = Form::udp, .sizes = {100, 594, 100, 100, 594, 100, 1518, 100, 594, 100, 100, 594}});
  add_shape("383", {.form = Form::udp, .sizes = {383}});
  // Segments of TCP beside datagrams as long.
  add_shape("tcp", {.form = Form::tcp});
  add_shape("as-tcp", {.form = Form::udp, .sizes = {layout_of(Form::tcp, F).smallest_frame()}});
  if (F == Family::ipv6) add_shape("options", {.form = Form::both_options});
  if (F == Family::ipv4) {
    // A million subscribers behind one core; beside those of softwires, plain frames of the same size.
    const SubscriberRule subscribers = {.high = 0x2001'0002'0000'0000,
                                        .address_mask = 0xFFFF,
                                        .address_shift = 8,
                                        .psid_mask = 0xF,
                                        .psid_drop = 12,
                                        .psid_shift = 4,
                                        .identifier = true};
    add_shape("softwire", {.form = Form::softwire_from_edge, .softwire = {.core = 1, .subscribers = subscribers}});
    add_shape("104", {.form = Form::udp, .sizes = {104}});
    const Mapping mapping = {.subscribers = subscribers, .prefix = {.high = 0x2001'0002'00FF'0000, .shift = 24}};
    const Shape up = {.form = Form::map_from_edge, .mapping = mapping};
    const Shape down = {.form = Form::map_from_core, .mapping = mapping};
    add_shape("map", up);
    add_shape("map-from-core", down);
    add("respond-4M-map", [down](const Bed& bed) { return respond<F>(4'000'000, bed, down); });
    add("receive-learn-4M-map", [up](const Bed& bed) { return learn<F>(4'000'000, bed, up); });
  }
}

double seconds_of(const Schedule& schedule) {
  return kBeforeStart_s + the_clock().seconds(schedule.end() - schedule.start());
}

/// Measures the lateness of frames sent by the engine's sender.
Histogram paced(const Schedule& schedule, const Port& port, std::unique_ptr<FrameSource> frames, unsigned lcore) {
  WorkerSignals signals{.begin = true};
  TimedWorker worker(std::make_unique<Sender>(port, 0, std::move(frames), setup_of(schedule)), signals);
  launch(worker, lcore);
  rte_delay_us_sleep(static_cast<unsigned>(1e6 * seconds_of(schedule)));
  while (!worker.sender().done()) rte_delay_us_sleep(kLook_us);
  signals.stop = true;
  rte_eal_mp_wait_lcore();
  std::array<StreamReport, 1> reports;
  PauseMarks marks;
  worker.sender().report(reports, marks);
  return reports.front().pacing.lateness;
}

/// Measures the lateness of the simplest sender, which builds each frame, waits until it is due and sends it alone.
Histogram spun(const Schedule& schedule, const Port& port, std::unique_ptr<FrameSource> frames, unsigned lcore) {
  Histogram lateness;
  auto send_all = [&] {
    rte_mbuf* buffer = nullptr;
    for (std::uint64_t i = 0; i < schedule.frames(); ++i) {
      while (!port.allocate({&buffer, 1}, frames->length())) continue;
      frames->write({&buffer, 1}, {i, 1});
      const std::uint64_t due = schedule.due_at(i);
      std::uint64_t now = now_ticks();
      while (now < due) now = now_ticks();
      lateness.record(now - due);
      while (port.transmit(0, {&buffer, 1}) == 0) continue;
    }
  };
  launch(send_all, lcore);
  await(lcore, seconds_of(schedule));
  return lateness;
}

/// Measures the lateness of a loop that only reads the clock and sends nothing. No program on this core can be earlier.
Histogram seen(const Schedule& schedule, const Port& /*port*/, std::unique_ptr<FrameSource> /*frames*/,
               unsigned lcore) {
  Histogram lateness;
  auto see_all = [&] {
    for (std::uint64_t i = 0; i < schedule.frames(); ++i) {
      const std::uint64_t due = schedule.due_at(i);
      std::uint64_t now = now_ticks();
      while (now < due) now = now_ticks();
      lateness.record(now - due);
    }
  };
  launch(see_all, lcore);
  await(lcore, seconds_of(schedule));
  return lateness;
}

using Pacing = Histogram (*)(const Schedule&, const Port&, std::unique_ptr<FrameSource>, unsigned lcore);

std::string lateness_ns(Pacing pacing, double rate_fps, const Bed& bed) {
  PortOptions options;
  options.device = bed.device.empty() ? kNowhere : bed.device;
  options.medium = Medium::loop;
  const Port port(options);
  const Clock clock = the_clock();
  auto frames =
      frames_of<Family::ipv4>({}, std::make_unique<RandomFlows<Family::ipv4>>(space_of<Family::ipv4>({true, true})));
  const Schedule schedule(now_ticks() + clock.ticks(kBeforeStart_s), static_cast<std::uint64_t>(rate_fps * bed.seconds),
                          rate_fps, clock.hz());
  const Histogram lateness = pacing(schedule, port, std::move(frames), bed.workers.front());
  const auto at = [&](double fraction) { return clock.nanoseconds(lateness.percentile(fraction)); };
  return fmt::format(R"("median_ns": {}, "p99_ns": {}, "p999_ns": {}, "max_ns": {})", at(0.5), at(0.99), at(0.999),
                     clock.nanoseconds(lateness.max()));
}

void add_pacing_cases(std::map<std::string, Case>& cases) {
  const auto add = [&](const std::string& rate, double rate_fps) {
    cases.emplace("paced-" + rate, [rate_fps](const Bed& bed) { return lateness_ns(paced, rate_fps, bed); });
    cases.emplace("spun-" + rate, [rate_fps](const Bed& bed) { return lateness_ns(spun, rate_fps, bed); });
    cases.emplace("seen-" + rate, [rate_fps](const Bed& bed) { return lateness_ns(seen, rate_fps, bed); });
  };
  add("10k", 1e4);
  add("100k", 1e5);
  add("1M", 1e6);
}

}  // namespace
}  // namespace natxy

int main(int argc, char** argv) {
  std::map<std::string, natxy::Case> cases;
  natxy::add_cases<natxy::Family::ipv4>(cases, "ipv4");
  natxy::add_cases<natxy::Family::ipv6>(cases, "ipv6");
  natxy::add_pacing_cases(cases);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool complete = arguments.size() >= 3 && arguments.size() <= 5;
  natxy::Bed bed;
  if (complete) {
    const std::string& given = arguments[2];
    std::from_chars(given.data(), given.data() + given.size(), bed.seconds);
  }
  const auto chosen = complete ? cases.find(arguments[0]) : cases.end();
  if (chosen == cases.end() || bed.seconds <= 0) {
    fmt::print(stderr, "usage: task_bench CASE CPU[,CPU…] SECONDS [DEVICE [CPU]]\n");
    fmt::print(stderr, "the last CPU fetches frames that the device loops back, as net_ring does\n");
    for (const auto& [name, run] : cases) fmt::print(stderr, "  {}\n", name);
    return 2;
  }
  if (arguments.size() >= 4) bed.device = arguments[3];
  natxy::EalOptions options;
  std::istringstream cpus(arguments[1]);
  for (std::string cpu; std::getline(cpus, cpu, ',');) {
    options.worker_cores.push_back(static_cast<unsigned>(std::stoul(cpu)));
  }
  // While workers run, the main thread sleeps.
  options.main_core = options.worker_cores.front();
  if (arguments.size() == 5) options.worker_cores.push_back(static_cast<unsigned>(std::stoul(arguments[4])));
  const natxy::Eal eal(options);
  bed.workers = eal.workers();
  if (arguments.size() == 5) {
    bed.drain = bed.workers.back();
    bed.workers.pop_back();
  }
  fmt::print(R"({{"name": "{}", {}, "hugepages": {}, "dpdk": "{}", "compiler": "{}"}})", chosen->first,
             chosen->second(bed), eal.uses_hugepages(), rte_version(), natxy::kCompiler);
  fmt::print("\n");
  return 0;
}
