// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "trial/runner/ring_bed.hpp"

// Trials between subscribers, at the left port, and the core of their softwires: each frame from the left is an IPv4
// packet in an IPv6 packet.
namespace natxy {
namespace {

using Frame = std::vector<std::uint8_t>;

constexpr std::size_t kSize = 128;
constexpr std::uint64_t kHigh = 0x2001'0002'0000'0000;

/// Sixteen subscribers share each address, and their ports begin with 4 bits that tell them apart.
constexpr Softwire kSoftwire = {.core = uint128{0x2001'0002'00AF'0000} << 64 | 1,
                                .subscribers = {.high = kHigh,
                                                .address_mask = 0xFF,
                                                .address_shift = 8,
                                                .psid_mask = 0xF,
                                                .psid_drop = 12,
                                                .psid_shift = 4,
                                                .identifier = true}};

uint128 subscriber_of(std::uint32_t address, std::uint16_t port) {
  const std::uint64_t psid = port / 4096, number = address & 0xFF;
  return uint128{kHigh + number * 256 + psid * 16} << 64 | (std::uint64_t{address} << 16) | psid;
}

/// Takes a frame out of its softwire, as the core does.
Frame taken_out(Bytes frame) {
  Frame inner(frame.begin(), frame.end());
  inner.erase(inner.begin() + kEthernetBytes, inner.begin() + kEthernetBytes + kIpv6Bytes);
  store_be16(&inner[12], kEtherTypeIpv4);
  return inner;
}

/// Puts a frame for a subscriber into its softwire.
Frame put_in(Bytes frame, uint128 source, uint128 destination) {
  Frame outer(frame.begin(), frame.end());
  outer.insert(outer.begin() + kEthernetBytes, kIpv6Bytes, 0);
  store_be16(&outer[12], kEtherTypeIpv6);
  outer[14] = 0x60;
  store_be16(&outer[18], static_cast<std::uint16_t>(frame.size() - kEthernetBytes));
  outer[20] = kProtocolIpv4;
  outer[21] = 64;
  store_be128(&outer[22], source);
  store_be128(&outer[38], destination);
  return outer;
}

Frame put_in(Bytes frame) {
  const std::uint8_t* ip = frame.data() + kEthernetBytes;
  return put_in(frame, kSoftwire.core, subscriber_of(load_be32(ip + 16), load_be16(ip + kIpv4Bytes + 2)));
}

Frame core(Side from, Bytes frame) { return from == Side::left ? taken_out(frame) : put_in(frame); }

/// Sends from a side the frames that its neighbour expects: in a softwire from the left, without one from the right.
StreamSpec of_side(Side side, std::uint64_t frames) {
  StreamSpec spec = stream(side == Side::left ? "forward" : "reverse", side, Family::ipv4, frames);
  const bool up = side == Side::left;
  spec.form = up ? Form::softwire_from_edge : Form::udp;
  spec.arrival_form = up ? Form::udp : Form::softwire_from_core;
  spec.softwire = kSoftwire;
  spec.frame_sizes = {up ? kSize + kIpv6Bytes : kSize};
  spec.flows->source_port = {0, 65'535, Order::pseudorandom};
  spec.flows->destination_port = {0, 65'535, Order::pseudorandom};
  return spec;
}

TEST(Softwire, FramesLeaveAndArriveInThoseOfTheirSubscribers) {
  RingBed bed;
  std::set<uint128> subscribers;
  bed.translate = [&](Side from, Bytes frame) {
    if (from == Side::left) {
      const std::uint8_t* inner = frame.data() + kEthernetBytes + kIpv6Bytes;
      const uint128 source = subscriber_of(load_be32(inner + 12), load_be16(inner + kIpv4Bytes));
      EXPECT_EQ(load_be128(frame.data() + 22), source);
      EXPECT_EQ(load_be128(frame.data() + 38), kSoftwire.core);
      subscribers.insert(source);
    }
    return core(from, frame);
  };
  for (const StreamReport& each : bed.run(trial({of_side(Side::left, 2000), of_side(Side::right, 2000)})).streams) {
    EXPECT_EQ(each.received, 2000U);
    EXPECT_EQ(each.corrupt + each.misrouted, 0U);
  }
  EXPECT_EQ(subscribers.size(), 16U);
}

TEST(Softwire, ConnectionsAreMadeAndAnswered) {
  RingBed bed;
  bed.translate = core;
  TrialSpec first = phase1(Family::ipv4, 1000);
  StreamSpec& initiator = first.streams[0];
  initiator.form = Form::softwire_from_edge;
  initiator.arrival_form = Form::udp;
  initiator.softwire = kSoftwire;
  initiator.frame_sizes = {kSize + kIpv6Bytes};
  EXPECT_EQ(bed.run(first).streams[0].received, 1000U);
  std::vector<StreamSpec> second;
  for (const Side side : {Side::left, Side::right}) {
    StreamSpec spec = of_side(side, 1500);
    spec.kind = side == Side::left ? StreamKind::connections : StreamKind::replies;
    spec.flows.reset();
    second.push_back(spec);
  }
  for (const StreamReport& each : bed.run(trial(second)).streams) EXPECT_EQ(each.received, 1500U);
}

TEST(Softwire, SubscribersOfATableHaveItsAddresses) {
  RingBed bed;
  std::vector<AddressHalves> table;
  std::set<uint128> expected;
  for (std::uint64_t number = 0; number < 32; ++number) {
    table.push_back({0x2001'0002'0000'0000 + number * number * 0x1'0000, 0xFFFF - number});
    expected.insert(uint128{table.back().high} << 64 | table.back().low);
  }
  const auto end_of = [&](std::uint32_t address, std::uint16_t port) {
    const AddressHalves& end = table.at((address & 1) << 4 | port >> 12);
    return uint128{end.high} << 64 | end.low;
  };
  std::set<uint128> ends;
  bed.translate = [&](Side from, Bytes frame) {
    if (from == Side::right) {
      return put_in(frame, kSoftwire.core, end_of(load_be32(&frame[30]), load_be16(&frame[36])));
    }
    EXPECT_EQ(load_be128(&frame[22]), end_of(load_be32(&frame[66]), load_be16(&frame[74])));
    ends.insert(load_be128(&frame[22]));
    return taken_out(frame);
  };
  std::vector<StreamSpec> streams = {of_side(Side::left, 2000), of_side(Side::right, 2000)};
  for (StreamSpec& spec : streams) {
    spec.softwire.subscribers = {
        .address_mask = 1, .address_shift = 4, .psid_mask = 0xF, .psid_drop = 12, .table = table.data()};
    (spec.source == Side::left ? spec.flows->source_address : spec.flows->destination_address) = {
        {Family::ipv4, 0xC612'8000}, {}, 0, 1, {0, 1, Order::pseudorandom}};
  }
  for (const StreamReport& each : bed.run(trial(streams)).streams) EXPECT_EQ(each.received, 2000U);
  EXPECT_EQ(ends, expected);
}

/// The address that all homes have.
constexpr std::uint32_t kInner = 0xC000'0002;

/// Sends as `of_side` does, from or to many homes with one inner address behind an AFTR.
StreamSpec of_homes(Side side, std::uint64_t frames) {
  StreamSpec spec = of_side(side, frames);
  spec.softwire.subscribers.psid_mask = 0;
  spec.softwire.inner_address = kInner;
  spec.flows->source_address = {{Family::ipv4, 0x0A00'0000}, {}, 0, 8, {0, 255, Order::pseudorandom}};
  spec.flows->source_port = {1000, 1001, Order::pseudorandom};
  spec.flows->destination_port = {80, 80, Order::pseudorandom};
  return spec;
}

/// The AFTR, whose NAT tells homes by their softwires (RFC 6333 §6.6).
struct Aftr {
  std::map<std::pair<uint128, std::uint16_t>, std::uint16_t> ports;
  std::map<std::uint16_t, std::pair<uint128, std::uint16_t>> homes;

  Frame operator()(Side from, Bytes frame) {
    if (from == Side::left) {
      EXPECT_EQ(load_be32(&frame[54 + 12]), kInner);
      const std::pair home{load_be128(&frame[22]), load_be16(&frame[74])};
      const auto next = static_cast<std::uint16_t>(10'000 + ports.size());
      const std::uint16_t port = ports.emplace(home, next).first->second;
      homes.emplace(port, home);
      return with_host(taken_out(frame), 26, 0xC612'0101, 34, port);
    }
    const auto& [address, port] = homes.at(load_be16(&frame[36]));
    Frame inner = with_host({frame.begin(), frame.end()}, 30, kInner, 36, port);
    return put_in(inner, kSoftwire.core, address);
  }

  static Frame with_host(Frame frame, std::size_t address_at, std::uint32_t address, std::size_t port_at,
                         std::uint16_t port) {
    store_be32(&frame[address_at], address);
    store_be16(&frame[port_at], port);
    store_be16(&frame[24], 0);
    store_raw(&frame[24], ip_checksum(checksum_of(&frame[14], kIpv4Bytes)));
    store_be16(&frame[40], 0);
    const std::size_t bytes = load_be16(&frame[38]);
    const std::uint64_t pseudo = checksum_of(&frame[26], 8) + __builtin_bswap16(std::uint16_t{kProtocolUdp}) +
                                 __builtin_bswap16(static_cast<std::uint16_t>(bytes));
    store_raw(&frame[40], udp_checksum(pseudo + checksum_of(&frame[34], bytes)));
    return frame;
  }
};

TEST(Softwire, HomesWithTheSameAddressAreKeptApart) {
  RingBed bed;
  Aftr aftr;
  bed.translate = [&](Side from, Bytes frame) { return aftr(from, frame); };
  TrialSpec first = trial({of_homes(Side::left, 512)});
  first.streams[0].selection = Selection::enumerate;
  first.phase1 = true;
  EXPECT_EQ(bed.run(first).streams[0].received, 512U);
  EXPECT_EQ(aftr.ports.size(), 512U);
  std::vector<StreamSpec> second = {of_homes(Side::left, 1500), of_homes(Side::right, 1500)};
  for (StreamSpec& spec : second) {
    spec.kind = spec.source == Side::left ? StreamKind::connections : StreamKind::replies;
    spec.flows.reset();
  }
  for (const StreamReport& each : bed.run(trial(second)).streams) {
    EXPECT_EQ(each.received, 1500U);
    EXPECT_EQ(each.misrouted, 0U);
  }
  // To the right connection of another home.
  const auto exchanged = aftr.homes;
  for (auto& [port, home] : aftr.homes)
    home = exchanged.at(port < 10'511 ? static_cast<std::uint16_t>(port + 1) : 10'000);
  const StreamReport report = bed.run(trial({second[1]})).streams[0];
  EXPECT_EQ(report.received, 0U);
  EXPECT_EQ(report.misrouted, 1500U);
}

/// Returns the report on frames from a side through a gateway that does something else with the first 100 of them.
TrialReport through(Side side, const std::function<Frame(Bytes)>& fault) {
  RingBed bed;
  bed.translate = [&, count = 0](Side from, Bytes frame) mutable {
    return count++ < 100 ? fault(frame) : core(from, frame);
  };
  return bed.run(trial({of_side(side, 500)}));
}

std::uint64_t foreign(const TrialReport& report, FrameKind kind) {
  std::uint64_t count = 0;
  for (const PortReport& port : report.ports) {
    if (const auto found = port.foreign.find(kind); found != port.foreign.end()) count += found->second;
  }
  return count;
}

void expect_fault(Side side, FrameKind kind, const std::function<Frame(Bytes)>& fault) {
  const TrialReport report = through(side, fault);
  EXPECT_EQ(report.streams[0].received, 400U) << name_of(kind);
  EXPECT_EQ(foreign(report, kind), 100U) << name_of(kind);
  EXPECT_FALSE(report.samples.empty());
}

Frame put_in_without_checksum(Bytes frame) {
  Frame unsummed = put_in(frame);
  store_be16(&unsummed[kEthernetBytes + kIpv6Bytes + kIpv4Bytes + 6], 0);
  return unsummed;
}

TEST(Softwire, PacketsOfANatMayLackAChecksum) {
  RingBed bed;
  bed.translate = [](Side from, Bytes frame) {
    return from == Side::right ? put_in_without_checksum(frame) : core(from, frame);
  };
  StreamSpec spec = of_side(Side::right, 500);
  EXPECT_EQ(bed.run(trial({spec})).streams[0].corrupt, 500U);
  spec.softwire.may_lack_checksum = true;
  const TrialReport report = bed.run(trial({spec}));
  EXPECT_EQ(report.streams[0].received, 500U);
  EXPECT_EQ(report.streams[0].corrupt, 0U);
}

TEST(Softwire, EachFaultOfAGatewayHasACounter) {
  const auto unchanged = [](Bytes frame) { return Frame(frame.begin(), frame.end()); };
  expect_fault(Side::left, FrameKind::in_softwire, unchanged);
  expect_fault(Side::right, FrameKind::not_in_softwire, unchanged);
  expect_fault(Side::right, FrameKind::wrong_softwire, [](Bytes frame) {
    Frame wrong = put_in(frame);
    wrong[38 + 7] ^= 0x10;  // the PSID
    return wrong;
  });
  expect_fault(Side::right, FrameKind::wrong_softwire, [](Bytes frame) {
    Frame wrong = put_in(frame);
    wrong[22 + 15] ^= 1;  // the address of the interface instead of that of the softwire
    return wrong;
  });
  expect_fault(Side::right, FrameKind::spent_hop_limit, [](Bytes frame) {
    Frame spent = put_in(frame);
    spent[kEthernetBytes + 7] = 1;
    return spent;
  });
  expect_fault(Side::right, FrameKind::corrupt_test, put_in_without_checksum);
  expect_fault(Side::right, FrameKind::ipv4_fragment, [](Bytes frame) {
    Frame fragment = put_in(frame);
    store_be16(&fragment[kEthernetBytes + kIpv6Bytes + 6], 0x2000);
    return fragment;
  });
  expect_fault(Side::right, FrameKind::headers_in_softwire, [](Bytes frame) {
    Frame limited = put_in(frame);
    const Frame option = {kProtocolIpv4, 0, 4, 1, 4, 1, 0, 0};
    limited.insert(limited.begin() + kEthernetBytes + kIpv6Bytes, option.begin(), option.end());
    limited[20] = kProtocolDestinationOptions;
    store_be16(&limited[18], static_cast<std::uint16_t>(load_be16(&limited[18]) + 8));
    return limited;
  });
}

TEST(Softwire, OnlyIpv4IsInOne) {
  RingBed bed;
  StreamSpec spec = stream("forward", Side::left, Family::ipv6, 10);
  spec.form = Form::softwire_from_edge;
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
  spec = of_side(Side::left, 10);
  spec.frame_sizes = {103};
  EXPECT_THROW(bed.run(trial({spec})), TrialError);
}

}  // namespace
}  // namespace natxy
