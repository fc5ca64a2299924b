// SPDX-License-Identifier: Apache-2.0
#include "state/state_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace natxy {
namespace {

template <class T>
class StateTables : public testing::Test {};
using Tables = testing::Types<StateTable<Family::ipv4>, StateTable<Family::ipv6>>;
TYPED_TEST_SUITE(StateTables, Tables);

TYPED_TEST(StateTables, RemembersEachConnection) {
  TypeParam table;
  table.reset(1000);
  EXPECT_EQ(table.size(), 1000U);
  for (std::uint64_t i = 0; i < 1000; i += 2) {
    table.record(i, {static_cast<std::uint32_t>(i), 7, static_cast<std::uint16_t>(i), 9});
  }
  table.record(10, {1, 2, 3, 4});
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(table.is_established(i), i % 2 == 0);
  EXPECT_EQ(table.at(10).source_port, 3);
  EXPECT_EQ(table.at(12).source, 12U);
}

TYPED_TEST(StateTables, AResetForgetsAll) {
  TypeParam table;
  table.reset(10);
  table.record(3, {1, 2, 3, 4});
  table.reset(8);
  EXPECT_FALSE(table.is_established(3));
  table.record(3, {1, 2, 3, 4});
  table.reset(100);
  EXPECT_FALSE(table.is_established(3));
}

/// Returns the bytes of memory that this process uses.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Draws addresses whose words of 32 bits have few values, among them no bits and all bits, so that connections share
/// some; up to four different prefixes.
template <Family F>
class Tuples {
 public:
  explicit Tuples(std::mt19937_64& random) : random_{random}, prefixes_{1 + random() % 4} {}

  Tuple<F> operator()() const {
    return {address(), address(), static_cast<std::uint16_t>(random_()), static_cast<std::uint16_t>(random_())};
  }

 private:
  [[nodiscard]] uint128 word(std::uint64_t choices) const {
    const std::uint64_t chosen = random_() % (choices + 1);
    return chosen == choices ? random_() & 0xFFFF'FFFF : chosen == 0 ? 0xFFFF'FFFF : (chosen - 1) * 0x2001'0DB8;
  }
  [[nodiscard]] Address<F> address() const {
    // With a single prefix, nearly always all connections share it.
    const uint128 prefix =
        prefixes_ == 1 && random_() % 500 != 0 ? 7 : word(prefixes_) << 64 | word(prefixes_) << 32 | word(prefixes_);
    return static_cast<Address<F>>(prefix << 32 | word(4));
  }

  std::mt19937_64& random_;
  std::uint64_t prefixes_;
};

/// Holds an IP header without options and a UDP header, of which only the four-tuple is set.
template <Family F>
struct OnWire {
  static constexpr std::size_t kAddresses = ip_bytes(F) - 2 * sizeof(Address<F>);

  explicit OnWire(const Tuple<F>& tuple) {
    store(kAddresses, tuple.source);
    store(kAddresses + sizeof(Address<F>), tuple.destination);
    store(ip_bytes(F), tuple.source_port);
    store(ip_bytes(F) + 2, tuple.destination_port);
  }
  [[nodiscard]] Datagram datagram() const { return {bytes.data(), bytes.data() + ip_bytes(F)}; }

  std::array<std::uint8_t, ip_bytes(F) + kUdpBytes> bytes{};

 private:
  void store(std::size_t at, auto value) {
    for (std::size_t i = sizeof value; i-- > 0; value = static_cast<decltype(value)>(uint128{value} >> 8)) {
      bytes.at(at + i) = static_cast<std::uint8_t>(value);
    }
  }
};

/// Records `tuples` as connections `indexes`, as a receiver does.
template <Family F>
void record_burst(StateTable<F>& table, const std::vector<std::uint64_t>& indexes,
                  const std::vector<Tuple<F>>& tuples) {
  const std::vector<OnWire<F>> received(tuples.begin(), tuples.end());
  table.record_plain(std::span(indexes), [&](std::size_t i) { return received[i].datagram(); });
}

template <Family F>
void expect_what_was_recorded(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  StateTable<F> table;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t size = 1 + random() % 200;
    const Tuples<F> draw(random);
    // Whether the connections differ in the bits that are announced, or in others.
    table.reset(size, random() % 2 == 0 ? Tuple<F>{} : draw());
    std::vector<std::optional<Tuple<F>>> plain(size);
    for (std::uint64_t recorded = 0; recorded < 2 * size;) {
      // Some come alone and some in bursts, in which a connection may come twice.
      std::vector<std::uint64_t> indexes(1 + random() % 2 * (random() % kBurst));
      std::vector<Tuple<F>> tuples(indexes.size());
      for (std::size_t i = 0; i < indexes.size(); ++i) {
        indexes[i] = random() % size;
        tuples[i] = draw();
        plain[indexes[i]] = tuples[i];
      }
      if (indexes.size() == 1) {
        table.record(indexes.front(), tuples.front());
      } else if (random() % 2 == 0) {
        table.record_all(std::span(indexes), [&](std::size_t i) { return tuples[i]; });
      } else {
        record_burst(table, indexes, tuples);
      }
      recorded += indexes.size();
    }
    std::vector<std::uint64_t> held;
    for (std::uint64_t i = 0; i < size; ++i) {
      ASSERT_EQ(table.is_established(i), plain[i].has_value());
      if (!plain[i]) continue;
      ASSERT_EQ(table.at(i), *plain[i]);
      held.push_back(i);
    }
    std::ranges::shuffle(held, random);
    for (std::size_t first = 0; first < held.size();) {
      const std::size_t count = std::min<std::size_t>(held.size() - first, 1 + random() % kBurst);
      const auto indexes = std::span<const std::uint64_t>(held).subspan(first, count);
      TupleLanes<F> replies;
      table.read_swapped(indexes, indexes, replies);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(replies.get(i), plain[indexes[i]]->swapped());
      first += count;
    }
  }
}

TEST(StateTable, HoldsExactlyWhatWasRecorded) {
  expect_what_was_recorded<Family::ipv4>(1);
  expect_what_was_recorded<Family::ipv6>(2);
}

TEST(StateTable, NeedsMemoryForAddressesThatDifferElsewhereOnly) {
  constexpr std::uint64_t kConnections = 1'000'000;
  const auto memory_of = [](uint128 varying) {
    StateTable<Family::ipv6> table;
    table.reset(kConnections, {varying, 0, 0, 0});
    const std::uint64_t before = resident_bytes();
    for (std::uint64_t i = 0; i < kConnections; ++i) table.record(i, {uint128{i % 1000} << 64, 1, 2, 3});
    return resident_bytes() - before;
  };
  // Three times as much; sanitizers multiply both by the same.
  EXPECT_GT(memory_of(0), 2 * memory_of(uint128{0xFFFF} << 64));
}

template <Family F>
void expect_connections_of_two_workers() {
  constexpr std::uint64_t kConnections = 100'000;
  const auto tuple_of = [](std::uint64_t i) {
    Tuple<F> tuple{static_cast<std::uint32_t>(i), 7, static_cast<std::uint16_t>(i), 9};
    if constexpr (F == Family::ipv6) tuple.source |= uint128{i / 100 % 3} << 96;
    return tuple;
  };
  StateTable<F> table;
  table.reset(kConnections);
  const auto record = [&](std::uint64_t first) {
    // Different threads write adjacent entries, one by one and in bursts.
    for (std::uint64_t i = first; i < kConnections;) {
      std::vector<std::uint64_t> indexes;
      std::vector<Tuple<F>> tuples;
      for (; i < kConnections && indexes.size() < 10; i += 2) {
        indexes.push_back(i);
        tuples.push_back(tuple_of(i));
      }
      if (i % 3 == 0) {
        for (std::size_t j = 0; j < indexes.size(); ++j) table.record(indexes[j], tuples[j]);
      } else {
        record_burst(table, indexes, tuples);
      }
    }
  };
  std::thread odd(record, 1);
  record(0);
  odd.join();
  for (std::uint64_t i = 0; i < kConnections; ++i) {
    ASSERT_TRUE(table.is_established(i));
    ASSERT_EQ(table.at(i), tuple_of(i));
  }
}

TEST(StateTable, DifferentConnectionsMayBeRecordedAtOnce) {
  expect_connections_of_two_workers<Family::ipv4>();
  expect_connections_of_two_workers<Family::ipv6>();
}

TYPED_TEST(StateTables, AnEnormousTableCostsNothingUntilUsed) {
  TypeParam table;
  table.reset(400'000'000);
  table.record(399'999'999, {1, 2, 3, 4});
  EXPECT_TRUE(table.is_established(399'999'999));
}

}  // namespace
}  // namespace natxy
