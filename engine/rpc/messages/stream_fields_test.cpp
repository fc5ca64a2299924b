// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rpc/messages/trial_request.hpp"

namespace natxy {
namespace {

TEST(StreamFields, AFormInASoftwireNeedsItsAddresses) {
  for (const char* field : {"form", "arrival_form"}) {
    Json json = trial_request();
    Json& frame = json["streams"][0]["frame"];
    frame[field] = "softwire-from-edge";
    EXPECT_THROW(read_trial(json), FieldError) << field;
    frame["softwire"] = {{"core", "2001:db8::1"}, {"subscribers", {{"address", "2001:db8::2"}}}};
    EXPECT_EQ(read_trial(json).spec.streams[0].softwire.core & 0xFF, 1U) << field;
  }
}

TEST(StreamFields, AFormOfTcpNeedsItsSegment) {
  Json json = trial_request();
  Json& frame = json["streams"][0]["frame"];
  frame["form"] = "tcp";
  EXPECT_EQ(complaint(json), "streams[0].frame.segment");
  frame["segment"] = {
      {"sender", "responder"}, {"flags", "FS"}, {"sequence", 5}, {"acknowledged", 7}, {"largest", 1460}};
  EXPECT_EQ(complaint(json), "streams[0].frame.segment.flags");
  frame["segment"]["flags"] = "SA";
  const Segment segment = read_trial(json).spec.streams[0].segment;
  EXPECT_FALSE(segment.of_initiator);
  EXPECT_EQ(segment.flags, kTcpSyn | kTcpAck);
  EXPECT_EQ(segment.sequence, 5U);
  EXPECT_EQ(segment.acknowledged, 7U);
  EXPECT_EQ(segment.largest, 1460);
  frame["segment"].erase("acknowledged");
  EXPECT_EQ(complaint(json), "streams[0].frame.segment.acknowledged");
  frame["segment"]["acknowledged"] = 0;
  frame["arrival_form"] = "udp";
  EXPECT_EQ(complaint(json), "streams[0].frame.arrival_form");
  frame["arrival_form"] = "tcp";
  frame["size"] = {128, 256};
  EXPECT_EQ(complaint(json), "streams[0].frame.size");
}

TEST(StreamFields, AMappedFormNeedsItsAddresses) {
  for (const char* field : {"form", "arrival_form"}) {
    Json json = trial_request();
    Json& frame = json["streams"][0]["frame"];
    frame[field] = "map-from-core";
    EXPECT_EQ(complaint(json), "streams[0].frame.mapping");
    frame["mapping"] = {{"prefix", "64:ff9b::/96"},
                        {"subscribers", {{"address", "2001:db8::2"}, {"ports", {{"lowest", 1024}, {"mask", 4}}}}}};
    const Mapping mapping = read_trial(json).spec.streams[0].mapping;
    EXPECT_EQ(mapping.prefix.high, 0x64FF9BULL << 32);
    EXPECT_EQ(mapping.subscribers.ports.lowest, 1024U);
    EXPECT_EQ(mapping.subscribers.ports.mask, 4U);
    frame["mapping"]["subscribers"]["address_mask"] = 1;  // several, and no identifier that tells them apart
    EXPECT_EQ(complaint(json), "streams[0].frame.mapping.subscribers");
    frame["mapping"]["subscribers"]["identifier"] = true;
    EXPECT_NO_THROW(read_trial(json));
    frame["mapping"]["subscribers"]["address_mask"] = 0xFFFF'FFFF;
    frame["mapping"]["subscribers"]["address_shift"] = 63;
    EXPECT_EQ(complaint(json), "streams[0].frame.mapping.subscribers");
    frame["mapping"]["subscribers"]["address_shift"] = 0;
    frame["mapping"]["prefix"] = "64:ff9b::/95";
    EXPECT_EQ(complaint(json), "streams[0].frame.mapping.prefix");
  }
}

TEST(StreamFields, SubscribersMayHaveATableOfAddresses) {
  Json json = trial_request();
  Json& frame = json["streams"][0]["frame"];
  frame["form"] = "softwire-from-edge";
  frame["softwire"] = {
      {"core", "2001:db8::1"},
      {"table", {"2001:db8::5", "2001:db8::6", "2001:db8::7", "2001:db8:1::8"}},
      {"subscribers",
       {{"address", "::"}, {"address_mask", 1}, {"address_shift", 1}, {"psid_mask", 1}, {"psid_drop", 9}}}};
  const StreamSpec stream = read_trial(json).spec.streams[0];
  const SubscriberRule& rule = stream.softwire.subscribers;
  const std::uint64_t address = 0xC000'0201, port = 3 << 9;
  EXPECT_EQ(rule.high_of(address, port), 0x2001'0DB8'0001'0000U);
  EXPECT_EQ(rule.low_of(address, port), 8U);
  EXPECT_EQ(rule.low_of(address, std::uint64_t{0}), 7U);
  Json& softwire = frame["softwire"];
  softwire["table"].erase(3);
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.table");
  softwire["table"].push_back("192.0.2.1");
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.table[3]");
  softwire["table"][3] = "::9";
  EXPECT_EQ(complaint(json), "none");
  softwire["subscribers"]["identifier"] = true;
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.table");
  softwire["subscribers"]["identifier"] = false;
  for (const char* turned : {"address_xor", "psid_xor"}) {
    softwire["subscribers"][turned] = 1;
    EXPECT_EQ(complaint(json), "none");
    softwire["subscribers"][turned] = 2;  // a bit that no mask has
    EXPECT_EQ(complaint(json), "streams[0].frame.softwire.subscribers");
    softwire["subscribers"].erase(turned);
  }
  softwire["inner_address"] = "192.0.0.2";
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.inner_address");
}

TEST(StreamFields, HomesWithOneInnerAddressAreToldByTheirIdentifier) {
  Json json = trial_request();
  Json& frame = json["streams"][0]["frame"];
  frame["form"] = "softwire-from-edge";
  frame["softwire"] = {{"core", "2001:db8::1"},
                       {"inner_address", "192.0.0.2"},
                       {"subscribers", {{"address", "2001:db8::2"}, {"address_mask", 1}}}};
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.inner_address");
  Json& subscribers = frame["softwire"]["subscribers"];
  subscribers["identifier"] = true;
  EXPECT_EQ(read_trial(json).spec.streams[0].softwire.inner_address, 0xC000'0002U);
  EXPECT_FALSE(read_trial(json).spec.streams[0].softwire.may_lack_checksum);
  frame["softwire"]["may_lack_checksum"] = true;
  EXPECT_TRUE(read_trial(json).spec.streams[0].softwire.may_lack_checksum);
  subscribers["psid_mask"] = 1;
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.inner_address");
  subscribers["psid_mask"] = 0;
  frame["softwire"]["inner_address"] = "::1";
  EXPECT_EQ(complaint(json), "streams[0].frame.softwire.inner_address");
}

TEST(StreamFields, QueriesGoToOnePortOfOneAddress) {
  Json json = trial_request();
  Json& stream = json["streams"][0];
  stream["queries"] = {{"prefix", "64:ff9b::/96"}, {"cached_percent", 20}, {"aaaa_percent", 40}};
  EXPECT_EQ(complaint(json), "streams[0].flows");
  stream["flows"] = {{"source_address", {{"address", "2001:2::2"}}},
                     {"destination_address", {{"address", "2001:2::1"}}},
                     {"source_port", {{"min", 1024}, {"max", 65535}}},
                     {"destination_port", {{"min", 53}, {"max", 53}}}};
  const StreamSpec read = read_trial(json).spec.streams[0];
  EXPECT_EQ(read.queries->shares.cached_percent, 20U);
  EXPECT_EQ(read.queries->shares.aaaa_percent, 40U);
  EXPECT_EQ(read.to(), read.from());
  stream["queries"]["cached_percent"] = 101;
  EXPECT_EQ(complaint(json), "streams[0].queries.cached_percent");
  stream["queries"] = {{"prefix", "64:ff9b::/95"}};
  EXPECT_EQ(complaint(json), "streams[0].queries.prefix");
  stream["queries"]["prefix"] = "64:ff9b::/96";
  stream["flows"]["destination_port"]["max"] = 54;
  EXPECT_EQ(complaint(json), "streams[0].flows");
  stream["flows"]["destination_port"] = {{"min", 80}, {"max", 80}};
  EXPECT_EQ(complaint(json), "streams[0].flows");
}

}  // namespace
}  // namespace natxy
