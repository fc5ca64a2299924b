// SPDX-License-Identifier: Apache-2.0
#include "flow/tuple_space.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>

#include "flow/cycle.hpp"

namespace natxy {
namespace {

constexpr Order kOrders[] = {Order::increasing, Order::decreasing, Order::pseudorandom};

template <Family F>
Tuple<F> drawn(const TupleSpace<F>& space, std::uint64_t sequence) {
  TupleLanes<F> tuples;
  space.random({sequence, 1}, 1, tuples);
  return tuples.get(0);
}

template <Family F>
auto key(const Tuple<F>& tuple) {
  return std::tuple{tuple.destination, tuple.source, tuple.destination_port, tuple.source_port};
}

template <Family F>
typename TupleSpace<F>::Fields fields(Order destination, Order source, Order destination_port, Order source_port) {
  typename TupleSpace<F>::Fields fields;
  const unsigned low = F == Family::ipv4 ? 0 : 16;
  fields.destination_address = {static_cast<Address<F>>(0xC6130000U), low, 3, {2, 6, destination}};
  fields.source_address = {static_cast<Address<F>>(0x0A000000U), low, 2, {1, 3, source}};
  fields.destination_port = {80, 83, destination_port};
  fields.source_port = {1024, 1030, source_port};
  return fields;
}

template <Family F>
void expect_every_tuple_once() {
  for (const Order a : kOrders) {
    for (const Order b : kOrders) {
      for (const Order c : kOrders) {
        for (const Order d : kOrders) {
          const TupleSpace<F> space(fields<F>(a, b, c, d), 11);
          ASSERT_EQ(space.size(), 5U * 3 * 4 * 7);
          std::set<decltype(key(space.at(0)))> seen;
          for (std::uint64_t i = 0; i < space.size(); ++i) seen.insert(key(space.at(i)));
          ASSERT_EQ(seen.size(), space.size());
        }
      }
    }
  }
}

TEST(TupleSpace, EveryTupleOnceInEveryCombinationOfOrders) {
  expect_every_tuple_once<Family::ipv4>();
  expect_every_tuple_once<Family::ipv6>();
}

TEST(TupleSpace, OrderedFieldsCountWithTheSourcePortFastest) {
  const TupleSpace<Family::ipv4> space(
      fields<Family::ipv4>(Order::increasing, Order::decreasing, Order::increasing, Order::decreasing), 1);
  EXPECT_EQ(space.at(0), (Tuple<Family::ipv4>{0x0A000003, 0xC6130002, 1030, 80}));
  EXPECT_EQ(space.at(1), (Tuple<Family::ipv4>{0x0A000003, 0xC6130002, 1029, 80}));
  EXPECT_EQ(space.at(7), (Tuple<Family::ipv4>{0x0A000003, 0xC6130002, 1030, 81}));
  EXPECT_EQ(space.at(28), (Tuple<Family::ipv4>{0x0A000002, 0xC6130002, 1030, 80}));
  EXPECT_EQ(space.at(84), (Tuple<Family::ipv4>{0x0A000003, 0xC6130003, 1030, 80}));
  EXPECT_EQ(space.at(space.size() - 1), (Tuple<Family::ipv4>{0x0A000001, 0xC6130006, 1024, 83}));
}

TEST(TupleSpace, TheVaryingBitsReplaceThoseOfTheAddress) {
  TupleSpace<Family::ipv6>::Fields fields;
  fields.source_address = {
      parse_address("2001:2:0:1:ffff:ffff:ffff:2")->value, 16, 16, {0x1234, 0x1234, Order::increasing}};
  fields.destination_address = {parse_address("2001:2:0:8000::2")->value, 0, 0, {}};
  const TupleSpace<Family::ipv6> space(fields, 1);
  EXPECT_EQ(format_address({Family::ipv6, space.at(0).source}), "2001:2:0:1:ffff:ffff:1234:2");
  EXPECT_EQ(format_address({Family::ipv6, space.at(0).destination}), "2001:2:0:8000::2");
}

TEST(TupleSpace, RandomPicksCoverEveryFieldUniformlyAndIndependently) {
  const TupleSpace<Family::ipv4> space(
      fields<Family::ipv4>(Order::pseudorandom, Order::pseudorandom, Order::pseudorandom, Order::pseudorandom), 5);
  std::map<std::uint32_t, int> destinations;
  std::map<std::uint16_t, int> ports;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t, std::uint16_t>> seen;
  constexpr int draws = 70000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const auto tuple = drawn(space, i);
    ASSERT_EQ(tuple, drawn(space, i));
    ++destinations[tuple.destination];
    ++ports[tuple.source_port];
    seen.insert(key(tuple));
  }
  ASSERT_EQ(destinations.size(), 5U);
  for (const auto& [address, count] : destinations) EXPECT_NEAR(count, draws / 5.0, 500) << address;
  ASSERT_EQ(ports.size(), 7U);
  for (const auto& [port, count] : ports) EXPECT_NEAR(count, draws / 7.0, 500) << port;
  EXPECT_EQ(seen.size(), space.size());
}

TEST(TupleSpace, TheFirstTuplesOfAPseudorandomSpaceUseAllOfIt) {
  TupleSpace<Family::ipv4>::Fields wide;
  wide.source_address = {0x0A000000, 0, 16, {2, 65534, Order::pseudorandom}};
  wide.destination_address = {0xC6130002, 0, 0, {}};
  wide.destination_port = {1, 49151, Order::pseudorandom};
  wide.source_port = {1024, 65535, Order::pseudorandom};
  const TupleSpace<Family::ipv4> space(wide, 5);
  std::set<std::uint32_t> sources;
  for (std::uint64_t i = 0; i < 1000; ++i) sources.insert(space.at(i).source >> 8);
  EXPECT_GT(sources.size(), 200U);
}

/// Compares the tuples of single frames with those of the same frames in another order, for every order of each field.
template <Family F>
void expect_the_same_tuples_in_any_order() {
  for (const Order a : kOrders) {
    for (const Order b : kOrders) {
      const TupleSpace<F> space(fields<F>(a, b, b, a), 3);
      std::array<std::uint64_t, kBurst> sequences{};
      for (std::size_t i = 0; i < sequences.size(); ++i) sequences.at(i) = random_word(9, i) >> (8 + i % 50);
      TupleLanes<F> tuples;
      space.random(sequences, tuples);
      for (std::size_t i = 0; i < sequences.size(); ++i) ASSERT_EQ(tuples.get(i), drawn(space, sequences.at(i)));
      space.random(std::span(sequences).last(3), tuples);
      for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(tuples.get(i), drawn(space, sequences.at(kBurst - 3 + i)));
    }
  }
}

TEST(TupleSpace, AFrameHasTheSameRandomTupleInAnyOrder) {
  expect_the_same_tuples_in_any_order<Family::ipv4>();
  expect_the_same_tuples_in_any_order<Family::ipv6>();
}

/// Many frames of a series are drawn at once, in another way than single ones.
template <Family F>
void expect_the_same_tuples_at_once(const typename TupleSpace<F>::Fields& fields) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const TupleSpace<F> space(fields, random_word(1, seed));
    const Series sequences{random_word(2, seed) >> (16 + seed % 40), 1 + seed % 3};
    const std::size_t count = seed % 2 == 0 ? kBurst : seed * 3;
    TupleLanes<F> tuples;
    space.random(sequences, count, tuples);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(tuples.get(i), drawn(space, sequences.at(i))) << seed << " " << i;
  }
}

TEST(TupleSpace, AFrameHasTheSameRandomTupleAmongOthers) {
  for (const Order order : kOrders) {
    expect_the_same_tuples_at_once<Family::ipv4>(fields<Family::ipv4>(Order::pseudorandom, order, order, order));
    expect_the_same_tuples_at_once<Family::ipv6>(fields<Family::ipv6>(order, order, Order::pseudorandom, order));
  }
  // The number of all 2^32 addresses does not fit 32 bits, unlike one less.
  for (const std::uint32_t last : {0xFFFFFFFE, 0xFFFFFFFF}) {
    TupleSpace<Family::ipv4>::Fields wide;
    wide.source_address = {0, 0, 32, {0, last, Order::pseudorandom}, {}};
    wide.destination_address = {0x0A000000, 0, 24, {0x800000, 0xFFFFFF, Order::pseudorandom}, {}};
    wide.destination_port = {0, 65535, Order::pseudorandom};
    wide.source_port = {53, 53, Order::pseudorandom};
    expect_the_same_tuples_at_once<Family::ipv4>(wide);
  }
}

/// A run is repeated with the same tuples only if a seed draws the same in every version and on every machine.
TEST(TupleSpace, KeepsTheTuplesOfASeed) {
  TupleSpace<Family::ipv4>::Fields fields;
  fields.source_address = {0x0A000000, 0, 16, {2, 65533, Order::pseudorandom}, {}};
  fields.destination_address = {0xC6120000, 0, 16, {2, 65533, Order::pseudorandom}, {}};
  fields.destination_port = {1, 49151, Order::pseudorandom};
  fields.source_port = {1024, 1279, Order::pseudorandom};
  const TupleSpace<Family::ipv4> space(fields, 1);
  TupleLanes<Family::ipv4> tuples;
  space.random({0, 1}, kBurst, tuples);
  EXPECT_EQ(tuples.get(0), (Tuple<Family::ipv4>{0xA008902, 0xC6129109, 1125, 36656}));
  EXPECT_EQ(tuples.get(1), (Tuple<Family::ipv4>{0xA00FB30, 0xC612F891, 1262, 21841}));
  EXPECT_EQ(tuples.get(17), (Tuple<Family::ipv4>{0xA002EF5, 0xC61240D7, 1110, 26039}));
  EXPECT_EQ(tuples.get(63), (Tuple<Family::ipv4>{0xA00C0DA, 0xC6121806, 1278, 19420}));
  EXPECT_EQ(space.at(0), (Tuple<Family::ipv4>{0xA002283, 0xC612A2AF, 1105, 48041}));
  EXPECT_EQ(space.at(1), (Tuple<Family::ipv4>{0xA008403, 0xC612DC36, 1255, 42348}));
  EXPECT_EQ(space.at(123'456'789), (Tuple<Family::ipv4>{0xA00E4CF, 0xC6124573, 1263, 29336}));
}

TEST(TupleSpace, ASpaceTooLargeToNumberCanStillBeDrawnFrom) {
  TupleSpace<Family::ipv6>::Fields huge;
  huge.source_address = {0, 0, 32, {0, 0xFFFFFFFF, Order::pseudorandom}};
  huge.destination_address = huge.source_address;
  const TupleSpace<Family::ipv6> space(huge, 1);
  EXPECT_EQ(space.size(), 0U);
  EXPECT_FALSE(drawn(space, 1) == drawn(space, 2));
}

std::uint64_t place(const Cycle& cycle, std::uint64_t sequence) {
  std::uint64_t connection = sequence;
  cycle.of({&connection, 1});
  return connection;
}

TEST(Cycle, GoesRoundInItsOrder) {
  const Cycle up(3, Order::increasing, 0);
  const Cycle down(3, Order::decreasing, 0);
  const Cycle any(1000, Order::pseudorandom, 8);
  EXPECT_EQ(place(up, 4), 1U);
  EXPECT_EQ(place(down, 4), 1U);
  EXPECT_EQ(place(down, 3), 2U);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 1000; i < 2000; ++i) seen.insert(place(any, i));
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(place(any, 5), place(any, 1005));
}

TEST(Cycle, GivesASeriesWhatItGivesItsNumbers) {
  for (const Order order : {Order::increasing, Order::decreasing, Order::pseudorandom}) {
    const Cycle cycle(1000, order, 8);
    for (const std::uint64_t first : {0U, 970U, 123'456U}) {
      std::array<std::uint64_t, 40> connections{};
      cycle.at({first, 3}, connections);
      for (std::size_t i = 0; i < connections.size(); ++i) EXPECT_EQ(connections.at(i), place(cycle, first + 3 * i));
    }
  }
}

}  // namespace
}  // namespace natxy
