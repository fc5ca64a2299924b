// SPDX-License-Identifier: Apache-2.0
#include "trial/trial_runner.hpp"

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/frame_template.hpp"
#include "packet/neighbor_messages.hpp"
#include "port/eal.hpp"

// Trials over rings, with a gateway of the test's own in between that treats frames as each test wants.
namespace natxy {
namespace {

const Eal& eal() {
  static const Eal instance([] {
    // The gateway between the rings is this thread: kept from its core for long, it would fill them up.
    static_cast<void>(setpriority(PRIO_PROCESS, 0, -20));
    EalOptions options;
    options.main_core = std::thread::hardware_concurrency() > 1 ? 1 : 0;
    options.worker_cores = {0, options.main_core};
    return options;
  }());
  return instance;
}

constexpr MacAddress kGatewayMac = {2, 0, 0, 0, 0, 0x11};

using Bytes = std::span<std::uint8_t>;

/// Recomputes the UDP checksum of an IPv4 frame that a test has rewritten.
void mend_udp_checksum(Bytes frame) {
  std::uint8_t* ip = frame.data() + kEthernetBytes;
  std::uint8_t* udp = ip + kIpv4Bytes;
  store_be16(ip + 10, 0);
  store_raw(ip + 10, ip_checksum(checksum_of(ip, kIpv4Bytes)));
  const std::size_t length = load_be16(udp + 4);
  store_be16(udp + 6, 0);
  store_raw(udp + 6, udp_checksum(checksum_of(ip + 12, 8) + __builtin_bswap16(kProtocolUdp) +
                                  __builtin_bswap16(static_cast<std::uint16_t>(length)) + checksum_of(udp, length)));
}

/// Two ports whose wires end in this object: what a port sends is given to `treat`, which says how often to pass it on.
class RingBed {
 public:
  explicit RingBed(unsigned queues = 1, unsigned workers = 1, Medium medium = Medium::loop) : workers_{workers} {
    eal();
    for (const Side side : {Side::left, Side::right}) {
      Wire& wire = wires_.at(index(side));
      const std::string name = (side == Side::left ? "left" : "right") + std::to_string(++serial_);
      for (unsigned queue = 0; queue < queues; ++queue) {
        const std::string ring = name + "_" + std::to_string(queue);
        wire.from_tester.push_back(
            rte_ring_create((ring + "_tx").c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
        wire.to_tester.push_back(
            rte_ring_create((ring + "_rx").c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
      }
      rte_eth_from_rings(name.c_str(), wire.to_tester.data(), queues, wire.from_tester.data(), queues, 0);
      PortOptions options;
      options.side = side;
      options.device = "net_ring_" + name;
      options.medium = medium;
      options.queues = queues;
      ports_.push_back(std::make_unique<Port>(options));
    }
    std::vector<LinkNeighbor> links;
    for (const Side side : {Side::left, Side::right}) {
      for (const char* prefix : {"198.18.0.", "2001:2::"}) {
        LinkNeighbor link;
        link.side = side;
        link.address = *parse_address(std::string{prefix} + "2");
        link.gateway = *parse_address(std::string{prefix} + "1");
        link.gateway_mac = kGatewayMac;
        links.push_back(link);
      }
    }
    neighbors_ = Neighbors(links);
  }

  RingBed(const RingBed&) = delete;
  RingBed& operator=(const RingBed&) = delete;
  ~RingBed() {
    // Frames that nobody fetched belong to pools: the gateway's, which outlives this, and the ports'.
    for_each_ring([](rte_ring* ring) {
      void* frame = nullptr;
      while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    });
    ports_.clear();
    for_each_ring([](rte_ring* ring) { rte_ring_free(ring); });
  }

  TrialReport run(const TrialSpec& spec) {
    TrialReport report =
        run_trial(spec, {ports_, neighbors_, std::span(eal().workers()).first(workers_), true, Clock{rte_get_tsc_hz()}},
                  connections, [this](const TrialProgress&) {
                    carry(Side::left);
                    carry(Side::right);
                    await_reception();
                    observe();
                    return keep_going;
                  });
    carry(Side::left);
    carry(Side::right);
    return report;
  }

  /// Puts a frame onto the wire towards the tester.
  void inject(Side towards, std::span<const std::uint8_t> bytes, std::size_t queue = 0) {
    rte_mbuf* copy = rte_pktmbuf_alloc(pool());
    if (copy == nullptr) throw std::runtime_error("the gateway has no buffers left");
    std::memcpy(rte_pktmbuf_append(copy, static_cast<std::uint16_t>(bytes.size())), bytes.data(), bytes.size());
    if (rte_ring_enqueue(wires_.at(index(towards)).to_tester.at(queue), copy) != 0) rte_pktmbuf_free(copy);
  }

  std::function<int(Side, Bytes)> treat = [](Side, Bytes) { return 1; };
  /// What becomes of a frame where it changes its length.
  std::function<std::vector<std::uint8_t>(Side, Bytes)> translate;
  std::vector<std::vector<std::uint8_t>> neighbor_answers;
  bool keep_going = true;
  bool carries = true;  // else the wires fill up
  std::function<void()> observe = [] {};
  Connections connections;

 private:
  struct Wire {
    std::vector<rte_ring*> from_tester;
    std::vector<rte_ring*> to_tester;
  };

  template <class Use>
  void for_each_ring(Use use) const {
    for (const Wire& wire : wires_) {
      std::ranges::for_each(wire.from_tester, use);
      std::ranges::for_each(wire.to_tester, use);
    }
  }

  static std::size_t index(Side side) { return static_cast<std::size_t>(side); }

  static rte_mempool* pool() {
    static rte_mempool* instance = rte_pktmbuf_pool_create("gateway", 32767, 0, 0, 2048, SOCKET_ID_ANY);
    return instance;
  }

  void carry(Side from) {
    if (!carries) return;
    const Wire& wire = wires_.at(index(from));
    for (std::size_t queue = 0; queue < wire.from_tester.size(); ++queue) {
      void* object = nullptr;
      while (rte_ring_dequeue(wire.from_tester[queue], &object) == 0) {
        auto* frame = static_cast<rte_mbuf*>(object);
        const Bytes bytes(rte_pktmbuf_mtod(frame, std::uint8_t*), frame->data_len);
        if (parse_neighbor_message(bytes)) {
          neighbor_answers.emplace_back(bytes.begin(), bytes.end());
        } else if (translate) {
          inject(opposite(from), translate(from, bytes), queue);
        } else {
          for (int copies = treat(from, bytes); copies > 0; --copies) inject(opposite(from), bytes, queue);
        }
        rte_pktmbuf_free(frame);
      }
    }
  }

  /// A tester whose cores have other work fetches frames late; no drain is long enough for that.
  void await_reception() const {
    const auto waits = [](rte_ring* ring) { return rte_ring_empty(ring) == 0; };
    for (const Wire& wire : wires_) {
      while (std::ranges::any_of(wire.to_tester, waits)) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  inline static int serial_ = 0;
  unsigned workers_;
  std::array<Wire, 2> wires_;
  std::vector<std::unique_ptr<Port>> ports_;
  Neighbors neighbors_;
};

FlowFields flows(Family family, std::uint32_t source_ports, std::uint32_t destination_ports) {
  const std::string prefix = family == Family::ipv4 ? "198.18.0." : "2001:2::";
  FlowFields fields;
  fields.source_address.address = *parse_address(prefix + "2");
  fields.destination_address.address = *parse_address(prefix + "3");
  fields.source_port = {10000, 10000 + source_ports - 1, Order::pseudorandom};
  fields.destination_port = {80, 80 + destination_ports - 1, Order::pseudorandom};
  return fields;
}

StreamSpec stream(const std::string& name, Side source, Family family, std::uint64_t frames) {
  StreamSpec spec;
  spec.name = name;
  spec.source = source;
  spec.frame_size = smallest_frame(family);
  spec.rate_fps = 20'000;
  spec.frames = frames;
  spec.flows = flows(family, 100, 100);
  return spec;
}

TrialSpec trial(std::vector<StreamSpec> streams) {
  TrialSpec spec;
  spec.streams = std::move(streams);
  spec.seed = 7;
  // A test's machine is busy, and the gateway waits for its core like everybody else: only what it does is of interest.
  spec.drain_s = 0.25;
  spec.limits = {1, 1, 10};
  return spec;
}

TrialSpec phase1(Family family, std::uint64_t connections) {
  StreamSpec initiator = stream("phase 1", Side::left, family, connections);
  initiator.selection = Selection::enumerate;
  TrialSpec spec = trial({initiator});
  spec.learn = true;
  return spec;
}

StreamSpec phase2(const std::string& name, Side source, StreamKind kind, Family family, std::uint64_t frames) {
  StreamSpec spec = stream(name, source, family, frames);
  spec.kind = kind;
  spec.flows.reset();
  return spec;
}

class Trials : public testing::TestWithParam<Family> {
 protected:
  RingBed bed;
};
INSTANTIATE_TEST_SUITE_P(BothFamilies, Trials, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& family) { return family.param == Family::ipv4 ? "IPv4" : "IPv6"; });

TEST_P(Trials, BothDirectionsArriveWhole) {
  const auto report = bed.run(
      trial({stream("forward", Side::left, GetParam(), 3000), stream("reverse", Side::right, GetParam(), 2000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  ASSERT_EQ(report.streams.size(), 2U);
  EXPECT_EQ(report.streams[0].received, 3000U);
  EXPECT_EQ(report.streams[1].received, 2000U);
  EXPECT_EQ(report.streams[0].delay.count(), 3000U);
  EXPECT_GT(report.streams[0].delay.min(), 0U);
}

TEST_P(Trials, ADuplicateDoesNotHideALoss) {
  int count = 0;
  bed.treat = [&](Side, Bytes) {
    ++count;
    return count == 10 ? 0 : count == 20 ? 2 : 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 1000)}));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.cause, Cause::loss);
  EXPECT_EQ(report.streams[0].received, 999U);
  EXPECT_EQ(report.streams[0].duplicate, 1U);
}

TEST_P(Trials, TaggedFramesTellTheirDelaysAndTheirLoss) {
  int count = 0;
  bed.treat = [&](Side, Bytes) { return ++count == 31 ? 0 : 1; };  // frame 30, the third tagged one
  StreamSpec spec = stream("forward", Side::left, GetParam(), 1000);
  spec.tagged = TaggedFrames{10, 10, 5};
  spec.ipdv = true;
  const auto report = bed.run(trial({spec}));
  ASSERT_EQ(report.streams[0].tagged_delays.size(), 5U);
  for (std::size_t tag = 0; tag < 5; ++tag) EXPECT_EQ(report.streams[0].tagged_delays[tag].has_value(), tag != 2);
  EXPECT_EQ(report.streams[0].ipdv.count(), 997U);
  EXPECT_EQ(report.streams[0].lost, (LostRange{30, 30}));
}

TEST_P(Trials, AStreamMayBeginLaterAndInBursts) {
  StreamSpec late = stream("late", Side::left, GetParam(), 640);
  late.start_s = 0.2;
  late.burst = 64;
  const auto report = bed.run(trial({stream("early", Side::right, GetParam(), 100), late}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_GT(report.duration_s, 0.2);
}

TEST_P(Trials, ASilenceIsMeasured) {
  // 20,000 frames a second: frames 1000 to 5999 are a quarter of a second.
  int count = 0;
  bed.treat = [&](Side, Bytes) {
    ++count;
    return count > 1000 && count <= 6000 ? 0 : 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 8000)}));
  const Clock clock{rte_get_tsc_hz()};
  // A gateway that waits for its core carries frames together, which shortens the silence; a tester that is late
  // lengthens it.
  EXPECT_GT(clock.seconds(report.streams[0].silence), 0.001);
  EXPECT_EQ(report.streams[0].lost, (LostRange{1000, 5999}));
}

TEST_P(Trials, ACorruptFrameIsNotReceived) {
  int count = 0;
  bed.treat = [&](Side, Bytes frame) {
    if (++count == 5) frame.back() ^= 1;
    return 1;
  };
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 100)}));
  EXPECT_EQ(report.streams[0].corrupt, 1U);
  EXPECT_EQ(report.streams[0].received, 99U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_P(Trials, PhaseOneFillsTheStateTableAndPhaseTwoUsesIt) {
  const auto first = bed.run(phase1(GetParam(), 5000));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  EXPECT_EQ(first.established, 5000U);
  const auto second = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, GetParam(), 7000),
                                     phase2("reverse", Side::right, StreamKind::replies, GetParam(), 7000)}));
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
  EXPECT_EQ(second.streams[0].misrouted + second.streams[1].misrouted, 0U);
}

TEST_P(Trials, PhaseTwoIsRefusedAfterAnIncompletePhaseOne) {
  int count = 0;
  bed.treat = [&](Side, Bytes) { return ++count == 3 ? 0 : 1; };
  const auto first = bed.run(phase1(GetParam(), 100));
  EXPECT_EQ(first.verdict, Verdict::fail);
  EXPECT_EQ(first.established, 99U);
  EXPECT_THROW(bed.run(trial({phase2("reverse", Side::right, StreamKind::replies, GetParam(), 100)})), TrialError);
}

TEST_P(Trials, PhaseOneNeedsAsManyTuplesAsConnections) {
  EXPECT_THROW(bed.run(phase1(GetParam(), 10'001)), TrialError);
}

TEST_P(Trials, AnAbortedTrialIsInvalid) {
  bed.keep_going = false;
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 1'000'000)}));
  EXPECT_EQ(report.verdict, Verdict::invalid);
  EXPECT_EQ(report.cause, Cause::aborted);
}

TEST_P(Trials, NeighborsAreAnsweredWhileTrafficRuns) {
  const bool v4 = GetParam() == Family::ipv4;
  const auto gateway = *parse_address(v4 ? "198.18.0.1" : "2001:2::1");
  const auto tester = *parse_address(v4 ? "198.18.0.2" : "2001:2::2");
  const auto nobody = *parse_address(v4 ? "198.18.0.9" : "2001:2::9");
  bed.inject(Side::left, make_neighbor_request(gateway, kGatewayMac, tester));
  bed.inject(Side::left, make_neighbor_request(gateway, kGatewayMac, nobody));
  const auto report = bed.run(trial({stream("forward", Side::left, GetParam(), 100)}));
  ASSERT_EQ(bed.neighbor_answers.size(), 1U);
  const auto answer = parse_neighbor_message(bed.neighbor_answers[0]);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->target, tester);
  EXPECT_EQ(report.ports[0].foreign.at(v4 ? FrameKind::arp : FrameKind::neighbor_solicitation), 2U);
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
}

class Spread : public testing::TestWithParam<std::pair<unsigned, unsigned>> {};
INSTANTIATE_TEST_SUITE_P(QueuesAndWorkers, Spread,
                         testing::Values(std::pair{1U, 2U}, std::pair{2U, 1U}, std::pair{2U, 2U}, std::pair{3U, 2U}));

TEST_P(Spread, BothPhasesWorkOverAnyNumberOfQueuesAndWorkers) {
  RingBed bed(GetParam().first, GetParam().second);
  const auto first = bed.run(phase1(Family::ipv4, 5000));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  const auto second = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 7001),
                                     phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 6999)}));
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
  EXPECT_EQ(second.streams[0].received, 7001U);
  EXPECT_EQ(second.streams[1].received, 6999U);
}

TEST(Refusal, APortThatTakesNoMoreIsTheDutsPathOnAVethAndTheTestersOnANic) {
  for (const Medium medium : {Medium::veth, Medium::nic}) {
    RingBed bed(1, 1, medium);
    bed.carries = false;
    const auto report = bed.run(trial({stream("forward", Side::left, Family::ipv4, 30'000)}));
    EXPECT_LT(report.streams[0].sent, 30'000U);
    EXPECT_LT(report.streams[0].offered_rate_fps, 20'000);
    EXPECT_EQ(report.verdict, medium == Medium::veth ? Verdict::fail : Verdict::invalid) << report.reason;
    EXPECT_EQ(report.cause, medium == Medium::veth ? Cause::back_pressure : Cause::unsent);
  }
}

/// `foreground` frames of IPv4 and `background` ones of IPv6 in turn, together 50,000 a second.
TrialSpec mixed(std::uint64_t foreground, std::uint64_t background) {
  const double total_s = static_cast<double>(foreground + background) / 50'000;
  StreamSpec first = stream("forward", Side::left, Family::ipv4, foreground);
  StreamSpec second = stream("background", Side::left, Family::ipv6, background);
  first.rate_fps = static_cast<double>(foreground) / total_s;
  second.rate_fps = static_cast<double>(background) / total_s;
  second.interleaved_with = 0;
  return trial({first, second});
}

TEST(Interleaved, TheOrderOnTheWireIsTheTurnsWhateverTheTesterDoes) {
  RingBed bed;
  std::string wire;
  bed.treat = [&](Side, Bytes frame) {
    wire += load_be16(frame.data() + 12) == kEtherTypeIpv6 ? 'b' : 'f';
    return 1;
  };
  // What is held up leaves in bursts later on.
  bed.observe = [polls = 0]() mutable {
    if (++polls % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  const auto report = bed.run(mixed(4500, 500));
  std::string expected;
  for (int i = 0; i < 500; ++i) expected += "fffffffffb";
  EXPECT_EQ(wire, expected);
  EXPECT_EQ(report.streams[0].sent, 4500U);
  EXPECT_EQ(report.streams[1].sent, 500U);
}

TEST(Interleaved, TheTwoAreCountedApart) {
  RingBed bed;
  int background = 0;
  bed.treat = [&](Side, Bytes frame) {
    const bool is_background = load_be16(frame.data() + 12) == kEtherTypeIpv6;
    return is_background && ++background % 5 == 0 ? 0 : 1;
  };
  const auto report = bed.run(mixed(2000, 2000));
  EXPECT_EQ(report.streams[0].sent, 2000U);
  EXPECT_EQ(report.streams[0].received, 2000U);
  EXPECT_EQ(report.streams[1].sent, 2000U);
  EXPECT_EQ(report.streams[1].received, 1600U);
  for (const auto& stream : report.streams) {
    EXPECT_EQ(std::accumulate(stream.sent_per_second.begin(), stream.sent_per_second.end(), std::uint64_t{0}), 2000U);
  }
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_NE(report.reason.find("background"), std::string::npos);
}

TEST(Interleaved, EveryFrameIsSentOnceOverSeveralQueues) {
  RingBed bed(2, 2);
  const auto report = bed.run(mixed(900, 2100));
  EXPECT_EQ(report.streams[0].sent, 900U);
  EXPECT_EQ(report.streams[1].sent, 2100U);
  EXPECT_EQ(report.streams[0].duplicate + report.streams[1].duplicate, 0U);
}

TEST(Failure, AnExceptionInTheMiddleStopsTheWorkers) {
  RingBed bed;
  bed.observe = [] { throw std::runtime_error("no more memory"); };
  EXPECT_THROW(bed.run(trial({stream("forward", Side::left, Family::ipv4, 10'000)})), std::runtime_error);
  bed.observe = [] {};
  EXPECT_EQ(bed.run(trial({stream("forward", Side::left, Family::ipv4, 100)})).verdict, Verdict::pass);
}

TEST(Failure, AFrameThatChangedItsLengthIsCorrupt) {
  RingBed bed;
  bed.treat = [](Side, Bytes frame) {
    std::uint8_t* ip = frame.data() + kEthernetBytes;
    store_be16(ip + 2, static_cast<std::uint16_t>(load_be16(ip + 2) - 2));
    store_be16(ip + kIpv4Bytes + 4, static_cast<std::uint16_t>(load_be16(ip + kIpv4Bytes + 4) - 2));
    mend_udp_checksum(frame);
    return 1;
  };
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 100);
  spec.frame_size = 128;
  const auto report = bed.run(trial({spec}));
  EXPECT_EQ(report.streams[0].corrupt, 100U);
  EXPECT_EQ(report.streams[0].received, 0U);
}

TEST(Failure, AFrameLongerThanABufferIsRefused) {
  RingBed bed;
  StreamSpec spec = stream("forward", Side::left, Family::ipv4, 100);
  spec.frame_size = 2053;
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
}

class Translation : public testing::Test {
 protected:
  /// A NAT44 that gives every connection its own source port.
  int translate(Side from, Bytes frame) const {
    std::uint8_t* ip = frame.data() + kEthernetBytes;
    std::uint8_t* udp = ip + kIpv4Bytes;
    if (from == Side::left) {
      store_be32(ip + 12, 0xC6130001);
      store_be16(udp, static_cast<std::uint16_t>(load_be16(udp) + shift));
    } else {
      store_be32(ip + 16, 0xC6120002);
      store_be16(udp + 2, static_cast<std::uint16_t>(load_be16(udp + 2) - shift));
    }
    mend_udp_checksum(frame);
    return 1;
  }

  RingBed bed;
  std::uint16_t shift = 1000;
};

TEST_F(Translation, RepliesUseTheTranslatedTupleAndComeBackAsTheInitiatorSentThem) {
  bed.treat = [this](Side from, Bytes frame) { return translate(from, frame); };
  ASSERT_EQ(bed.run(phase1(Family::ipv4, 2000)).verdict, Verdict::pass);
  EXPECT_EQ(bed.connections.seen.of<Family::ipv4>()->at(0).source, 0xC6130001U);
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 3000),
                                     phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 3000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
}

TEST_F(Translation, AConnectionMadeAnewInPhaseTwoIsMisrouted) {
  bed.treat = [this](Side from, Bytes frame) { return translate(from, frame); };
  ASSERT_EQ(bed.run(phase1(Family::ipv4, 2000)).verdict, Verdict::pass);
  shift = 1001;
  const auto report = bed.run(trial({phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 1000)}));
  EXPECT_EQ(report.streams[0].misrouted, 1000U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_F(Translation, FramesOfAnEarlierTrialAreStale) {
  std::vector<std::vector<std::uint8_t>> kept;
  bed.treat = [&](Side, Bytes frame) {
    kept.emplace_back(frame.begin(), frame.end());
    return 1;
  };
  ASSERT_EQ(bed.run(trial({stream("forward", Side::left, Family::ipv4, 50)})).verdict, Verdict::pass);
  bed.treat = [](Side, Bytes) { return 1; };
  for (const auto& frame : kept) bed.inject(Side::right, frame);
  const auto report = bed.run(trial({stream("forward", Side::left, Family::ipv4, 50)}));
  EXPECT_EQ(report.stale, 50U);
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
}

/// A gateway between IPv6 and IPv4. An IPv4 host's IPv6 address is `prefix` + its own; the one IPv6 host is `host6`,
/// and `host4` in IPv4, where its ports are `shift` higher.
class BetweenFamilies : public testing::Test {
 protected:
  BetweenFamilies() {
    bed.translate = [this](Side, Bytes frame) {
      return load_be16(frame.data() + 12) == kEtherTypeIpv6 ? to_ipv4(frame) : to_ipv6(frame);
    };
  }

  [[nodiscard]] std::vector<std::uint8_t> to_ipv4(Bytes frame) const {
    std::vector<std::uint8_t> result(std::max(frame.size() - 20, kMinFrameBytes - kFcsBytes));
    const std::uint8_t* ip = frame.data() + kEthernetBytes;
    std::uint8_t* to = result.data() + kEthernetBytes;
    const std::size_t length = load_be16(ip + 4);
    store_be16(result.data() + 12, kEtherTypeIpv4);
    to[0] = 0x45;
    store_be16(to + 2, static_cast<std::uint16_t>(kIpv4Bytes + length));
    to[8] = static_cast<std::uint8_t>(ip[7] - 1);
    to[9] = kProtocolUdp;
    std::memcpy(to + kIpv4Bytes, ip + kIpv6Bytes, length);
    std::uint8_t* udp = to + kIpv4Bytes;
    translate_host(ip + 8, to + 12, udp);
    translate_host(ip + 24, to + 16, udp + 2);
    mend_udp_checksum(result);
    return result;
  }

  void translate_host(const std::uint8_t* ipv6, std::uint8_t* ipv4, std::uint8_t* port) const {
    const uint128 address = load_be128(ipv6);
    store_be32(ipv4, address == host6 ? host4 : static_cast<std::uint32_t>(address));
    if (address == host6) store_be16(port, static_cast<std::uint16_t>(load_be16(port) + shift));
  }

  [[nodiscard]] std::vector<std::uint8_t> to_ipv6(Bytes frame) const {
    const std::uint8_t* ip = frame.data() + kEthernetBytes;
    const std::size_t length = load_be16(ip + 2) - kIpv4Bytes;
    std::vector<std::uint8_t> result(kEthernetBytes + kIpv6Bytes + length);
    std::uint8_t* to = result.data() + kEthernetBytes;
    store_be16(result.data() + 12, kEtherTypeIpv6);
    to[0] = 0x60;
    store_be16(to + 4, static_cast<std::uint16_t>(length));
    to[6] = kProtocolUdp;
    to[7] = static_cast<std::uint8_t>(ip[8] - 1);
    std::memcpy(to + kIpv6Bytes, ip + kIpv4Bytes, length);
    std::uint8_t* udp = to + kIpv6Bytes;
    embed_host(ip + 12, to + 8, udp);
    embed_host(ip + 16, to + 24, udp + 2);
    store_be16(udp + 6, 0);
    store_raw(udp + 6, udp_checksum(checksum_of(to + 8, 32) + __builtin_bswap16(kProtocolUdp) +
                                    __builtin_bswap16(static_cast<std::uint16_t>(length)) + checksum_of(udp, length)));
    return result;
  }

  void embed_host(const std::uint8_t* ipv4, std::uint8_t* ipv6, std::uint8_t* port) const {
    const std::uint32_t address = load_be32(ipv4);
    store_be128(ipv6, address == host4 ? host6 : prefix + address);
    if (address == host4) store_be16(port, static_cast<std::uint16_t>(load_be16(port) - shift));
  }

  static StreamSpec stream_of(Side source, const char* from, const char* to) {
    StreamSpec spec = stream(source == Side::left ? "forward" : "reverse", source, parse_address(from)->family, 3000);
    spec.flows->source_address.address = *parse_address(from);
    spec.flows->destination_address.address = *parse_address(to);
    spec.arrives_as = spec.flows->source_address.address.family == Family::ipv4 ? Family::ipv6 : Family::ipv4;
    return spec;
  }

  TrialReport establish(StreamSpec initiator) {
    initiator.selection = Selection::enumerate;
    TrialSpec spec = trial({std::move(initiator)});
    spec.learn = true;
    return bed.run(spec);
  }

  TrialReport both_ways(Family left, Family right) {
    return bed.run(trial({phase2("forward", Side::left, StreamKind::connections, left, 5000),
                          phase2("reverse", Side::right, StreamKind::replies, right, 5000)}));
  }

  RingBed bed;
  uint128 prefix = parse_address("2001:2:0:64::")->value;
  uint128 host6 = parse_address("2001:2::2")->value;
  std::uint32_t host4 = 0xC6130001;
  std::uint16_t shift = 1000;
};

TEST_F(BetweenFamilies, Nat64RepliesInIpv4AndIsAnsweredInIpv6) {
  const auto first = establish(stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2"));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  EXPECT_EQ(first.established, 3000U);
  const auto* seen = bed.connections.seen.of<Family::ipv4>();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->at(7).source, 0xC6130001U);
  EXPECT_EQ(seen->at(7).destination, 0xC6130002U);
  const auto second = both_ways(Family::ipv6, Family::ipv4);
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
  EXPECT_EQ(second.streams[0].received + second.streams[1].received, 10'000U);
}

TEST_F(BetweenFamilies, Nat46RepliesInIpv6AndIsAnsweredInIpv4) {
  host4 = 0xC6130002;  // the responder is the IPv6 host
  const auto first = establish(stream_of(Side::left, "198.18.0.2", "198.19.0.2"));
  ASSERT_EQ(first.verdict, Verdict::pass) << first.reason;
  const auto* seen = bed.connections.seen.of<Family::ipv6>();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->at(7).destination, host6);
  const auto second = both_ways(Family::ipv4, Family::ipv6);
  EXPECT_EQ(second.verdict, Verdict::pass) << second.reason;
}

TEST_F(BetweenFamilies, AConnectionMadeAnewInPhaseTwoIsMisrouted) {
  ASSERT_EQ(establish(stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2")).verdict, Verdict::pass);
  shift = 1001;
  const auto report = both_ways(Family::ipv6, Family::ipv4);
  EXPECT_EQ(report.streams[0].misrouted, 5000U);
  EXPECT_EQ(report.streams[1].misrouted, 5000U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_F(BetweenFamilies, StatelessTrafficPassesBothWaysAtAnySize) {
  shift = 0;
  host4 = 0xC6120002;
  for (const std::size_t size : {84U, 85U, 512U}) {
    StreamSpec forward = stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2");
    StreamSpec reverse = stream_of(Side::right, "198.19.0.2", "198.18.0.2");
    forward.frame_size = reverse.frame_size = size;
    const auto report = bed.run(trial({forward, reverse}));
    EXPECT_EQ(report.verdict, Verdict::pass) << size << ": " << report.reason;
  }
}

TEST_F(BetweenFamilies, AFrameOfTheOtherFamilyIsMisrouted) {
  bed.translate = nullptr;
  const auto report = bed.run(trial({stream_of(Side::left, "2001:2::2", "2001:2:0:64::c613:2")}));
  EXPECT_EQ(report.streams[0].misrouted, 3000U);
  EXPECT_EQ(report.verdict, Verdict::fail);
}

TEST_F(BetweenFamilies, AFrameThatWouldGrowBeyondTheFarPortIsRefused) {
  StreamSpec reverse = stream_of(Side::right, "198.19.0.2", "198.18.0.2");
  reverse.frame_size = 1518;
  EXPECT_THROW(bed.run(trial({reverse})), TrialError);
}

}  // namespace
}  // namespace natxy
