// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "packet/bytes.hpp"
#include "trial/runner/ring_bed.hpp"

// Trials of MAP-T: between subscribers, at the left port, and IPv4 hosts, at the right one, through a border relay; and
// between the IPv4 hosts behind one subscriber, at the left port, and the core, at the right one.
namespace natxy {
namespace {

using Frame = std::vector<std::uint8_t>;

constexpr std::size_t kSize = 128;  // of frames of IPv4
constexpr std::size_t kLonger = kIpv6Bytes - kIpv4Bytes;
constexpr std::uint64_t kHigh = 0x2001'0002'0000'0000;
constexpr std::uint64_t kFarHigh = 0x2001'0002'00FF'0000;

/// Sixteen subscribers share each address, and their ports begin with 4 bits that tell them apart.
constexpr Mapping kMapping = {.subscribers = {.high = kHigh,
                                              .address_mask = 0xFF,
                                              .address_shift = 8,
                                              .psid_mask = 0xF,
                                              .psid_drop = 12,
                                              .psid_shift = 4,
                                              .identifier = true},
                              .prefix = {.high = kFarHigh, .low = 0, .after = 32, .shift = 24}};

uint128 subscriber_of(std::uint32_t address, std::uint16_t port) {
  const std::uint64_t psid = port / 4096, number = address & 0xFF;
  return uint128{kHigh + number * 256 + psid * 16} << 64 | (std::uint64_t{address} << 16) | psid;
}

uint128 far_host(std::uint32_t address) { return uint128{kFarHigh} << 64 | std::uint64_t{address} << 24; }

/// Puts both checksums of a frame of IPv4 or the one of IPv6, byte pair by byte pair.
void put_checksums(Frame& frame) {
  const bool v4 = load_be16(&frame[12]) == kEtherTypeIpv4;
  const std::size_t udp = kEthernetBytes + (v4 ? kIpv4Bytes : kIpv6Bytes);
  const auto sum = [&](std::size_t from, std::size_t to) {
    std::uint32_t total = 0;
    for (; from < to; ++from) total += static_cast<std::uint32_t>(frame[from] << (from % 2 == 0 ? 8 : 0));
    return total;
  };
  const auto complement = [](std::uint32_t total) {
    while (total > 0xFFFF) total = (total & 0xFFFF) + (total >> 16);
    return static_cast<std::uint16_t>(~total);
  };
  if (v4) {
    store_be16(&frame[24], 0);
    store_be16(&frame[24], complement(sum(kEthernetBytes, udp)));
  }
  store_be16(&frame[udp + 6], 0);
  const auto length = static_cast<std::uint32_t>(frame.size() - udp);
  const std::uint32_t all = sum(kEthernetBytes + (v4 ? 12 : 8), frame.size()) + kProtocolUdp + length;
  store_be16(&frame[udp + 6], never_zero(complement(all)));
}

/// Translates a frame to IPv4, as both boxes do.
Frame to_ipv4(Bytes frame, std::uint32_t source, std::uint32_t destination) {
  Frame made(frame.begin(), frame.begin() + kEthernetBytes);
  made.resize(kEthernetBytes + kIpv4Bytes);
  made.insert(made.end(), frame.begin() + kEthernetBytes + kIpv6Bytes, frame.end());
  store_be16(&made[12], kEtherTypeIpv4);
  made[14] = 0x45;
  store_be16(&made[16], static_cast<std::uint16_t>(made.size() - kEthernetBytes));
  made[22] = 63;
  made[23] = kProtocolUdp;
  store_be32(&made[26], source);
  store_be32(&made[30], destination);
  put_checksums(made);
  return made;
}

Frame to_ipv6(Bytes frame, uint128 source, uint128 destination) {
  Frame made(frame.begin(), frame.begin() + kEthernetBytes);
  made.resize(kEthernetBytes + kIpv6Bytes);
  made.insert(made.end(), frame.begin() + kEthernetBytes + kIpv4Bytes, frame.end());
  store_be16(&made[12], kEtherTypeIpv6);
  made[14] = 0x60;
  store_be16(&made[18], static_cast<std::uint16_t>(made.size() - kEthernetBytes - kIpv6Bytes));
  made[20] = kProtocolUdp;
  made[21] = 63;
  store_be128(&made[22], source);
  store_be128(&made[38], destination);
  put_checksums(made);
  return made;
}

/// The border relay.
Frame relay(Side from, Bytes frame) {
  if (from == Side::left) return to_ipv4(frame, load_be32(&frame[32]), load_be32(&frame[47]));
  return to_ipv6(frame, far_host(load_be32(&frame[26])), subscriber_of(load_be32(&frame[30]), load_be16(&frame[36])));
}

/// Sends from a side the frames that its neighbour expects: mapped from the left, those of IPv4 from the right.
StreamSpec of_side(Side side, std::uint64_t frames) {
  StreamSpec spec = stream(side == Side::left ? "forward" : "reverse", side, Family::ipv4, frames);
  const bool up = side == Side::left;
  spec.form = up ? Form::map_from_edge : Form::udp;
  spec.arrival_form = up ? Form::udp : Form::map_from_core;
  spec.mapping = kMapping;
  spec.frame_sizes = {up ? kSize + kLonger : kSize};
  spec.flows->source_port = {0, 65'535, Order::pseudorandom};
  spec.flows->destination_port = {0, 65'535, Order::pseudorandom};
  return spec;
}

TEST(Mapping, FramesLeaveAndArriveWithTheAddressesOfTheirSubscribers) {
  RingBed bed;
  std::set<uint128> subscribers;
  bed.translate = [&](Side from, Bytes frame) {
    if (from == Side::left) {
      const uint128 source = load_be128(&frame[22]);
      EXPECT_EQ(source, subscriber_of(0xC612'0002, load_be16(&frame[54])));
      EXPECT_EQ(load_be128(&frame[38]), far_host(0xC612'0003));
      subscribers.insert(source);
    }
    return relay(from, frame);
  };
  for (const StreamReport& each : bed.run(trial({of_side(Side::left, 2000), of_side(Side::right, 2000)})).streams) {
    EXPECT_EQ(each.received, 2000U);
    EXPECT_EQ(each.corrupt + each.misrouted, 0U);
  }
  EXPECT_EQ(subscribers.size(), 16U);
}

/// Returns phase 1 or 2 of a trial with connections, in which the streams of both sides are like `of_side`.
TrialSpec phase_one(StreamSpec initiator) {
  initiator.selection = Selection::enumerate;
  TrialSpec spec = trial({std::move(initiator)});
  spec.phase1 = true;
  return spec;
}
TrialSpec phase_two(std::vector<StreamSpec> streams) {
  for (StreamSpec& spec : streams) {
    spec.kind = spec.source == Side::left ? StreamKind::connections : StreamKind::replies;
    spec.flows.reset();
  }
  return trial(std::move(streams));
}

TEST(Mapping, ConnectionsOfSubscribersAreMadeAndAnswered) {
  RingBed bed;
  bed.translate = relay;
  EXPECT_EQ(bed.run(phase_one(of_side(Side::left, 1000))).streams[0].received, 1000U);
  const auto second = bed.run(phase_two({of_side(Side::left, 1500), of_side(Side::right, 1500)}));
  for (const StreamReport& each : second.streams) {
    EXPECT_EQ(each.received, 1500U);
    EXPECT_EQ(each.misrouted, 0U);
  }
}

/// The public address and the PSID of the subscriber that is the gateway.
constexpr std::uint32_t kPublic = 0xC612'0109;
constexpr std::uint16_t kPsid = 5;

/// Sends from hosts behind a subscriber, at the left port, or from the core, with frames of IPv4 and mapped ones.
StreamSpec of_one(Side side, std::uint64_t frames) {
  StreamSpec spec = of_side(side, frames);
  const bool up = side == Side::left;
  spec.form = up ? Form::udp : Form::map_from_core;
  spec.arrival_form = up ? Form::map_from_edge : Form::udp;
  spec.frame_sizes = {up ? kSize : kSize + kLonger};
  const uint128 address = subscriber_of(kPublic, kPsid * 4096);
  spec.mapping.subscribers = {.high = static_cast<std::uint64_t>(address >> 64),
                              .low = static_cast<std::uint64_t>(address),
                              .ports = {.lowest = 0, .mask = 0xF000, .value = kPsid * 4096}};
  spec.flows->source_port = {1000, 4999, Order::pseudorandom};
  spec.flows->destination_port = {80, 80, Order::pseudorandom};
  return spec;
}

/// The subscriber's box with its NAT, which moves ports into its set.
struct Box {
  std::uint32_t host = 0;
  std::uint16_t psid = kPsid;

  Frame operator()(Side from, Bytes frame) {
    Frame moved(frame.begin(), frame.end());
    if (from == Side::left) {
      host = load_be32(&frame[26]);
      store_be16(&moved[34], static_cast<std::uint16_t>(load_be16(&frame[34]) - 1000 + psid * 4096));
      return to_ipv6(moved, subscriber_of(kPublic, kPsid * 4096), far_host(load_be32(&frame[30])));
    }
    store_be16(&moved[56], static_cast<std::uint16_t>(load_be16(&frame[56]) + 1000 - kPsid * 4096));
    return to_ipv4(moved, load_be32(&frame[31]), host);
  }
};

TEST(Mapping, ConnectionsBehindASubscriberAreMadeAndAnswered) {
  RingBed bed;
  bed.translate = Box{};
  EXPECT_EQ(bed.run(phase_one(of_one(Side::left, 1000))).streams[0].received, 1000U);
  const auto* seen = bed.connections.seen.of<Family::ipv4>();
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->at(7).source, kPublic);
  EXPECT_EQ(seen->at(7).destination, 0xC612'0003U);
  EXPECT_EQ(seen->at(7).source_port / 4096, kPsid);
  const auto second = bed.run(phase_two({of_one(Side::left, 1500), of_one(Side::right, 1500)}));
  for (const StreamReport& each : second.streams) {
    EXPECT_EQ(each.received, 1500U);
    EXPECT_EQ(each.misrouted, 0U);
  }
}

void expect_fault(StreamSpec spec, FrameKind kind, std::function<Frame(Side, Bytes)> right,
                  std::function<Frame(Side, Bytes)> fault) {
  RingBed bed;
  bed.translate = [&, count = 0](Side from, Bytes frame) mutable {
    return count++ < 100 ? fault(from, frame) : right(from, frame);
  };
  const TrialReport report = bed.run(trial({std::move(spec)}));
  EXPECT_EQ(report.streams[0].received, 400U) << name_of(kind);
  std::uint64_t found = 0;
  for (const PortReport& port : report.ports) {
    if (const auto counted = port.foreign.find(kind); counted != port.foreign.end()) found += counted->second;
  }
  EXPECT_EQ(found, 100U) << name_of(kind);
  EXPECT_FALSE(report.samples.empty());
}

TEST(Mapping, EachFaultOfABorderRelayHasACounter) {
  const auto expect = [](FrameKind kind, const std::function<void(Frame&)>& spoil) {
    expect_fault(of_side(Side::right, 500), kind, relay, [&](Side from, Bytes frame) {
      Frame wrong = relay(from, frame);
      spoil(wrong);
      put_checksums(wrong);
      return wrong;
    });
  };
  expect(FrameKind::wrong_mapping, [](Frame& frame) { frame[38 + 7] ^= 0x10; });                       // the PSID
  expect(FrameKind::wrong_mapping, [](Frame& frame) { frame[38 + 7] ^= 0x10, frame[38 + 15] ^= 1; });  // in both places
  expect(FrameKind::wrong_mapping, [](Frame& frame) { frame[38 + 13] ^= 1; });                         // the address
  expect(FrameKind::wrong_mapping, [](Frame& frame) { frame[22 + 5] ^= 1; });                          // the prefix
  expect(FrameKind::wrong_mapping, [](Frame& frame) { frame[22 + 8] = 1; });                           // bits 64 to 71
  expect_fault(of_side(Side::right, 500), FrameKind::not_mapped, relay,
               [](Side, Bytes frame) { return Frame(frame.begin(), frame.end()); });
  expect_fault(of_side(Side::right, 500), FrameKind::in_softwire, relay, [](Side, Bytes frame) {
    Frame outer(frame.begin(), frame.begin() + kEthernetBytes);
    store_be16(&outer[12], kEtherTypeIpv6);
    outer.resize(kEthernetBytes + kIpv6Bytes);
    outer[14] = 0x60;
    store_be16(&outer[18], static_cast<std::uint16_t>(frame.size() - kEthernetBytes));
    outer[20] = kProtocolIpv4;
    outer[21] = 64;
    outer.insert(outer.end(), frame.begin() + kEthernetBytes, frame.end());
    return outer;
  });
}

TEST(Mapping, EachFaultOfASubscribersBoxHasACounter) {
  expect_fault(of_one(Side::left, 500), FrameKind::outside_port_set, Box{}, Box{.psid = kPsid + 1});
  expect_fault(of_one(Side::left, 500), FrameKind::wrong_mapping, Box{}, [](Side from, Bytes frame) {
    Frame wrong = Box{}(from, frame);
    wrong[22 + 15] ^= 1;  // the PSID in its identifier
    put_checksums(wrong);
    return wrong;
  });
}

TEST(Mapping, ACorruptFrameIsCounted) {
  RingBed bed;
  bed.translate = [count = 0](Side from, Bytes frame) mutable {
    Frame made = relay(from, frame);
    if (count++ < 100) made.back() ^= 1;
    return made;
  };
  const StreamReport report = bed.run(trial({of_side(Side::right, 500)})).streams[0];
  EXPECT_EQ(report.received, 400U);
  EXPECT_EQ(report.corrupt, 100U);
}

TEST(Mapping, OnlyIpv4IsMapped) {
  RingBed bed;
  StreamSpec spec = stream("forward", Side::left, Family::ipv6, 10);
  spec.form = Form::map_from_edge;
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
  spec = of_side(Side::left, 10);
  spec.frame_sizes = {83};
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
}

}  // namespace
}  // namespace natxy
