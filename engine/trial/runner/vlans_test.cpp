// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <chrono>
#include <map>
#include <thread>

#include "packet/bytes.hpp"
#include "packet/neighbor_messages.hpp"
#include "packet/vlan_tag.hpp"
#include "trial/runner/ring_bed.hpp"

namespace natxy {
namespace {

constexpr std::array<std::uint16_t, 2> kIds = {10, 20};  // of the left and of the right side

/// Joins two ports on one device, each with a VLAN, by a gateway that takes frames of one VLAN to the other.
class Trunk : public testing::TestWithParam<Family> {
 protected:
  Trunk() {
    eal();
    const std::string name = "trunk" + std::to_string(++serial_);
    for (auto* ring : {&from_tester_, &to_tester_}) {
      const std::string ring_name = name + (ring == &from_tester_ ? "_tx" : "_rx");
      *ring = rte_ring_create(ring_name.c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    }
    rte_eth_from_rings(name.c_str(), &to_tester_, 1, &from_tester_, 1, 0);
    std::vector<LinkNeighbor> links;
    for (const Side side : {Side::left, Side::right}) {
      PortOptions options;
      options.side = side;
      options.device = "net_ring_" + name;
      options.medium = Medium::loop;
      options.vlan = Vlan{kIds.at(side == Side::left ? 0 : 1), {}};
      ports_.push_back(side == Side::left ? std::make_unique<Port>(options)
                                          : std::make_unique<Port>(options, *ports_.front()));
      LinkNeighbor link;
      link.side = side;
      link.address = *parse_address(side == Side::left ? "198.18.0.2" : "198.19.0.2");
      link.gateway = *parse_address(side == Side::left ? "198.18.0.1" : "198.19.0.1");
      link.gateway_mac = kGatewayMac;
      links.push_back(link);
      link.address = *parse_address(side == Side::left ? "2001:2::2" : "2001:2:0:8000::2");
      link.gateway = *parse_address(side == Side::left ? "2001:2::1" : "2001:2:0:8000::1");
      links.push_back(link);
    }
    neighbors_ = Neighbors(links);
  }
  void TearDown() override {
    void* frame = nullptr;
    for (rte_ring* ring : {from_tester_, to_tester_}) {
      while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    }
    ports_.clear();
    for (rte_ring* ring : {from_tester_, to_tester_}) rte_ring_free(ring);
  }

  TrialReport run(const TrialSpec& spec) {
    return run_trial(spec, {ports_, neighbors_, std::span(eal().workers()).first(2), true, Clock{rte_get_tsc_hz()}, {}},
                     {&connections_, 1}, [this](const TrialProgress&) {
                       carry();
                       while (rte_ring_empty(to_tester_) == 0)
                         std::this_thread::sleep_for(std::chrono::microseconds(100));
                       return true;
                     });
  }

  /// Counts the frames by the VLAN that they left with.
  std::map<std::uint16_t, std::size_t> sent;
  /// Returns the VLAN with which a frame goes back; 0: without a tag.
  std::function<std::uint16_t(std::uint16_t)> forward = [](std::uint16_t id) { return kIds.at(id == kIds[0] ? 1 : 0); };
  /// Frames of the gateway's own, with their tags, that go to the tester before the next other frame.
  std::vector<std::vector<std::uint8_t>> own;
  std::vector<std::vector<std::uint8_t>> answers;

 private:
  void carry() {
    for (const auto& frame : own) inject(frame);
    own.clear();
    void* object = nullptr;
    while (rte_ring_dequeue(from_tester_, &object) == 0) {
      auto* frame = static_cast<rte_mbuf*>(object);
      std::vector<std::uint8_t> bytes(frame->data_len);
      std::memcpy(bytes.data(), rte_pktmbuf_mtod(frame, const std::uint8_t*), bytes.size());
      rte_pktmbuf_free(frame);
      ASSERT_EQ(load_be16(bytes.data() + 12), kEtherTypeVlan);
      const std::uint16_t id = load_be16(bytes.data() + 14);
      ++sent[id];
      if (parse_neighbor_message(untagged(bytes))) {
        answers.push_back(bytes);
        continue;
      }
      const std::uint16_t back = forward(id);
      store_be16(bytes.data() + 14, back);
      inject(back == 0 ? untagged(bytes) : bytes);
    }
  }

  static std::vector<std::uint8_t> untagged(std::vector<std::uint8_t> bytes) {
    bytes.erase(bytes.begin() + 12, bytes.begin() + 16);
    return bytes;
  }

  void inject(std::span<const std::uint8_t> bytes) {
    static rte_mempool* pool = rte_pktmbuf_pool_create("trunk_gateway", 32767, 0, 0, 2048, SOCKET_ID_ANY);
    rte_mbuf* copy = rte_pktmbuf_alloc(pool);
    ASSERT_NE(copy, nullptr);
    std::memcpy(rte_pktmbuf_append(copy, static_cast<std::uint16_t>(bytes.size())), bytes.data(), bytes.size());
    if (rte_ring_enqueue(to_tester_, copy) != 0) rte_pktmbuf_free(copy);
  }

  inline static int serial_ = 0;
  rte_ring* from_tester_ = nullptr;
  rte_ring* to_tester_ = nullptr;
  std::vector<std::unique_ptr<Port>> ports_;
  Neighbors neighbors_;
  Connections connections_;
};
INSTANTIATE_TEST_SUITE_P(BothFamilies, Trunk, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto& family) { return family.param == Family::ipv4 ? "IPv4" : "IPv6"; });

TEST_P(Trunk, CarriesBothSidesInTheirVlans) {
  const auto report =
      run(trial({stream("forward", Side::left, GetParam(), 3000), stream("reverse", Side::right, GetParam(), 3000)}));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  for (const StreamReport& stream : report.streams) EXPECT_EQ(stream.received, 3000U);
  EXPECT_EQ(sent[kIds[0]], 3000U);
  EXPECT_EQ(sent[kIds[1]], 3000U);
  for (const PortReport& port : report.ports) EXPECT_FALSE(port.foreign.contains(FrameKind::other_vlan));
}

TEST_P(Trunk, MisroutesWhatComesBackInItsOwnVlan) {
  forward = [](std::uint16_t id) { return id; };
  const auto report = run(trial({stream("forward", Side::left, GetParam(), 500)}));
  EXPECT_EQ(report.verdict, Verdict::fail);
  EXPECT_EQ(report.streams[0].misrouted, 500U);
}

TEST_P(Trunk, TakesNoFrameOfAnotherVlanOrOfNone) {
  for (const std::uint16_t id : std::array<std::uint16_t, 2>{0, 30}) {
    forward = [id](std::uint16_t) { return id; };
    const auto report = run(trial({stream("forward", Side::left, GetParam(), 500)}));
    EXPECT_EQ(report.verdict, Verdict::fail);
    EXPECT_EQ(report.streams[0].received, 0U);
    EXPECT_EQ(report.streams[0].misrouted, 0U);
    EXPECT_EQ(report.ports[0].foreign.at(FrameKind::other_vlan), 500U);
  }
}

TEST_P(Trunk, AnswersInTheVlanOfTheQuestion) {
  const char* const right = GetParam() == Family::ipv4 ? "198.19.0." : "2001:2:0:8000::";
  const auto address = [&](const char* end) { return *parse_address(std::string{right} + end); };
  const auto request = make_neighbor_request(address("1"), kGatewayMac, address("2"));
  const std::span<const std::uint8_t> bytes = request;
  for (const std::uint16_t id : kIds) {
    std::vector<std::uint8_t> question(kVlanTagBytes);
    question.insert(question.end(), bytes.begin(), bytes.end());
    VlanTag({id, {}}).insert(question.data() + kVlanTagBytes);
    own.push_back(question);
  }
  ASSERT_EQ(run(trial({stream("forward", Side::left, GetParam(), 500)})).verdict, Verdict::pass);
  // Nobody has the right side's address in the left side's VLAN.
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(load_be16(answers[0].data() + 14), kIds[1]);
}

}  // namespace
}  // namespace natxy
