// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/requests.hpp"
#include "rpc/messages/results.hpp"

#include <gtest/gtest.h>

#include "rpc/messages/trial_request.hpp"

namespace natxy {
namespace {

TEST(Messages, ATrialIsReadWithItsDefaults) {
  const TrialSpec spec = read_trial(trial_request()).spec;
  ASSERT_EQ(spec.streams.size(), 1U);
  const StreamSpec& stream = spec.streams[0];
  EXPECT_EQ(stream.source, Side::left);
  EXPECT_EQ(stream.kind, StreamKind::flows);
  EXPECT_EQ(stream.selection, Selection::random);
  EXPECT_EQ(stream.ttl, 64);
  EXPECT_DOUBLE_EQ(stream.rate_fps, 1000.5);
  EXPECT_EQ(stream.flows->destination_port.order, Order::decreasing);
  EXPECT_EQ(stream.flows->source_address.range.max, 65534U);
  EXPECT_EQ(stream.flows->destination_address.bits, 0U);
  EXPECT_DOUBLE_EQ(spec.limits.max_overrun_ratio, 1e-5);
  EXPECT_FALSE(spec.limits.link_may_fall);
  EXPECT_FALSE(spec.drain_ends_early);
  EXPECT_FALSE(stream.frame_timeout_s);
}

struct BadField {
  const char* pointer;  // JSON pointer to the value to replace
  Json value;
  const char* field;
};

class BadFields : public testing::TestWithParam<BadField> {};

TEST_P(BadFields, AreNamed) {
  Json json = trial_request();
  json[Json::json_pointer(GetParam().pointer)] = GetParam().value;
  EXPECT_EQ(complaint(json), GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    One, BadFields,
    testing::Values(BadField{"/speed", 1, "speed"}, BadField{"/seed", -1, "seed"}, BadField{"/drain_s", "2", "drain_s"},
                    BadField{"/drain_ends_early", 1, "drain_ends_early"}, BadField{"/ends_early", true, "ends_early"},
                    BadField{"/streams", Json::array(), "streams"}, BadField{"/streams/0", 3, "streams[0]"},
                    BadField{"/streams/0/source", "up", "streams[0].source"},
                    BadField{"/streams/0/rate_fps", 0, "streams[0].rate_fps"},
                    BadField{"/streams/0/frames", 1.5, "streams[0].frames"},
                    BadField{"/streams/0/frames", std::uint64_t{1} << 40, "streams[0].frames"},
                    BadField{"/streams/0/frame/size", 63, "streams[0].frame.size"},
                    BadField{"/streams/0/frame/size", Json::array(), "streams[0].frame.size"},
                    BadField{"/streams/0/frame/size", Json(std::vector<int>(1001, 64)), "streams[0].frame.size"},
                    BadField{"/streams/0/frame/size", {64, 63}, "streams[0].frame.size[1]"},
                    BadField{"/streams/0/frame/size", {64, 9217}, "streams[0].frame.size[1]"},
                    BadField{"/streams/0/frame/form", "sctp", "streams[0].frame.form"},
                    BadField{"/streams/0/frame/colour", 1, "streams[0].frame.colour"},
                    BadField{"/streams/0/frame_timeout_s", 0, "streams[0].frame_timeout_s"},
                    BadField{"/streams/0/kind", "replies", "streams[0].flows"},
                    BadField{"/streams/0/active_connections", 1, "streams[0].active_connections"},
                    BadField{"/streams/0/active_connections", 0, "streams[0].active_connections"},
                    BadField{"/streams/0/arrives_as", "ipv5", "streams[0].arrives_as"},
                    BadField{"/streams/0/flows/source_address/address", "198.18.0",
                             "streams[0].flows.source_address.address"},
                    BadField{"/streams/0/flows/source_address/low_bit", 20, "streams[0].flows.source_address.low_bit"},
                    BadField{"/streams/0/flows/source_address/max", 1, "streams[0].flows.source_address.min"},
                    BadField{"/streams/0/flows/destination_address/address", "2001:2::2", "streams[0].flows"},
                    BadField{"/streams/0/flows/destination_port/max", 65536, "streams[0].flows.destination_port.max"},
                    BadField{"/limits", Json{{"max_pause_s", 0}}, "limits.max_pause_s"},
                    BadField{"/limits", Json{{"link_may_fall", 1}}, "limits.link_may_fall"}));

TEST(Messages, AFieldMayVaryInSeveralAddresses) {
  Json json = trial_request();
  Json& source = json["streams"][0]["flows"]["source_address"];
  source["others"] = {"10.7.0.0", "198.19.0.0"};
  const AnyAddressField field = read_trial(json).spec.streams[0].flows->source_address;
  EXPECT_EQ(field.others, (std::vector<uint128>{0x0A070000, 0xC6130000}));
  EXPECT_EQ(field.size(), 3U * 65533);
  source["others"] = {"10.7.0.0", "10.7.12.9"};  // the same apart from the bits that vary
  EXPECT_EQ(complaint(json), "streams[0].flows.source_address.others");
  source["others"] = {"2001:2::2"};
  EXPECT_EQ(complaint(json), "streams[0].flows.source_address.others");
  source["others"] = {"10.7.0.0"};
  source["min"] = 0;
  source["max"] = 0xFFFFFFFF;
  EXPECT_EQ(complaint(json), "streams[0].flows.source_address.others");
}

TEST(Messages, ABitFieldLiesWithinTheAddress) {
  Json json = trial_request();
  Json& source = json["streams"][0]["flows"]["source_address"];
  source["min"] = source["max"] = 0;
  source["low_bit"] = 31;
  EXPECT_EQ(complaint(json), "none");
  source["low_bit"] = 32;
  EXPECT_EQ(complaint(json), "streams[0].flows.source_address.low_bit");
}

TEST(Messages, FramesMayArriveInTheOtherFamily) {
  Json json = trial_request();
  json["streams"][0]["arrives_as"] = "ipv6";
  EXPECT_EQ(read_trial(json).spec.streams[0].arrives_as, Family::ipv6);
  json["streams"][0]["kind"] = "connections";
  json["streams"][0].erase("flows");
  EXPECT_EQ(complaint(json), "streams[0].arrives_as");
}

TEST(Messages, TwoStreamsOfOneSourceMayTakeTurns) {
  Json json = trial_request();
  json["streams"][0]["frames"] = 90;
  json["streams"][0]["rate_fps"] = 900;
  Json second = json["streams"][0];
  second.update({{"name", "background"}, {"frames", 10}, {"rate_fps", 100}, {"interleaved_with", "forward"}});
  json["streams"].push_back(second);
  EXPECT_EQ(read_trial(json).spec.streams[1].interleaved_with, 0U);
  const auto changed = [&](const Json& change) {
    Json other = json;
    other["streams"][1].update(change);
    return complaint(other);
  };
  for (const Json& change : std::vector<Json>{{{"interleaved_with", "background"}},
                                              {{"interleaved_with", 1}},
                                              {{"source", "right"}},
                                              {{"rate_fps", 101}},
                                              {{"frames", 10'007}, {"rate_fps", 100'070}}}) {
    EXPECT_EQ(changed(change), "streams[1].interleaved_with") << change;
  }
  second["name"] = "third";
  json["streams"].push_back(second);
  EXPECT_EQ(complaint(json), "streams[2].interleaved_with");
}

TEST(Messages, ATrialMayEndItsDrainEarly) {
  Json json = trial_request();
  json["drain_ends_early"] = true;
  EXPECT_TRUE(read_trial(json).spec.drain_ends_early);
}

TEST(Messages, ATrialMayBeginAtAMoment) {
  Json json = trial_request();
  EXPECT_FALSE(read_trial(json).spec.begin_at_ns.has_value());
  json["begin_at_ns"] = 123'456'789'012;
  TrialRequest request = read_trial(json);
  EXPECT_EQ(request.spec.begin_at_ns, 123'456'789'012U);
  TrialReport report;
  report.began = 7;
  report.streams.resize(1);
  EXPECT_EQ(write_trial(request, report, Clock{1'000'000'000})["began_ns"], 7);
  for (const Json& wrong : {Json(-1), Json(1.5), Json("now"), Json(std::uint64_t{1} << 61)}) {
    json["begin_at_ns"] = wrong;
    EXPECT_THROW(read_trial(json), FieldError) << wrong;
  }
}

TEST(Messages, AStreamOfPhaseTwoMayUseSomeConnectionsOnly) {
  Json json = trial_request();
  json["streams"][0].erase("flows");
  json["streams"][0]["kind"] = "replies";
  EXPECT_FALSE(read_trial(json).spec.streams[0].active_connections.has_value());
  json["streams"][0]["active_connections"] = 7;
  EXPECT_EQ(read_trial(json).spec.streams[0].active_connections, 7U);
}

TEST(Messages, PhaseOneSaysWhetherFourTuplesMayRepeat) {
  Json json = trial_request();
  EXPECT_FALSE(read_trial(json).spec.phase1);
  json["streams"][0]["role"] = "phase1";
  EXPECT_EQ(complaint(json), "streams[0].selection");
  json["streams"][0]["selection"] = "enumerate";
  EXPECT_TRUE(read_trial(json).spec.phase1);
  json["streams"][0]["selection"] = "random";
  EXPECT_EQ(read_trial(json).spec.streams[0].selection, Selection::random);
  json["streams"][0].erase("flows");
  for (const char* kind : {"replies", "connections"}) {
    json["streams"][0]["kind"] = kind;
    EXPECT_EQ(complaint(json), "streams[0].kind");
  }
}

TEST(Messages, EachStreamOfPhaseOneHasAPairOfItsOwn) {
  Json json = trial_request();
  json["streams"][0]["role"] = "phase1";
  json["streams"][0]["selection"] = "enumerate";
  Json further = json["streams"][0];
  further["pair"] = 2;
  json["streams"].push_back(further);
  EXPECT_EQ(read_trial(json).spec.streams.at(1).pair, 2U);
  json["streams"].push_back(further);
  EXPECT_EQ(complaint(json), "streams[2].pair");
  json["streams"][2]["pair"] = 3;
  EXPECT_EQ(read_trial(json).spec.streams.size(), 3U);
  json["streams"][2]["role"] = "foreground";
  EXPECT_EQ(complaint(json), "streams[2].role");
  std::swap(json["streams"][0], json["streams"][2]);
  EXPECT_EQ(complaint(json), "streams[1].role");
}

TEST(Messages, ATrialMayUseTheConnectionsThatItMakes) {
  Json json = trial_request();
  json["streams"][0]["role"] = "phase1";
  json["streams"][0]["selection"] = "enumerate";
  Json reply = json["streams"][0];
  reply["role"] = "foreground";
  reply["kind"] = "replies";
  reply.erase("flows");
  reply.erase("selection");
  json["streams"].push_back(reply);
  const TrialSpec spec = read_trial(json).spec;
  EXPECT_TRUE(spec.phase1);
  EXPECT_FALSE(spec.is_prompt(spec.streams.at(0)));
  EXPECT_TRUE(spec.is_prompt(spec.streams.at(1)));
  json["streams"][1]["pair"] = 2;
  EXPECT_EQ(complaint(json), "streams[1].role");
}

TEST(Messages, AStreamSaysWhatItIsFor) {
  Json json = trial_request();
  EXPECT_EQ(read_trial(json).spec.streams[0].role, StreamRole::foreground);
  for (const char* role : {"foreground", "background", "phase1", "validation"}) {
    json["streams"][0]["role"] = role;
    json["streams"][0]["selection"] = "enumerate";
    json["streams"][0]["pair"] = 3;
    const TrialRequest request = read_trial(json);
    TrialReport report;
    report.streams.resize(1);
    EXPECT_TRUE(write_trial(request, report, Clock{1'000'000'000})["streams"][0]["lost_stride"].is_null());
    report.streams[0].lost_stride = 16;
    const Json told = write_trial(request, report, Clock{1'000'000'000})["streams"][0];
    EXPECT_EQ(told["lost_stride"], 16);
    EXPECT_EQ(told["role"], role);
    EXPECT_EQ(told["pair"], 3);
    EXPECT_EQ(told["source"], json["streams"][0]["source"]);
  }
  json["streams"][0]["role"] = "middle";
  EXPECT_THROW(read_trial(json), FieldError);
}

TEST(Messages, PortsComeInPairs) {
  const Json left = {{"side", "left"}, {"device", "net_null0"}, {"medium", "loop"}};
  Json right = left;
  right["side"] = "right";
  right["device"] = "net_null1";
  right["mac"] = "02:00:00:00:00:01";
  EXPECT_EQ(read_ports_open({{"ports", {left, right}}}, {}).ports.size(), 2U);
  EXPECT_THROW(read_ports_open({{"ports", {left, left}}}, {}), FieldError);
  EXPECT_THROW(read_ports_open({{"ports", Json::array({left})}}, {}), FieldError);
  right["mac"] = "02:00";
  EXPECT_THROW(read_ports_open({{"ports", {left, right}}}, {}), FieldError);
}

TEST(Messages, PairsOfPortsAreComplete) {
  const auto port = [](const char* side, int pair) {
    return Json{
        {"side", side}, {"pair", pair}, {"device", fmt::format("net_null{}{}", side, pair)}, {"medium", "loop"}};
  };
  const Json first = port("left", 0);
  const Json second = port("right", 0);
  const auto opened = read_ports_open({{"ports", {port("right", 1), first, second, port("left", 1)}}}, {}).ports;
  EXPECT_EQ(opened.at(0).place(), (Place{Side::right, 1}));
  EXPECT_EQ(opened.at(1).place(), (Place{Side::left, 0}));
  // Other testers have the other pairs.
  EXPECT_EQ(read_ports_open({{"ports", {port("left", 2), port("right", 2)}}}, {}).ports.at(1).pair, 2U);
  for (const Json& wrong :
       std::vector<Json>{{first, second, port("left", 1)},
                         {first, second, port("left", 1), port("right", 2)},
                         {first, second, port("left", 1), port("left", 1)},
                         {first, second, port("left", 1), port("right", static_cast<int>(kMostPairs))},
                         Json::array()}) {
    EXPECT_THROW(read_ports_open({{"ports", wrong}}, {}), FieldError) << wrong;
  }
}

TEST(Messages, PortsOnOneDeviceDifferInTheirVlans) {
  const Json written = {{"side", "left"}, {"device", "net_null0"}, {"medium", "loop"}, {"vlan", 10}};
  Json left = written;
  Json right = written;
  right["side"] = "right";
  const auto field = [&]() -> std::string {
    try {
      read_ports_open({{"ports", {left, right}}}, {});
    } catch (const FieldError& error) {
      return error.field();
    }
    return "none";
  };
  EXPECT_EQ(field(), "ports[1].vlan");
  right["vlan"] = 4094;
  EXPECT_EQ(field(), "none");
  EXPECT_EQ(read_ports_open({{"ports", {left, right}}}, {}).ports[1].vlan, (Vlan{4094, {}}));
  right["queues"] = 2;
  EXPECT_EQ(field(), "ports[1]");
  left["queues"] = 2;
  EXPECT_EQ(field(), "none");
  right.erase("vlan");
  EXPECT_EQ(field(), "ports[1].vlan");
  right["device"] = "net_null1";
  EXPECT_EQ(field(), "none");
  for (const Json& wrong : {Json(0), Json(4095), Json("10")}) {
    right["vlan"] = wrong;
    EXPECT_EQ(field(), "ports[1].vlan");
  }
  right["vlan"] = 10;
  right["service_vlan"] = 300;
  EXPECT_EQ(read_ports_open({{"ports", {left, right}}}, {}).ports[1].vlan, (Vlan{10, 300}));
  right["service_vlan"] = 4095;
  EXPECT_EQ(field(), "ports[1].service_vlan");
  right["service_vlan"] = 300;
  right.erase("vlan");
  EXPECT_EQ(field(), "ports[1].vlan");
}

TEST(Messages, AGatewayIsAskedForItsMacAddressUnlessThatIsGiven) {
  Json link = {{"side", "left"}, {"address", "2001:2::2"}};
  const auto read = [&] { return read_neighbors_resolve({{"neighbors", Json::array({link})}}).links.front(); };
  EXPECT_THROW(read(), FieldError);
  link["gateway"] = "2001:2::1";
  EXPECT_FALSE(read().gateway_mac.has_value());
  link["gateway_mac"] = "02:00:00:00:00:11";
  EXPECT_EQ(read().gateway_mac, parse_mac("02:00:00:00:00:11"));
  link.erase("gateway");
  EXPECT_EQ(read().gateway, (AnyAddress{Family::ipv6, 0}));
  link["gateway_mac"] = "02:00";
  EXPECT_THROW(read(), FieldError);
}

TEST(Messages, CoresOfAPortAreTheProgramsOwn) {
  Json left = {{"side", "left"}, {"device", "net_null0"}, {"medium", "loop"}, {"send_cores", {5}}};
  const Json right = {{"side", "right"}, {"device", "net_null1"}, {"medium", "loop"}, {"receive_cores", {3, 5}}};
  const std::vector cores = {3U, 5U};
  const auto read = [&] { return read_ports_open({{"ports", {left, right}}}, cores).ports; };
  EXPECT_EQ(read()[0].senders, std::vector<std::size_t>{1});
  EXPECT_TRUE(read()[0].receivers.empty());
  EXPECT_EQ(read()[1].receivers, (std::vector<std::size_t>{0, 1}));
  EXPECT_THROW(read_ports_open({{"ports", {left, right}}}, {}), FieldError);
  for (const Json& wrong : {Json(4), Json(-3), Json("3"), Json(3.5), Json(true), Json()}) {
    left["send_cores"] = Json::array({3, wrong});
    try {
      read();
      ADD_FAILURE() << wrong;
    } catch (const FieldError& error) {
      EXPECT_EQ(error.field(), "ports[0].send_cores[1]");
    }
  }
  const std::vector<std::pair<Json, std::string>> refused{{Json::array({3, 3}), "ports[0].send_cores[1]"},
                                                          {Json::array(), "ports[0].send_cores"}};
  for (const auto& [wrong, field] : refused) {
    left["send_cores"] = wrong;
    try {
      read();
      ADD_FAILURE() << wrong;
    } catch (const FieldError& error) {
      EXPECT_EQ(error.field(), field);
    }
  }
  left["send_cores"] = 3;
  EXPECT_THROW(read(), FieldError);
}

TEST(Messages, CoresOfTheDutAreNumbers) {
  const Json ports = {{{"side", "left"}, {"device", "net_null0"}, {"medium", "loop"}},
                      {{"side", "right"}, {"device", "net_null1"}, {"medium", "loop"}}};
  EXPECT_TRUE(read_ports_open({{"ports", ports}}, {}).dut_cores.empty());
  EXPECT_EQ(read_ports_open({{"ports", ports}, {"dut_cores", {1, 7}}}, {}).dut_cores, (std::vector{1U, 7U}));
  for (const Json& wrong : {Json(-1), Json("1"), Json(1.5), Json(CPU_SETSIZE)}) {
    EXPECT_THROW(read_ports_open({{"ports", ports}, {"dut_cores", Json::array({wrong})}}, {}), FieldError) << wrong;
  }
  EXPECT_THROW(read_ports_open({{"ports", ports}, {"dut_cores", 1}}, {}), FieldError);
}

TEST(Messages, AResultCarriesEveryCounter) {
  TrialRequest request = read_trial(trial_request());
  request.delay_histogram = true;
  TrialReport report;
  report.streams.resize(1);
  report.streams[0].sent = 10;
  report.streams[0].received = 8;
  report.streams[0].delay.record(1000);
  report.streams[0].pacing.lateness.record(7);
  report.ports.resize(2);
  report.ports[1].foreign[FrameKind::arp] = 2;
  report.samples.push_back({{Side::right, 1}, FrameKind::tcp, 5, {0xDE, 0xAD, 0xBE, 0xEF}});
  report.verdict = Verdict::fail;
  report.cause = Cause::loss;
  const Json json = write_trial(request, report, Clock{1'000'000'000});
  EXPECT_EQ(json["verdict"], "fail");
  EXPECT_TRUE(json["began_ns"].is_null());
  EXPECT_EQ(json["cause"], "loss");
  report.cause = Cause::suspended;  // the last one
  EXPECT_EQ(write_trial(request, report, Clock{1'000'000'000})["cause"], "suspended");
  EXPECT_EQ(json["streams"][0]["lost"], 2);
  EXPECT_EQ(json["streams"][0]["delay"]["median_ns"], 1000);
  EXPECT_EQ(json["streams"][0]["delay"]["histogram"][0][1], 1);
  EXPECT_EQ(json["streams"][0]["pacing"]["histogram"], Json::parse("[[7, 1]]"));
  EXPECT_EQ(json["ports"][1]["foreign"]["arp"], 2);
  EXPECT_EQ(json["samples"][0]["data_base64"], "3q2+7w==");
  EXPECT_EQ(json["samples"][0]["pair"], 1);
  EXPECT_TRUE(json["established"].is_null());
}

TEST(Messages, TheClockIsInNanosecondsBesideTheKernels) {
  const Json json = write_clock({5'000, 1'900, 50}, Clock{2'500'000'000});
  EXPECT_EQ(json, Json::parse(R"({"clock_ns": 2000, "raw_ns": 1900, "uncertainty_ns": 20})"));
}

}  // namespace
}  // namespace natxy
