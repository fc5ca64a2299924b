// SPDX-License-Identifier: Apache-2.0
#include "reference/gateway/connections.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace natxy::reference {
namespace {

const Clock kClock(1'000'000'000);
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr Endpoint kRemote{0xC6130002, 80};
constexpr Use kReply{.now = kSecond, .reply = true};

Endpoint host(int port) { return {0x0A000002, static_cast<std::uint16_t>(port)}; }

struct Nat {
  Settings settings;
  Counters counters;
  std::optional<Connections> made;

  explicit Nat(std::uint32_t capacity, const char* pool = "198.19.0.1/32") {
    settings.mode = Mode::nat44;
    settings.translation.pool = *parse_prefix(pool);
    settings.table.capacity = capacity;
  }
  Connections& connections() { return made ? *made : made.emplace(settings, kClock); }
  std::variant<Endpoint, Drop> leave(const Endpoint& from, const Endpoint& remote = kRemote,
                                     std::uint64_t now = kSecond) {
    return connections().leave(from, remote, {.now = now}, counters);
  }
  Endpoint pool(const Endpoint& from, const Endpoint& remote = kRemote) {
    return std::get<Endpoint>(leave(from, remote));
  }
  bool knows(int port) {
    const Connection* found = connections().enter({0xC6130001, static_cast<std::uint16_t>(port)}, kRemote, kReply);
    return found != nullptr && found->host == host(port);
  }
};

TEST(Connections, KeepAHostsPortAndFindTheWayBack) {
  Nat nat(10);
  EXPECT_EQ(nat.pool(host(5000)), (Endpoint{0xC6130001, 5000}));
  EXPECT_EQ(nat.pool(host(5000)), (Endpoint{0xC6130001, 5000}));
  EXPECT_EQ(nat.connections().size(), 1U);
  EXPECT_TRUE(nat.knows(5000));
  EXPECT_EQ(nat.connections().enter({0xC6130001, 5001}, kRemote, kReply), nullptr);
  EXPECT_EQ(nat.connections().enter({0xC6130001, 5000}, {kRemote.address, 81}, kReply), nullptr);
}

TEST(Connections, ShareAPortOnlyTowardsDifferentRemotes) {
  Nat nat(10);
  const Endpoint other{0x0A000003, 5000};
  EXPECT_EQ(nat.pool(host(5000)).port, 5000);
  EXPECT_NE(nat.pool(other).port, 5000);
  EXPECT_GE(nat.pool(other).port, 1024);
  EXPECT_EQ(nat.pool(other, {kRemote.address, 81}).port, 5000);
  EXPECT_EQ(nat.connections().enter(nat.pool(other), kRemote, kReply)->host, other);
}

TEST(Connections, TakePortsOfTheRangeAlone) {
  Nat nat(200);
  nat.settings.translation.ports = PortRanges::between(2000, 2099);
  std::set<std::uint16_t> ports;
  for (std::uint16_t port = 1; port <= 50; ++port) ports.insert(nat.pool(host(port)).port);
  EXPECT_EQ(ports.size(), 50U);
  EXPECT_GE(*ports.begin(), 2000);
  EXPECT_LE(*ports.rbegin(), 2099);
}

TEST(Connections, DropFramesIfNoPortIsLeft) {
  Nat nat(10);
  nat.settings.translation.ports = PortRanges::between(2000, 2000);
  EXPECT_EQ(nat.pool(host(1)).port, 2000);
  EXPECT_EQ(std::get<Drop>(nat.leave(host(2))), Drop::no_port);
}

TEST(Connections, TakeEveryPortOfASet) {
  Nat nat(10'000);
  nat.settings.translation.ports = PortRanges::of_set(3, 4, 4);
  nat.settings.translation.gives_port_set = true;
  const PortRanges& set = nat.settings.translation.ports;
  std::set<std::uint16_t> ports;
  // Some of the hosts' own ports are in the set, and kept.
  for (std::uint32_t i = 0; i < set.count(); ++i) {
    const auto own = static_cast<std::uint16_t>(4000 + i);
    const std::uint16_t port = nat.pool(host(own)).port;
    EXPECT_TRUE(set.contains(port));
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 3840U);
  EXPECT_EQ(std::get<Drop>(nat.leave(host(60'000))), Drop::no_port);
  EXPECT_TRUE(std::holds_alternative<Endpoint>(nat.leave(host(60'000), {kRemote.address, 81})));
}

TEST(Connections, SpreadHostsOverThePoolAndKeepEachToItsAddress) {
  Nat nat(1000, "198.19.0.0/28");
  std::set<std::uint64_t> addresses;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Endpoint from{0x0A000000 + i, 4000};
    const Endpoint pool = nat.pool(from);
    EXPECT_TRUE(nat.connections().is_pool({Family::ipv4, pool.address}));
    EXPECT_EQ(nat.pool({from.address, 4001}).address, pool.address);
    addresses.insert(static_cast<std::uint64_t>(pool.address));
  }
  EXPECT_EQ(addresses.size(), 16U);
}

TEST(Connections, OfRandomPortsComeBackWithOthersAfterARestart) {
  Nat nat(10);
  nat.settings.translation.port_choice = PortChoice::random;
  const Endpoint before = nat.pool(host(5000));
  nat.connections().restart();
  EXPECT_EQ(nat.connections().size(), 0U);
  EXPECT_NE(nat.pool(host(5000)), before);
}

/// Fills a table of 3, gives the first connection a reply and uses it again; then adds a fourth connection.
std::variant<Endpoint, Drop> overflow(Nat& nat, WhenFull policy) {
  nat.settings.table.when_full = policy;
  for (std::uint16_t port = 5001; port <= 5003; ++port) nat.pool(host(port));
  EXPECT_TRUE(nat.knows(5001));
  return nat.leave(host(5004));
}

TEST(Connections, OfAFullTableAreKept) {
  Nat nat(3);
  EXPECT_EQ(std::get<Drop>(overflow(nat, WhenFull::keep)), Drop::table_full);
  for (std::uint16_t port = 5001; port <= 5003; ++port) EXPECT_TRUE(nat.knows(port));
}

TEST(Connections, OfAFullTableMakeRoomByLastUse) {
  Nat nat(3);
  EXPECT_TRUE(std::holds_alternative<Endpoint>(overflow(nat, WhenFull::lru)));
  EXPECT_EQ(nat.connections().size(), 3U);
  EXPECT_FALSE(nat.knows(5002));
  for (const int port : {5001, 5003, 5004}) EXPECT_TRUE(nat.knows(port)) << port;
  // All have had replies now, in the order 5001, 5003, 5004.
  EXPECT_TRUE(std::holds_alternative<Endpoint>(nat.leave(host(5005))));
  EXPECT_FALSE(nat.knows(5001));
}

TEST(Connections, OfAFullTableAreDroppedEarlyUnlessTheyHadAReply) {
  Nat nat(3);
  EXPECT_TRUE(std::holds_alternative<Endpoint>(overflow(nat, WhenFull::early_drop)));
  EXPECT_FALSE(nat.knows(5002));
  for (const int port : {5001, 5003, 5004}) EXPECT_TRUE(nat.knows(port)) << port;
  EXPECT_EQ(std::get<Drop>(nat.leave(host(5005))), Drop::table_full);
}

TEST(Connections, MayCollapseUntilARestart) {
  Nat nat(3);
  EXPECT_EQ(std::get<Drop>(overflow(nat, WhenFull::collapse)), Drop::collapsed);
  EXPECT_TRUE(nat.connections().collapsed());
  nat.connections().restart();
  EXPECT_FALSE(nat.connections().collapsed());
  EXPECT_EQ(nat.pool(host(5001)).port, 5001);
}

TEST(Connections, AreMadeAtTheMostAtTheirRate) {
  Nat nat(1000);
  nat.settings.table.max_connection_rate_cps = 100;
  nat.settings.table.connection_burst = 5;
  int made = 0;
  for (std::uint16_t i = 0; i < 100; ++i) {
    made += std::holds_alternative<Endpoint>(nat.leave(host(2000 + i), kRemote, kSecond + i * 5'000'000ULL)) ? 1 : 0;
  }
  EXPECT_NEAR(made, 5 + 0.5 * 100, 1);  // 100 in half a second
  EXPECT_EQ(nat.connections().size(), static_cast<std::uint32_t>(made));
}

TEST(Connections, WithoutStateAreForwardedButNotStored) {
  Nat nat(1000);
  nat.settings.table.without_state_every = 10;
  for (std::uint16_t i = 1; i <= 100; ++i) EXPECT_TRUE(std::holds_alternative<Endpoint>(nat.leave(host(3000 + i))));
  EXPECT_EQ(nat.connections().size(), 90U);
  EXPECT_EQ(nat.counters.without_state, 10U);
  EXPECT_TRUE(nat.knows(3009));
  EXPECT_FALSE(nat.knows(3010));
}

TEST(Connections, RaiseThePriceOfAFrame) {
  Nat nat(10);
  nat.settings.table.flow_cost = 0.5;
  EXPECT_EQ(nat.connections().frame_price(), kToken);
  for (std::uint16_t port = 5001; port <= 5004; ++port) nat.pool(host(port));
  EXPECT_EQ(nat.connections().frame_price(), kToken * 5 / 2);
}

TEST(Connections, ExpireWithoutAFrame) {
  Nat nat(10);
  nat.settings.table.lifetime_s = 5;
  nat.pool(host(5001));
  nat.pool(host(5002));
  const auto asked = [&](std::uint16_t port, std::uint64_t now) {
    return nat.connections().enter({0xC6130001, port}, kRemote, {.now = now, .reply = true}) != nullptr;
  };
  // A frame gives a connection its whole lifetime again.
  EXPECT_TRUE(asked(5001, kSecond + 3 * kSecond));
  EXPECT_TRUE(asked(5002, kSecond + 5 * kSecond));
  EXPECT_TRUE(asked(5001, kSecond + 8 * kSecond));
  EXPECT_FALSE(asked(5002, kSecond + 10 * kSecond + 1));
  EXPECT_EQ(nat.connections().size(), 1U);
  EXPECT_FALSE(asked(5001, kSecond + 13 * kSecond + 1));
  EXPECT_EQ(nat.connections().size(), 0U);
}

/// Opens a connection of TCP and sends these flags over it, by turns from the left and from the right. Returns whether
/// it is kept for longer than a closed one.
bool outlives(std::initializer_list<std::uint8_t> flags, bool forgets_on_fin = false) {
  Nat nat(10);
  nat.settings.table.forgets_on_fin = forgets_on_fin;
  nat.settings.table.lifetime_s = 100;
  nat.settings.table.closed_lifetime_s = 2;
  bool reply = false;
  for (const std::uint8_t each : flags) {
    const Use use{.now = kSecond, .reply = reply, .tcp_flags = each};
    if (reply) {
      nat.connections().enter({0xC6130001, 5001}, kRemote, use);
    } else {
      nat.connections().leave(host(5001), kRemote, use, nat.counters);
    }
    reply = !reply;
  }
  return nat.connections().enter({0xC6130001, 5001}, kRemote, {.now = 4 * kSecond, .reply = true}) != nullptr;
}

TEST(Connections, ThatAreClosedExpireSooner) {
  constexpr std::uint8_t kAck = 0x10;
  constexpr std::uint8_t kFin = 0x11;
  constexpr std::uint8_t kSyn = 0x02;
  constexpr std::uint8_t kReset = 0x14;
  EXPECT_TRUE(outlives({kSyn, kSyn | kAck, kAck}));
  EXPECT_TRUE(outlives({kSyn, kSyn | kAck, kFin, kAck}));
  EXPECT_FALSE(outlives({kSyn, kSyn | kAck, kFin, kFin}));
  EXPECT_TRUE(outlives({kSyn, kSyn | kAck, kAck}, true));
  EXPECT_FALSE(outlives({kSyn, kSyn | kAck, kFin}, true));
  EXPECT_FALSE(outlives({kSyn, kSyn | kAck, kFin, kFin, kAck}));
  EXPECT_FALSE(outlives({kSyn, kSyn | kAck, kReset}));
  EXPECT_TRUE(outlives({kSyn, kSyn | kAck, kFin, kFin, kSyn}));
}

TEST(ConnectionTable, MatchesAPlainMap) {
  ConnectionTable table(300);
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint16_t> expected;  // host's port, remote's; pool's
  std::mt19937 random(1);
  for (int step = 0; step < 20'000; ++step) {
    const auto near = static_cast<std::uint16_t>(random() % 40);
    const auto far = static_cast<std::uint16_t>(random() % 20);
    const auto pool = static_cast<std::uint16_t>(near + 1000);
    const Connection connection{{1, near}, {2, pool}, {3, far}};
    const auto index = table.find_left(connection.host, connection.remote);
    ASSERT_EQ(index != ConnectionTable::kNone, expected.contains({near, far}));
    ASSERT_EQ(table.find_right(connection.pool, connection.remote), index);
    if (index != ConnectionTable::kNone) {
      ASSERT_EQ(table.at(index).pool, connection.pool);
      if (random() % 2 == 0) {
        table.erase(index);
        expected.erase({near, far});
      } else {
        table.use(index, {.now = static_cast<std::uint64_t>(step), .reply = random() % 2 == 0});
      }
    } else {
      if (table.full()) {
        const Connection oldest = table.at(table.least_recently_used());
        table.erase(table.least_recently_used());
        expected.erase({oldest.host.port, oldest.remote.port});
      }
      table.insert(connection, {.now = static_cast<std::uint64_t>(step)});
      expected[{near, far}] = pool;
    }
    ASSERT_EQ(table.size(), expected.size());
  }
  table.clear();
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.least_recently_used(), ConnectionTable::kNone);
}

}  // namespace
}  // namespace natxy::reference
