// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

/// Joins two pairs of ports by a gateway that takes frames from one port to another. Their numbers may have gaps,
/// because other testers have the other pairs.
class TwoPairs : public testing::TestWithParam<std::array<unsigned, 2>> {
 protected:
  TwoPairs() {
    eal();
    std::vector<LinkNeighbor> links;
    for (const Place place : places) {
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
                       for (const Place place : places) carry(place);
                       return true;
                     });
  }

  MacAddress mac_at(Place place) const { return {2, 0, 0, 0, 0, static_cast<std::uint8_t>(0x10 + index(place))}; }

  [[nodiscard]] std::size_t index(Place place) const {
    return static_cast<std::size_t>(std::ranges::find(places, place) - places.begin());
  }

  const unsigned first = GetParam()[0];
  const unsigned second = GetParam()[1];
  const std::array<Place, 4> places = {Place{Side::left, first}, Place{Side::right, first}, Place{Side::left, second},
                                       Place{Side::right, second}};
  /// Returns the port that the gateway takes the frames of another to.
  std::function<Place(Place)> forward = [](Place from) { return opposite(from); };
  /// Counts the frames that each port sent to the gateway's address there.
  std::map<std::size_t, std::size_t> sent;
  std::array<Connections, kMostPairs> connections;

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
std::vector<StreamSpec> all_ways(const std::array<Place, 4>& places) {
  std::vector<StreamSpec> streams;
  for (const Place place : places) {
    const std::uint64_t frames = 100 * (1 + streams.size());
    streams.push_back(of_pair(stream("way " + std::to_string(frames), place.side, Family::ipv4, frames), place.pair));
  }
  return streams;
}

TEST_P(TwoPairs, HaveStreamsOfTheirOwn) {
  const auto report = run(trial(all_ways(places)));
  ASSERT_EQ(report.verdict, Verdict::pass) << report.reason;
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(report.streams[i].received, 100 * (i + 1));
    EXPECT_EQ(sent[i], 100 * (i + 1));
    EXPECT_EQ(report.ports[i].place, places.at(i));
    // The streams of the opposite port.
    EXPECT_EQ(report.ports[i].received_by_queue.front(), 100 * ((i ^ 1U) + 1));
  }
}

TEST_P(TwoPairs, WhatArrivesOnAnotherPairIsMisrouted) {
  forward = [this](Place from) { return Place{opposite(from.side), first + second - from.pair}; };
  const auto report = run(trial(all_ways(places)));
  EXPECT_EQ(report.verdict, Verdict::fail);
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(report.streams[i].received, 0U);
    EXPECT_EQ(report.streams[i].misrouted, 100 * (i + 1));
  }
}

TEST_P(TwoPairs, HaveConnectionsOfTheirOwn) {
  for (const unsigned pair : GetParam()) {
    const std::uint64_t count = pair == first ? 300 : 400;
    TrialSpec spec = phase1(Family::ipv4, count);
    spec.streams.front().pair = pair;
    const auto made = run(spec);
    ASSERT_EQ(made.verdict, Verdict::pass) << made.reason;
    EXPECT_EQ(made.established, count);
  }
  EXPECT_EQ(connections.at(first).count, 300U);
  EXPECT_EQ(connections.at(second).count, 400U);
  std::vector<StreamSpec> streams;
  for (const unsigned pair : GetParam()) {
    streams.push_back(of_pair(phase2("forward", Side::left, StreamKind::connections, Family::ipv4, 800), pair));
    streams.push_back(of_pair(phase2("reverse", Side::right, StreamKind::replies, Family::ipv4, 800), pair));
  }
  const auto report = run(trial(streams));
  ASSERT_EQ(report.verdict, Verdict::pass) << report.reason;
  for (const StreamReport& stream : report.streams) EXPECT_EQ(stream.received, 800U);
}

TEST_P(TwoPairs, MakeConnectionsAtTheSameTime) {
  TrialSpec spec = phase1(Family::ipv4, 300);
  spec.streams.front().pair = first;
  spec.streams.push_back(of_pair(phase1(Family::ipv4, 400).streams.front(), second));
  spec.streams.back().name = "phase 1 2";
  const auto made = run(spec);
  ASSERT_EQ(made.verdict, Verdict::pass) << made.reason;
  EXPECT_EQ(made.established, 700U);
  EXPECT_EQ(made.sources->connections, 700U);
  EXPECT_EQ(connections.at(first).count, 300U);
  EXPECT_EQ(connections.at(second).count, 400U);
  for (const unsigned pair : GetParam()) EXPECT_TRUE(connections.at(pair).complete());
  const auto validated =
      run(trial({of_pair(phase2("validation", Side::right, StreamKind::replies, Family::ipv4, 300), first),
                 of_pair(phase2("validation 2", Side::right, StreamKind::replies, Family::ipv4, 400), second)}));
  ASSERT_EQ(validated.verdict, Verdict::pass) << validated.reason;
  EXPECT_EQ(validated.streams.back().received, 400U);
}

TEST_P(TwoPairs, ARefusedPhase1LeavesNoConnections) {
  TrialSpec spec = phase1(Family::ipv4, 300);
  spec.streams.front().pair = first;
  ASSERT_EQ(run(spec).verdict, Verdict::pass);
  ASSERT_TRUE(connections.at(first).complete());
  spec.streams.push_back(of_pair(phase1(Family::ipv4, 20'000).streams.front(), second));
  spec.streams.back().name = "phase 1 2";
  EXPECT_THROW(run(spec), TrialError);
  EXPECT_FALSE(connections.at(first).complete());
  const StreamSpec validation = phase2("validation", Side::right, StreamKind::replies, Family::ipv4, 300);
  EXPECT_THROW(run(trial({of_pair(validation, first)})), TrialError);
}

TEST_P(TwoPairs, AThirdOneIsNotOpen) {
  EXPECT_THROW(run(trial({of_pair(stream("forward", Side::left, Family::ipv4, 10), 2)})), TrialError);
}

INSTANTIATE_TEST_SUITE_P(Numbers, TwoPairs, testing::Values(std::array{0U, 1U}, std::array{1U, kMostPairs - 1}));

}  // namespace
}  // namespace natxy
