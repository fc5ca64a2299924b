// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>
#include <vector>

#include "flow/cycle.hpp"
#include "flow/tuple_space.hpp"

// Tests with random flow fields that a space contains every tuple exactly once. A tuple's number is computed back from
// its addresses and ports alone.
namespace natxy {
namespace {

constexpr Order kOrders[] = {Order::increasing, Order::decreasing, Order::pseudorandom};
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

template <Family F>
using Fields = typename TupleSpace<F>::Fields;

std::uint64_t hash_of(uint128 value) {
  return mix(static_cast<std::uint64_t>(value) ^ mix(static_cast<std::uint64_t>(value >> 64)));
}

/// Finds the number of an address among those of a field. Throws std::out_of_range if the field does not have it.
template <Family F>
class Numbering {
 public:
  explicit Numbering(const AddressField<F>& field) : field_{field} {
    std::uint64_t number = 0;
    bases_[hash_of(field.base & ~varying())] = number++;
    for (const Address<F> other : field.others) bases_[hash_of(other & ~varying())] = number++;
  }

  [[nodiscard]] std::uint64_t size() const { return bases_.size() * values(); }
  [[nodiscard]] std::uint64_t of(Address<F> address) const {
    const auto base = bases_.find(hash_of(address & ~varying()));
    const auto value = static_cast<std::uint64_t>((address & varying()) >> field_.low_bit) - field_.range.min;
    if (base == bases_.end() || value >= values()) throw std::out_of_range("the field does not have this address");
    return base->second * values() + value;
  }

 private:
  [[nodiscard]] Address<F> varying() const {
    return static_cast<Address<F>>(((uint128{1} << field_.bits) - 1) << field_.low_bit);
  }
  [[nodiscard]] std::uint64_t values() const { return field_.range.size(); }

  AddressField<F> field_;
  std::unordered_map<std::uint64_t, std::uint64_t> bases_;
};

/// Maps a tuple back to its place in the space in which every field counts up.
template <Family F>
class Places {
 public:
  explicit Places(const Fields<F>& fields)
      : fields_{fields}, destinations_{fields.destination_address}, sources_{fields.source_address} {}

  [[nodiscard]] std::uint64_t of(const Tuple<F>& tuple) const {
    std::uint64_t place = destinations_.of(tuple.destination);
    place = place * sources_.size() + sources_.of(tuple.source);
    place = place * fields_.destination_port.size() + port(tuple.destination_port, fields_.destination_port);
    return place * fields_.source_port.size() + port(tuple.source_port, fields_.source_port);
  }

 private:
  static std::uint64_t port(std::uint16_t port, const FieldRange& range) {
    if (port < range.min || port > range.max) throw std::out_of_range("the field does not have this port");
    return port - range.min;
  }

  Fields<F> fields_;
  Numbering<F> destinations_;
  Numbering<F> sources_;
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_{seed} {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  /// Makes a range of `size` values within `bits` bits.
  FieldRange range(std::uint64_t size, unsigned bits) {
    const std::uint64_t first = below((std::uint64_t{1} << bits) - size + 1);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first + size - 1), kOrders[below(3)]};
  }

  /// Makes a field of about `size` addresses: one bit field at a random position, in one address or in several.
  template <Family F>
  AddressField<F> address(std::uint64_t size) {
    AddressField<F> field;
    const std::uint64_t most_bases = std::min<std::uint64_t>(size, 300);
    const std::uint64_t bases = below(2) == 0 ? 1 : 1 + below(most_bases);
    const std::uint64_t values = std::max<std::uint64_t>(1, size / bases);
    field.base = any_address<F>();
    field.range.order = kOrders[below(3)];
    if (values > 1) {
      const auto least = static_cast<unsigned>(std::bit_width(values - 1));
      const unsigned bits = std::min(32U, least + static_cast<unsigned>(below(3)));
      const unsigned places = address_bits(F) - std::min(address_bits(F), bits);
      field.low_bit = static_cast<unsigned>(below(places + 1));
      field.range = range(values, bits);
      field.bits = std::max(1U, static_cast<unsigned>(std::bit_width(field.range.max)));
    }
    std::vector<Address<F>> fixed = {fixed_part(field.base, field)};
    while (fixed.size() < bases && field.bits + 10 < address_bits(F)) {
      const auto other = any_address<F>();
      if (std::ranges::find(fixed, fixed_part(other, field)) != fixed.end()) continue;
      fixed.push_back(fixed_part(other, field));
      field.others.push_back(other);
    }
    return field;
  }

  /// Makes fields of up to about 2^`width` tuples.
  template <Family F>
  Fields<F> fields(double width) {
    double shares[4];
    double total = 0;
    for (double& share : shares) total += share = static_cast<double>(below(1000)) + 1;
    const auto size = [&](int field) { return static_cast<std::uint64_t>(std::exp2(width * shares[field] / total)); };
    const auto of = [](std::uint64_t wanted, unsigned bits) {
      return std::clamp<std::uint64_t>(wanted, 1, std::uint64_t{1} << bits);
    };
    return {address<F>(of(size(0), 32)), address<F>(of(size(1), 32)), range(of(size(2), 16), 16),
            range(of(size(3), 16), 16)};
  }

 private:
  template <Family F>
  Address<F> any_address() {
    return static_cast<Address<F>>((uint128{random_()} << 64) | random_());
  }
  template <Family F>
  static Address<F> fixed_part(Address<F> address, const AddressField<F>& field) {
    return address & ~static_cast<Address<F>>(((uint128{1} << field.bits) - 1) << field.low_bit);
  }

  std::mt19937_64 random_;
};

template <Family F, class Use>
void for_each(const TupleSpace<F>& space, std::uint64_t count, Use use) {
  Lanes<std::uint64_t> numbers;
  TupleLanes<F> tuples;
  for (std::uint64_t first = 0; first < count; first += kBurst) {
    const std::size_t some = std::min<std::uint64_t>(kBurst, count - first);
    for (std::size_t i = 0; i < some; ++i) numbers[i] = first + i;
    space.at(std::span(numbers).first(some), tuples);
    for (std::size_t i = 0; i < some; ++i) use(tuples.get(i));
  }
}

template <Family F>
void expect_every_tuple_once(const Fields<F>& fields, std::uint64_t seed) {
  const TupleSpace<F> space(fields, seed);
  const Places<F> places(fields);
  std::vector<bool> seen(space.size());
  for_each(space, space.size(), [&](const Tuple<F>& tuple) {
    const std::uint64_t place = places.of(tuple);
    ASSERT_LT(place, seen.size());
    ASSERT_FALSE(seen[place]) << "seed " << seed;
    seen[place] = true;
  });
}

template <Family F>
void expect_every_tuple_once_of_many_spaces() {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Maker maker(seed);
    expect_every_tuple_once<F>(maker.fields<F>(static_cast<double>(maker.below(14))), seed);
  }
  for (std::uint64_t seed = 200; seed < 203; ++seed) expect_every_tuple_once<F>(Maker(seed).fields<F>(21), seed);
}

TEST(Coverage, EveryTupleOnceOfAnyFieldsInAnyOrder) {
  expect_every_tuple_once_of_many_spaces<Family::ipv4>();
  expect_every_tuple_once_of_many_spaces<Family::ipv6>();
}

TEST(Coverage, EveryTupleOnceOf2To24) {
  // 256 networks with 16 hosts each, 16 sources, 16 ports at each end.
  Fields<Family::ipv6> fields;
  fields.destination_address = {parse_address("2001:2:0:8100::2")->value, 16, 4, {0, 15, Order::pseudorandom}, {}};
  for (uint128 network = 1; network < 256; ++network) {
    fields.destination_address.others.push_back(fields.destination_address.base + (network << 64));
  }
  fields.source_address = {parse_address("2001:2::2")->value, 61, 5, {7, 22, Order::decreasing}, {}};
  fields.destination_port = {1, 16, Order::increasing};
  fields.source_port = {1024, 1039, Order::pseudorandom};
  ASSERT_EQ(TupleSpace<Family::ipv6>(fields, 3).size(), std::uint64_t{1} << 24);
  expect_every_tuple_once<Family::ipv6>(fields, 3);
}

/// If 2^20 places were drawn independently from 2^36, about eight pairs would coincide (birthday paradox).
template <Family F>
void expect_distinct_samples(double width) {
  constexpr std::size_t samples = std::size_t{1} << 20;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Maker maker(seed);
    const Fields<F> fields = maker.fields<F>(width);
    const TupleSpace<F> space(fields, seed);
    ASSERT_GT(space.size(), samples);
    std::vector<std::uint64_t> numbers(samples);
    std::ranges::generate(numbers, [&] { return maker.below(space.size()); });
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const Places<F> places(fields);
    std::vector<std::uint64_t> found(numbers.size());
    std::ranges::transform(numbers, found.begin(), [&](std::uint64_t number) { return places.of(space.at(number)); });
    std::ranges::sort(found);
    EXPECT_EQ(std::ranges::adjacent_find(found), found.end()) << width << " seed " << seed;
    EXPECT_LT(found.back(), space.size());
  }
}

TEST(Coverage, SamplesOfLargeSpacesAreDistinct) {
  for (const double width : {28.0, 32.0, 36.0}) {
    expect_distinct_samples<Family::ipv4>(width);
    expect_distinct_samples<Family::ipv6>(width);
  }
}

template <Family F>
void expect_distinct_first_ones() {
  constexpr std::uint64_t first = 200'000;
  for (const double width : {24.0, 40.0, 61.5}) {
    Maker maker(static_cast<std::uint64_t>(width));
    const Fields<F> fields = maker.fields<F>(width);
    const TupleSpace<F> space(fields, 1);
    const Places<F> places(fields);
    std::vector<std::uint64_t> found;
    for_each(space, std::min(first, space.size()), [&](const Tuple<F>& tuple) { found.push_back(places.of(tuple)); });
    std::ranges::sort(found);
    EXPECT_EQ(std::ranges::adjacent_find(found), found.end()) << width;
  }
}

TEST(Coverage, TheFirstOfALargeSpaceAreDistinct) {
  expect_distinct_first_ones<Family::ipv4>();
  expect_distinct_first_ones<Family::ipv6>();
}

TEST(Coverage, ASpaceWhoseFieldsCountIsExactToItsLastTuple) {
  Fields<Family::ipv4> fields;
  fields.destination_address = {0, 0, 32, {0, 0xFFFFFFFF, Order::increasing}, {}};
  fields.source_address = {0x0A000000, 3, 10, {5, 1000, Order::increasing}, {}};
  fields.destination_port = {80, 1079, Order::increasing};
  fields.source_port = {1024, 1123, Order::increasing};
  const TupleSpace<Family::ipv4> space(fields, 1);
  const Places<Family::ipv4> places(fields);
  ASSERT_GT(space.size(), std::uint64_t{1} << 58);
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t number = random() % space.size();
    ASSERT_EQ(places.of(space.at(number)), number);
  }
  EXPECT_EQ(places.of(space.at(space.size() - 1)), space.size() - 1);
}

/// A stream may be divided into bursts and queues in any way.
TEST(Coverage, ATupleDependsOnItsSequenceNumberAlone) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Maker maker(seed);
    const Fields<Family::ipv6> fields = maker.fields<Family::ipv6>(30);
    const TupleSpace<Family::ipv6> space(fields, seed);
    const TupleSpace<Family::ipv6> again(fields, seed);
    const Series queue{maker.below(std::uint64_t{1} << 47), 1 + maker.below(64)};
    const std::size_t count = 1 + maker.below(kBurst);
    TupleLanes<Family::ipv6> drawn;
    TupleLanes<Family::ipv6> one;
    space.random(queue, count, drawn);
    Lanes<std::uint64_t> numbers;
    wrap(queue, space.size(), std::span(numbers).first(count));
    TupleLanes<Family::ipv6> enumerated;
    space.at(std::span(numbers).first(count), enumerated);
    for (std::size_t i = 0; i < count; ++i) {
      again.random({queue.at(i), 1}, 1, one);
      ASSERT_EQ(drawn.get(i), one.get(0));
      ASSERT_EQ(enumerated.get(i), again.at(queue.at(i) % space.size()));
    }
  }
}

TEST(Coverage, WrappingIsExactUpToTheLastSequenceNumber) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t size = 1 + (random() % kMost >> (random() % 62));
    const Series series{random() >> 16, 1 + random() % 64};
    std::array<std::uint64_t, 7> wrapped{};
    wrap(series, size, wrapped);
    for (std::size_t k = 0; k < wrapped.size(); ++k) {
      ASSERT_EQ(wrapped[k], (series.first + k * series.stride) % size) << size << " " << series.first;
    }
  }
}

}  // namespace
}  // namespace natxy
