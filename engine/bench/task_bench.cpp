// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_launch.h>
#include <rte_ring.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "flow/cycle.hpp"
#include "flow/tuple_space.hpp"
#include "port/eal.hpp"
#include "port/port.hpp"
#include "trial/receiver.hpp"
#include "trial/sender.hpp"
#include "trial/worker.hpp"

// What cores can send, answer or receive when nothing but the engine's own tasks limits them: the very tasks that a
// trial runs, on a port that costs next to nothing or on one that is named. Prints one line of JSON: frames per second.
namespace natxy {
namespace {

constexpr std::uint64_t kManyFrames = kMask48;
constexpr double kUnreachable_fps = 1e9;
constexpr double kLongest_s = 3600;
constexpr double kBeforeStart_s = 0.01;
constexpr std::uint16_t kRunId = 1;
constexpr const char* kNowhere = "net_null0,no-rx=1";
constexpr MacAddress kMac = {2, 0, 0, 0, 0, 1};

/// Seconds that this thread has had a core: on a shared machine others take it away now and then.
double own_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Clock the_clock() { return Clock{rte_get_tsc_hz()}; }

/// Which fields of the four-tuple vary from frame to frame.
struct Variation {
  bool addresses = false;
  bool ports = false;
};

template <Family F>
TupleSpace<F> space_of(const Variation& variation) {
  const auto address = [&](Address<F> base) {
    AddressField<F> field{base, 0, 0, {}};
    if (variation.addresses) field = {base, F == Family::ipv6 ? 16U : 0U, 16, {2, 65533, Order::pseudorandom}};
    return field;
  };
  const auto port = [&](std::uint32_t min, std::uint32_t max) {
    return FieldRange{min, variation.ports ? max : min, Order::pseudorandom};
  };
  // Addresses and ports together would be more tuples than can be enumerated.
  const std::uint32_t last_port = variation.addresses ? 1024 + 255 : 65535;
  return TupleSpace<F>({address(0xC6120000), address(0x0A000000), port(1, 1), port(1024, last_port)}, 1);
}

template <Family F>
FrameTemplate<F> smallest_template() {
  return FrameTemplate<F>({smallest_frame(F), 64, false, kMac, kMac, 0, kRunId});
}

/// On what senders run, and for how long.
struct Bed {
  double seconds = 0;
  std::vector<unsigned> workers;  // DPDK's ids
  std::string device;             // empty: one that throws away what it is given
  std::optional<unsigned> drain;  // DPDK's id of who fetches what the device hands back
};

/// Some drivers connect to their other side after they are opened.
void wait_for_link(const Port& port) {
  for (int tries = 0; tries < 500 && !port.link_up(); ++tries) rte_delay_us_sleep(10'000);
}

Sender::Setup setup_of(const Schedule& schedule, Series slice = {0, 1}) {
  const Clock clock = the_clock();
  return {{0},
          Turns(schedule.frames(), 0),
          schedule.start(),
          schedule,
          slice,
          schedule.start() + clock.ticks(kLongest_s),
          clock.hz(),
          clock.hz()};
}

/// A trial's worker, and how long it had its core.
struct TimedWorker {
  Worker worker;
  double seconds = 0;

  static int run(void* self) {
    auto& timed = *static_cast<TimedWorker*>(self);
    const double before = own_seconds();
    Worker::run(&timed.worker);
    timed.seconds = own_seconds() - before;
    return 0;
  }
};

/// Fetches what comes back on the senders' port, on a core of its own.
struct Drain {
  const Port& port;
  const std::atomic<bool>& stop;

  static int run(void* self) {
    const auto& drain = *static_cast<Drain*>(self);
    std::array<rte_mbuf*, kBurst> frames;
    while (!drain.stop) {
      const std::size_t count = drain.port.receive(0, frames);
      rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
    }
    return 0;
  }
};

/// Of all workers together, each with a queue of the port and its share of the frames.
template <Family F, class MakeFlows>
double send_fps(const Bed& bed, const MakeFlows& make_flows) {
  PortOptions options;
  options.side = Side::left;
  options.device = bed.device.empty() ? kNowhere : bed.device;
  options.medium = Medium::loop;
  options.queues = static_cast<unsigned>(bed.workers.size());
  const Port port(options);
  wait_for_link(port);
  std::atomic<bool> stop = false;
  const Schedule schedule(now_ticks(), kManyFrames, kUnreachable_fps, the_clock().hz());
  std::vector<TimedWorker> workers(bed.workers.size());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    Worker& worker = workers[i].worker;
    worker.stop = &stop;
    worker.first_in_line = true;
    worker.senders.push_back(std::make_unique<Sender>(
        port, static_cast<std::uint16_t>(i), std::make_unique<StreamFrames<F>>(smallest_template<F>(), make_flows()),
        setup_of(schedule, {i, workers.size()})));
  }
  Drain drain{port, stop};
  if (bed.drain) rte_eal_remote_launch(Drain::run, &drain, *bed.drain);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    rte_eal_remote_launch(TimedWorker::run, &workers[i], bed.workers[i]);
  }
  rte_delay_us_sleep(static_cast<unsigned>(1e6 * bed.seconds));
  stop = true;
  rte_eal_mp_wait_lcore();
  double fps = 0;
  for (const TimedWorker& timed : workers) {
    fps += static_cast<double>(timed.worker.senders.front()->sent_so_far()) / timed.seconds;
  }
  return fps;
}

template <Family F>
double send(const Variation& variation, bool enumerated, const Bed& bed) {
  const auto space = space_of<F>(variation);
  if (enumerated) return send_fps<F>(bed, [&] { return std::make_unique<EnumeratedFlows<F>>(space); });
  return send_fps<F>(bed, [&] { return std::make_unique<RandomFlows<F>>(space); });
}

/// With connections 0 to `connections` - 1 of `space`.
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
double respond(std::uint64_t connections, const Bed& bed) {
  const auto table = filled_table(space_of<F>({true, true}), connections);
  const Cycle cycle(connections, Order::pseudorandom, 1);
  return send_fps<F>(bed, [&] { return std::make_unique<ReplyFlows<F>>(*table, cycle); });
}

/// Frames of one stream, handed over by a ring; only the receiver's own work is timed.
template <Family F>
double receive(std::unique_ptr<ArrivalCheck> check, const TupleSpace<F>& space, const Bed& bed) {
  constexpr unsigned kRound = 4096;
  rte_mempool* pool = rte_pktmbuf_pool_create("frames", 2 * kRound - 1, 256, 0, 2048, SOCKET_ID_ANY);
  rte_ring* ring = rte_ring_create("wire", 2 * kRound, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  rte_eth_from_rings("wire", &ring, 1, &ring, 1, 0);
  PortOptions options;
  options.side = Side::right;
  options.device = "net_ring_wire";
  options.medium = Medium::loop;
  const Port port(options);
  const Neighbors nobody;
  const Clock clock = the_clock();
  const auto frame = smallest_template<F>();
  std::vector<Receiver::Stream> streams;
  streams.push_back({true, F, kManyFrames, kSignatureBytes, std::nullopt, false, std::move(check)});
  Receiver receiver(port, 0, nobody, kRunId, std::move(streams), now_ticks(), clock);

  EnumeratedFlows<F> flows(space);
  std::uint64_t sequence = 0;
  double busy = 0;
  std::vector<rte_mbuf*> round(kRound);
  while (busy < bed.seconds) {
    rte_pktmbuf_alloc_bulk(pool, round.data(), kRound);
    for (std::size_t made = 0; made < kRound; made += kBurst) {
      const Series sequences{sequence + made, 1};
      TupleLanes<F> tuples;
      flows.fill(sequences, kBurst, tuples);
      std::array<std::uint8_t*, kBurst> frames;
      for (std::size_t i = 0; i < kBurst; ++i) {
        rte_mbuf* buffer = round[made + i];
        frames[i] = rte_pktmbuf_mtod(buffer, std::uint8_t*);
        buffer->data_len = static_cast<std::uint16_t>(frame.length());
        buffer->pkt_len = buffer->data_len;
      }
      frame.write(frames, tuples, sequences, now_ticks());
    }
    sequence += kRound;
    rte_ring_enqueue_bulk(ring, reinterpret_cast<void**>(round.data()), kRound, nullptr);
    const double before = own_seconds();
    while (receiver.received_so_far() < sequence) receiver.poll();
    busy += own_seconds() - before;
  }
  return static_cast<double>(receiver.received_so_far()) / busy;
}

/// Phase 1's receiver, which also fills its state table. The table is as large as what is received here, so that every
/// write goes to memory not touched lately.
template <Family F>
class RecordAround final : public ArrivalCheck {
 public:
  explicit RecordAround(StateTable<F>& table) : table_{table} {}
  void accept(std::span<const Arrival> arrivals, Lanes<bool>& accepted) override {
    std::uint64_t entry = arrivals.front().sequence % table_.size();
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      accepted[i] = true;
      table_.record(entry, arrivals[i].frame->tuple<F>());
      if (++entry == table_.size()) entry = 0;
    }
  }

 private:
  StateTable<F>& table_;
};

template <Family F>
double learn(std::uint64_t connections, const Bed& bed) {
  const auto space = space_of<F>({true, true});
  const auto table = filled_table(space, connections);
  return receive<F>(std::make_unique<RecordAround<F>>(*table), space, bed);
}

using Case = std::function<std::string(const Bed&)>;

template <Family F>
void add_cases(std::map<std::string, Case>& cases, const std::string& family) {
  const auto add = [&](const std::string& what, const std::function<double(const Bed&)>& run) {
    cases.emplace(what + "-" + family, [run](const Bed& bed) { return fmt::format("\"fps\": {:.0f}", run(bed)); });
  };
  add("send-fixed", [](const Bed& bed) { return send<F>({false, false}, false, bed); });
  add("send-ports", [](const Bed& bed) { return send<F>({false, true}, false, bed); });
  add("send-addresses-ports", [](const Bed& bed) { return send<F>({true, true}, false, bed); });
  add("send-enumerated", [](const Bed& bed) { return send<F>({true, true}, true, bed); });
  add("respond-4M", [](const Bed& bed) { return respond<F>(4'000'000, bed); });
  add("respond-100M", [](const Bed& bed) { return respond<F>(100'000'000, bed); });
  add("receive", [](const Bed& bed) { return receive<F>(nullptr, space_of<F>({true, true}), bed); });
  add("receive-learn-4M", [](const Bed& bed) { return learn<F>(4'000'000, bed); });
}

/// When frames left after they were due, by the engine's way of sending.
Histogram paced(const Schedule& schedule, const Port& port, std::unique_ptr<FrameSource> frames) {
  Sender sender(port, 0, std::move(frames), setup_of(schedule));
  while (!sender.done()) sender.poll();
  std::array<StreamReport, 1> reports;
  sender.report(reports);
  return reports.front().pacing.lateness;
}

/// The same by the simplest way: each frame is made, waited for until it is due and sent alone.
Histogram spun(const Schedule& schedule, const Port& port, std::unique_ptr<FrameSource> frames) {
  Histogram lateness;
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
  return lateness;
}

using Pacing = Histogram (*)(const Schedule&, const Port&, std::unique_ptr<FrameSource>);

std::string lateness_ns(Pacing pacing, double rate_fps, const Bed& bed) {
  PortOptions options;
  options.device = bed.device.empty() ? kNowhere : bed.device;
  options.medium = Medium::loop;
  const Port port(options);
  const Clock clock = the_clock();
  auto frames = std::make_unique<StreamFrames<Family::ipv4>>(
      smallest_template<Family::ipv4>(),
      std::make_unique<RandomFlows<Family::ipv4>>(space_of<Family::ipv4>({true, true})));
  const Schedule schedule(now_ticks() + clock.ticks(kBeforeStart_s), static_cast<std::uint64_t>(rate_fps * bed.seconds),
                          rate_fps, clock.hz());
  const Histogram lateness = pacing(schedule, port, std::move(frames));
  const auto at = [&](double fraction) { return clock.nanoseconds(lateness.percentile(fraction)); };
  return fmt::format(R"("median_ns": {}, "p99_ns": {}, "p999_ns": {}, "max_ns": {})", at(0.5), at(0.99), at(0.999),
                     clock.nanoseconds(lateness.max()));
}

void add_pacing_cases(std::map<std::string, Case>& cases) {
  const auto add = [&](const std::string& rate, double rate_fps) {
    cases.emplace("paced-" + rate, [rate_fps](const Bed& bed) { return lateness_ns(paced, rate_fps, bed); });
    cases.emplace("spun-" + rate, [rate_fps](const Bed& bed) { return lateness_ns(spun, rate_fps, bed); });
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
    fmt::print(stderr, "the last CPU fetches what the device hands back, as net_ring does\n");
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
  fmt::print("{{\"name\": \"{}\", {}}}\n", chosen->first, chosen->second(bed));
  return 0;
}
