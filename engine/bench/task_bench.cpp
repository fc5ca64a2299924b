// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "flow/cycle.hpp"
#include "flow/tuple_space.hpp"
#include "port/eal.hpp"
#include "port/port.hpp"
#include "trial/receiver.hpp"
#include "trial/sender.hpp"

// What one core can send, answer or receive when nothing but the engine's own tasks limits it: the very tasks that a
// trial runs, on a port that costs next to nothing. Prints one line of JSON: frames per second.
namespace natxy {
namespace {

constexpr std::uint64_t kManyFrames = kMask48;
constexpr double kUnreachable_fps = 1e9;
constexpr double kLongest_s = 3600;
constexpr std::uint16_t kRunId = 1;
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

template <Family F>
double send_fps(std::unique_ptr<FlowSource<F>> flows, double seconds) {
  PortOptions options;
  options.side = Side::left;
  options.device = "net_null0,no-rx=1";
  options.medium = Medium::loop;
  const Port port(options);
  const Clock clock = the_clock();
  const std::uint64_t start = now_ticks();
  const Schedule schedule(start, kManyFrames, kUnreachable_fps, clock.hz());
  Sender sender(
      port, 0, std::make_unique<StreamFrames<F>>(smallest_template<F>(), std::move(flows)),
      {{0}, Turns(kManyFrames, 0), start, schedule, {0, 1}, start + clock.ticks(kLongest_s), clock.hz(), clock.hz()});
  const double before = own_seconds();
  double taken = 0;
  while (taken < seconds) {
    for (int i = 0; i < 10'000; ++i) sender.poll();
    taken = own_seconds() - before;
  }
  return static_cast<double>(sender.sent_so_far()) / taken;
}

template <Family F>
double send(const Variation& variation, bool enumerated, double seconds) {
  const auto space = space_of<F>(variation);
  if (enumerated) return send_fps<F>(std::make_unique<EnumeratedFlows<F>>(space), seconds);
  return send_fps<F>(std::make_unique<RandomFlows<F>>(space), seconds);
}

/// With connections 0 to `connections` - 1 of `space`.
template <Family F>
std::unique_ptr<StateTable<F>> filled_table(const TupleSpace<F>& space, std::uint64_t connections) {
  auto table = std::make_unique<StateTable<F>>();
  table->reset(connections);
  for (std::uint64_t i = 0; i < connections; ++i) table->record(i, space.at(i));
  return table;
}

template <Family F>
double respond(std::uint64_t connections, double seconds) {
  const auto table = filled_table(space_of<F>({true, true}), connections);
  const Cycle cycle(connections, Order::pseudorandom, 1);
  return send_fps<F>(std::make_unique<ReplyFlows<F>>(*table, cycle), seconds);
}

/// Frames of one stream, handed over by a ring; only the receiver's own work is timed.
template <Family F>
double receive(std::unique_ptr<ArrivalCheck> check, const TupleSpace<F>& space, double seconds) {
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
  while (busy < seconds) {
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
  bool accept(std::uint64_t sequence, const Classified& frame) override {
    table_.record(sequence % table_.size(), frame.tuple<F>());
    return true;
  }

 private:
  StateTable<F>& table_;
};

template <Family F>
double learn(std::uint64_t connections, double seconds) {
  const auto space = space_of<F>({true, true});
  const auto table = filled_table(space, connections);
  return receive<F>(std::make_unique<RecordAround<F>>(*table), space, seconds);
}

using Case = std::function<double(double seconds)>;

template <Family F>
void add_cases(std::map<std::string, Case>& cases, const std::string& family) {
  const auto add = [&](const std::string& what, Case run) { cases.emplace(what + "-" + family, std::move(run)); };
  add("send-fixed", [](double s) { return send<F>({false, false}, false, s); });
  add("send-ports", [](double s) { return send<F>({false, true}, false, s); });
  add("send-addresses-ports", [](double s) { return send<F>({true, true}, false, s); });
  add("send-enumerated", [](double s) { return send<F>({true, true}, true, s); });
  add("respond-4M", [](double s) { return respond<F>(4'000'000, s); });
  add("respond-100M", [](double s) { return respond<F>(100'000'000, s); });
  add("receive", [](double s) { return receive<F>(nullptr, space_of<F>({true, true}), s); });
  add("receive-learn-4M", [](double s) { return learn<F>(4'000'000, s); });
}

}  // namespace
}  // namespace natxy

int main(int argc, char** argv) {
  std::map<std::string, natxy::Case> cases;
  natxy::add_cases<natxy::Family::ipv4>(cases, "ipv4");
  natxy::add_cases<natxy::Family::ipv6>(cases, "ipv6");
  double seconds = 0;
  const std::string_view given = argc == 4 ? argv[3] : "";
  const bool is_number =
      std::from_chars(given.data(), given.data() + given.size(), seconds).ec == std::errc{} && seconds > 0;
  const auto chosen = argc == 4 ? cases.find(argv[1]) : cases.end();
  if (chosen == cases.end() || !is_number) {
    fmt::print(stderr, "usage: task_bench CASE CPU SECONDS\n");
    for (const auto& [name, run] : cases) fmt::print(stderr, "  {}\n", name);
    return 2;
  }
  natxy::EalOptions options;
  options.main_core = static_cast<unsigned>(std::stoul(argv[2]));
  const natxy::Eal eal(options);
  fmt::print("{{\"name\": \"{}\", \"fps\": {:.0f}}}\n", chosen->first, chosen->second(seconds));
  return 0;
}
