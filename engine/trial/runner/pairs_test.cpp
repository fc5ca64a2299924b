// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

constexpr std::array<Place, 4> kPlaces = {Place{Side::left, 0}, Place{Side::right, 0}, Place{Side::left, 1},
                                          Place{Side::right, 1}};

/// Joins two pairs of ports by a gateway that takes frames from one port to another.
class TwoPairs : public testing::Test {
 protected:
  TwoPairs() {
    eal();
    std::vector<LinkNeighbor> links;
    for (const Place place : kPlaces) {
      Wire& wire = wires_.at(index(place));
      const std::string name = "pairs" + std::to_string(++serial_);
      wire.from_tester = ring(name + "_tx");
      wire.to_tester = ring(name + "_rx");
      rte_eth_from_rings(name.c_str(), &wire.to_tester, 1, &wire.from_tester, 1, 0);
      PortOptions options;
      options.side = place.side;
      options.pair = place.pair;
      options.device = "net_ring_" + name;
      options.medium = Medium::loop;
      ports_.push_back(std::make_unique<Port>(options));
      LinkNeighbor link;
      link.side = place.side;
      link.pair = place.pair;
      link.address = *parse_address("198.18." + std::to_string(index(place)) + ".2");
      link.gateway = *parse_address("198.18." + std::to_string(index(place)) + ".1");
      link.gateway_mac = mac_at(place);
      links.push_back(link);
    }
    neighbors_ = Neighbors(links);
  }
  void TearDown() override {
    void* frame = nullptr;
    for (const Wire& wire : wires_) {
      for (rte_ring* ring : {wire.from_tester, wire.to_tester}) {
        while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
      }
    }
    ports_.clear();
    for (const Wire& wire : wires_) {
      for (rte_ring* ring : {wire.from_tester, wire.to_tester}) rte_ring_free(ring);
    }
  }

  TrialReport run(const TrialSpec& spec) {
    return run_trial(spec, {ports_, neighbors_, std::span(eal().workers()).first(2), true, Clock{rte_get_tsc_hz()}, {}},
                     connections, [this](const TrialProgress&) {
                       for (const Place place : kPlaces) carry(place);
                       return true;
                     });
  }

  static MacAddress mac_at(Place place) { return {2, 0, 0, 0, 0, static_cast<std::uint8_t>(0x10 + index(place))}; }

  /// Returns the port that the gateway takes the frames of another to.
  std::function<Place(Place)> forward = [](Place from) { return opposite(from); };
  /// Counts the frames that each port sent to the gateway's address there.
  std::map<std::size_t, std::size_t> sent;
  std::array<Connections, 2> connections;

  static std::size_t index(Place place) { return std::size_t{2} * place.pair + static_cast<std::size_t>(place.side); }

 private:
  struct Wire {
    rte_ring* from_tester = nullptr;
    rte_ring* to_tester = nullptr;
  };

  static rte_ring* ring(const std::string& name) {
    return rte_ring_create(name.c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  }

  void carry(Place from) {
    void* object = nullptr;
    while (rte_ring_dequeue(wires_.at(index(from)).from_tester, &object) == 0) {
      auto* frame = static_cast<rte_mbuf*>(object);
      const MacAddress own = mac_at(from);
      if (std::equal(own.begin(), own.end(), rte_pktmbuf_mtod(frame, const std::uint8_t*))) ++sent[index(from)];
      if (rte_ring_enqueue(wires_.at(index(forward(from))).to_tester, frame) != 0) rte_pktmbuf_free(frame);
    }
    while (rte_ring_empty(wires_.at(index(from)).to_tester) == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }

  inline static int serial_ = 0;
  std::array<Wire, 4> wires_;
  std::vector<std::unique_ptr<Port>> ports_;
  Neighbors neighbors_;
};

StreamSpec of_pair(StreamSpec stream, unsigned pair) {
  stream.pair = pair;
  return stream;
}

/// Returns streams of all four directions, each with another number of frames.
std::vector<StreamSpec> all_ways() {
  std::vector<StreamSpec> streams;
  for (const Place place : kPlaces) {
    const std::uint64_t frames = 100 * (1 + streams.size());
    streams.push_back(of_pair(stream("way " + std::to_string(frames), place.side, Family::ipv4, frames), place.pair));
  }
  return streams;
}

TEST_F(TwoPairs, HaveStreamsOfTheirOwn) {
  const auto report = run(trial(all_ways()));
  ASSERT_EQ(report.verdict, Verdict::pass) << report.reason;
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    EXPECT_EQ(report.streams[i].received, 100 * (i + 1));
    EXPECT_EQ(sent[i], 100 * (i + 1));
    EXPECT_EQ(report.ports[i].place, kPlaces.at(i));
    // The streams of the opposite port.
    EXPECT_EQ(report.ports[i].received_by_queue.front(), 100 * ((i ^ 1U) + 1));
  }
}

TEST_F(TwoPairs, WhatArrivesOnAnotherPairIsMisrouted) {
  forward = [](Place from) { return Place{opposite(from.side), 1 - from.pair}; };
  const auto report = run(trial(all_ways()));
  EXPECT_EQ(report.verdict, Verdict::fail);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    EXPECT_EQ(report.streams[i].received, 0U);
    EXPECT_EQ(report.streams[i].misrouted, 100 * (i + 1));
  }
}

TEST_F(TwoPairs, HaveConnectionsOfTheirOwn) {
  for (unsigned pair : {0U, 1U}) {
    TrialSpec spec = phase1(Family::ipv4, 300 + 100 * pair);
    spec.streams.front().pair = pair;
    const auto made = run(spec);
    ASSERT_EQ(made.verdict, Verdict::pass) << made.reason;
    EXPECT_EQ(made.established, 300 + 100 * pair);
  }
  EXPECT_EQ(connections[0].count, 300U);
  EXPECT_EQ(connections[1].count, 400U);
  std::vector<StreamSpec> streams;
  for (unsigned pair : {0U, 1U}) {
    streams.push_back(of_pair(phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 800), pair));
    streams.push_back(of_pair(phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 800), pair));
  }
  const auto report = run(trial(streams));
  ASSERT_EQ(report.verdict, Verdict::pass) << report.reason;
  for (const StreamReport& stream : report.streams) EXPECT_EQ(stream.received, 800U);
}

TEST_F(TwoPairs, MakeConnectionsAtTheSameTime) {
  TrialSpec spec = phase1(Family::ipv4, 300);
  spec.streams.push_back(of_pair(phase1(Family::ipv4, 400).streams.front(), 1));
  spec.streams.back().name = "phase 1 2";
  const auto made = run(spec);
  ASSERT_EQ(made.verdict, Verdict::pass) << made.reason;
  EXPECT_EQ(made.established, 700U);
  EXPECT_EQ(made.sources->connections, 700U);
  for (unsigned pair : {0U, 1U}) {
    EXPECT_EQ(connections.at(pair).count, 300 + 100 * pair);
    EXPECT_TRUE(connections.at(pair).complete());
  }
  const auto validated =
      run(trial({phase2("validation", Side::right, StreamKind::replies, Family::ipv4, 300),
                 of_pair(phase2("validation 2", Side::right, StreamKind::replies, Family::ipv4, 400), 1)}));
  ASSERT_EQ(validated.verdict, Verdict::pass) << validated.reason;
  EXPECT_EQ(validated.streams.back().received, 400U);
}

TEST_F(TwoPairs, ARefusedPhase1LeavesNoConnections) {
  ASSERT_EQ(run(phase1(Family::ipv4, 300)).verdict, Verdict::pass);
  ASSERT_TRUE(connections[0].complete());
  TrialSpec spec = phase1(Family::ipv4, 300);
  spec.streams.push_back(of_pair(phase1(Family::ipv4, 20'000).streams.front(), 1));
  spec.streams.back().name = "phase 1 2";
  EXPECT_THROW(run(spec), TrialError);
  EXPECT_FALSE(connections[0].complete());
  EXPECT_THROW(run(trial({phase2("validation", Side::right, StreamKind::replies, Family::ipv4, 300)})), TrialError);
}

TEST_F(TwoPairs, AThirdOneIsNotOpen) {
  EXPECT_THROW(run(trial({of_pair(stream("forward", Side::left, Family::ipv4, 10), 2)})), TrialError);
}

}  // namespace
}  // namespace natxy
