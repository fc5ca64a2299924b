// SPDX-License-Identifier: Apache-2.0
#include "port/neighbors.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "port/eal.hpp"

namespace natxy {
namespace {

constexpr MacAddress kGiven = {2, 0, 0, 0, 0, 0x11};
constexpr MacAddress kAnswered = {2, 0, 0, 0, 0, 0x22};

/// Selects the family of the addresses on a link.
class Gateways : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    static const Eal eal([] {
      EalOptions options;
      options.worker_cores = {0};
      return options;
    }());
  }

  [[nodiscard]] static AnyAddress address(const char* end) { return *parse_address(std::string{GetParam()} + end); }

  [[nodiscard]] static LinkNeighbor link(std::optional<MacAddress> mac) {
    LinkNeighbor link;
    link.address = address("2");
    link.gateway = address("1");
    link.gateway_mac = mac;
    return link;
  }

  /// Builds the gateway's answer to the request of `link`.
  [[nodiscard]] static NeighborFrame answer() {
    const auto request = make_neighbor_request(address("2"), {2, 0, 0, 0, 0, 1}, address("1"));
    return make_neighbor_answer(*parse_neighbor_message(request), kAnswered);
  }

  Port port{[] {
    PortOptions options;
    options.device = "net_null0";
    options.medium = Medium::loop;
    return options;
  }()};
};

TEST_P(Gateways, AreKnownWhenTheyHaveAnswered) {
  Neighbors neighbors({link(std::nullopt)});
  neighbors.ask(port);
  EXPECT_FALSE(neighbors.resolved());
  neighbors.serve(port, answer());
  EXPECT_TRUE(neighbors.resolved());
  EXPECT_EQ(neighbors.gateway_mac({Side::left}, address("1").family), kAnswered);
}

TEST_P(Gateways, KeepTheGivenAddressWhateverTheyAnswer) {
  Neighbors neighbors({link(kGiven)});
  // The gateway learns the tester's address from the request.
  EXPECT_FALSE(neighbors.resolved());
  neighbors.ask(port);
  EXPECT_TRUE(neighbors.resolved());
  neighbors.serve(port, answer());
  EXPECT_EQ(neighbors.gateway_mac({Side::left}, address("1").family), kGiven);
}

TEST_P(Gateways, AreNotAskedWithoutAnAddress) {
  LinkNeighbor unnamed = link(kGiven);
  unnamed.gateway.value = 0;
  EXPECT_TRUE(Neighbors({unnamed}).resolved());
}

INSTANTIATE_TEST_SUITE_P(Families, Gateways, testing::Values("198.18.0.", "2001:2::"),
                         [](const auto& family) { return family.index == 0 ? "ipv4" : "ipv6"; });

}  // namespace
}  // namespace natxy
