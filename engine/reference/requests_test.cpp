// SPDX-License-Identifier: Apache-2.0
#include "reference/requests.hpp"

#include <gtest/gtest.h>

namespace natxy::reference {
namespace {

/// Returns a left and a right port for each of `pairs`.
Json ports_of(std::initializer_list<unsigned> pairs) {
  Json ports = Json::array();
  for (const unsigned pair : pairs) {
    for (const char* side : {"left", "right"}) {
      ports.push_back(
          {{"side", side}, {"pair", pair}, {"device", fmt::format("net_null{}", ports.size())}, {"medium", "loop"}});
    }
  }
  return {{"ports", std::move(ports)}};
}

/// Returns a gateway with both links of each of `pairs`.
Json gateway_of(std::initializer_list<unsigned> pairs) {
  Json links = Json::array();
  for (const unsigned pair : pairs) {
    for (const char* side : {"left", "right"}) {
      links.push_back({{"side", side}, {"pair", pair}, {"addresses", {"198.18.0.1"}}});
    }
  }
  return {{"mode", "forward"}, {"links", std::move(links)}};
}

/// Returns the field that `read` refuses, or nothing if it refuses none.
template <class Read>
std::string refused(const Read& read) {
  try {
    read();
  } catch (const FieldError& error) {
    return error.field();
  }
  return "";
}

TEST(ReferenceRequests, PairsOfPortsAreNumberedWithoutGaps) {
  for (const Json& params : {ports_of({0}), ports_of({1, 0}), ports_of({2, 0, 1})}) {
    EXPECT_EQ(read_ports_open(params).ports.size(), params["ports"].size());
  }
  EXPECT_EQ(refused([] { read_ports_open(ports_of({2})); }), "ports[0].pair");
  EXPECT_EQ(refused([] { read_ports_open(ports_of({1, 3})); }), "ports[2].pair");
  EXPECT_EQ(refused([] { read_ports_open(ports_of({0, 2})); }), "ports[2].pair");
}

TEST(ReferenceRequests, PortsHaveOneQueue) {
  Json params = ports_of({0});
  params["ports"][1]["queues"] = 2;
  EXPECT_EQ(refused([&] { read_ports_open(params); }), "ports[1].queues");
}

TEST(ReferenceRequests, LinksAreThoseOfOpenPairs) {
  EXPECT_EQ(read_settings(gateway_of({0}), 1).links.size(), 2U);
  EXPECT_EQ(read_settings(gateway_of({0}), 2).links.size(), 2U);
  EXPECT_EQ(read_settings(gateway_of({1, 0}), 2).links.size(), 4U);
  EXPECT_EQ(refused([] { read_settings(gateway_of({0, 1}), 1); }), "links[2].pair");
  EXPECT_EQ(refused([] { read_settings(gateway_of({2}), 1); }), "links[0].pair");
  EXPECT_EQ(refused([] { read_settings(gateway_of({2}), 3); }), "links");
  EXPECT_EQ(refused([] { read_settings(gateway_of({1, 3}), 4); }), "links");
}

TEST(ReferenceRequests, AForwarderMayBeAnEndOfSoftwires) {
  Json params = gateway_of({0});
  params["softwire"] = {{"end", "core"},
                        {"addresses", {{"core", "2001:2::c"}, {"subscribers", {{"address", "2001:2::e"}}}}},
                        {"option_every", 7},
                        {"stale_binding", {{"every", 9}, {"frames", 4}}}};
  const auto softwire = read_settings(params, 1).softwire;
  ASSERT_TRUE(softwire);
  EXPECT_EQ(softwire->sends, Outer::from_core);
  EXPECT_EQ(softwire->softwire.core, parse_address("2001:2::c")->value);
  EXPECT_EQ(softwire->softwire.subscribers.low, 0xEU);
  EXPECT_EQ(softwire->option_every, 7U);
  EXPECT_EQ(softwire->leak_every, 0U);
  EXPECT_EQ(softwire->stale_binding.frames, 4U);
  params["softwire"]["end"] = "middle";
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "softwire.end");
  params["softwire"]["end"] = "edge";
  params["mode"] = "siit";
  params["translation"] = {{"prefix", "64:ff9b::/96"},
                           {"mappings", {{{"ipv4", "198.18.0.0/24"}, {"ipv6", "2001:2::/120"}}}}};
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "softwire");
}

TEST(ReferenceRequests, SubscribersMayHaveATable) {
  Json params = gateway_of({0});
  params["softwire"] = {{"end", "core"},
                        {"addresses",
                         {{"core", "2001:2::c"},
                          {"subscribers", {{"address", "::"}, {"address_mask", 1}}},
                          {"table", {"fd00::9", "fd00::7"}}}}};
  const auto softwire = read_settings(params, 1).softwire;
  ASSERT_TRUE(softwire);
  // The table outlives the request.
  EXPECT_EQ(softwire->softwire.subscribers.low_of(std::uint64_t{3}, std::uint64_t{0}), 7U);
  EXPECT_EQ(softwire->table->size(), 2U);
}

TEST(ReferenceRequests, OnlyANatKeepsHomesWithTheSameAddressApart) {
  Json params = gateway_of({0});
  params["softwire"] = {{"end", "core"},
                        {"addresses",
                         {{"core", "2001:2::c"},
                          {"subscribers", {{"address", "fd00::"}, {"address_mask", 3}, {"identifier", true}}},
                          {"inner_address", "192.0.0.2"}}}};
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "softwire.addresses.inner_address");
  params["mode"] = "nat44";
  params["translation"] = {{"pool", "198.19.0.1/32"}};
  params["table"] = {{"capacity", 10}};
  EXPECT_EQ(read_settings(params, 1).softwire->softwire.inner_address, 0xC000'0002U);
}

TEST(ReferenceRequests, AnEndMayStandBehindANatWithAPortSet) {
  Json params = gateway_of({0});
  params["mode"] = "nat44";
  params["translation"] = {{"pool", "198.19.0.1/32"}, {"port_set", {{"psid", 3}, {"psid_length", 4}, {"offset", 4}}}};
  params["table"] = {{"capacity", 10}};
  params["map"] = {{"end", "edge"},
                   {"subscribers", {{"address", "2001:2::e"}}},
                   {"ipv4", "198.19.0.0/24"},
                   {"prefix", "2001:2:0:64::/64"},
                   {"leak_every", 7}};
  const Settings settings = read_settings(params, 1);
  ASSERT_TRUE(settings.map);
  EXPECT_EQ(settings.map->sends, Outer::from_edge);
  EXPECT_EQ(settings.map->prefix.length, 64U);
  EXPECT_EQ(settings.map->leak_every, 7U);
  EXPECT_TRUE(settings.translation.gives_port_set);
  EXPECT_EQ(settings.translation.ports.count(), 3840U);
  EXPECT_EQ(settings.translation.ports.first, 4096U + 3 * 256U);
  params["translation"]["port_set"]["first_range_only"] = true;
  EXPECT_EQ(read_settings(params, 1).translation.ports.count(), 256U);
  params["translation"]["port_set"]["psid"] = 16;
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "translation.port_set.psid");
  params["translation"]["port_set"] = {{"psid", 0}, {"psid_length", 12}, {"offset", 6}};
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "translation.port_set.psid_length");
  params["translation"].erase("port_set");
  params["map"]["prefix"] = "2001:2:0:64::/65";
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "map.prefix");
  params["map"]["prefix"] = "2001:2:0:64::/64";
  params["softwire"] = {{"end", "edge"},
                        {"addresses", {{"core", "2001:2::c"}, {"subscribers", {{"address", "2001:2::e"}}}}}};
  EXPECT_EQ(refused([&] { read_settings(params, 1); }), "map");
}

TEST(ReferenceRequests, SubscribersWithoutABindingAreRangesOfIpv4Addresses) {
  const auto read = [](const char* first, const char* last) {
    return read_without_binding({{"without", {{{"first", first}, {"last", last}}}}});
  };
  const std::vector<AddressSpan> spans = read("198.18.128.0", "198.18.128.63");
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].last - spans[0].first, 63U);
  EXPECT_TRUE(read_without_binding({{"without", Json::array()}}).empty());
  EXPECT_EQ(refused([&] { read("198.18.128.1", "198.18.128.0"); }), "without[0].last");
  EXPECT_EQ(refused([&] { read("2001:2::1", "2001:2::2"); }), "without[0].last");
  EXPECT_EQ(refused([] { read_without_binding({{"without", Json::array()}, {"more", 1}}); }), "more");
}

}  // namespace
}  // namespace natxy::reference
