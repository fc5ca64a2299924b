// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/flow_fields.hpp"

#include <algorithm>
#include <bit>

#include "rpc/messages/common_fields.hpp"

namespace natxy {

namespace {

constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 32;
constexpr std::size_t kMostAddressesListed = 65'536;

FieldRange read_range(FieldReader& reader, std::uint64_t most) {
  FieldRange range;
  range.min = static_cast<std::uint32_t>(reader.whole("min", 0, most));
  range.max = static_cast<std::uint32_t>(reader.whole("max", 0, most));
  range.order = reader.choice("order", kOrders, Order::pseudorandom);
  if (range.min > range.max) {
    throw FieldError(reader.path_of("min"), fmt::format("must not be above max ({}), got {}", range.max, range.min));
  }
  return range;
}

/// Reads the addresses besides `field.address`. The same bits vary in each of them.
std::vector<uint128> read_others(FieldReader& reader, const AnyAddressField& field) {
  std::vector<uint128> others;
  if (reader.find("others") == nullptr) return others;
  const std::string path = reader.path_of("others");
  const Json& list = reader.list("others");
  if (list.size() >= kMostAddressesListed) {
    throw FieldError(path, fmt::format("expected at most {} addresses, got {}", kMostAddressesListed - 1, list.size()));
  }
  if ((list.size() + 1) * field.range.size() > kMostAddresses) {
    throw FieldError(path, "min and max make more than 2^32 addresses of these; narrow the range or shorten the list");
  }
  const uint128 varying = ((uint128{1} << field.bits) - 1) << field.low_bit;
  std::vector<uint128> fixed = {field.address.value & ~varying};
  for (const Json& json : list) {
    const auto other = json.is_string() ? parse_address(json.get<std::string>()) : std::nullopt;
    if (!other || other->family != field.address.family) {
      throw FieldError(path, fmt::format("expected addresses of the same family as `address`, got {}", json.dump()));
    }
    others.push_back(other->value);
    fixed.push_back(other->value & ~varying);
  }
  std::ranges::sort(fixed);
  const auto twice = std::ranges::adjacent_find(fixed);
  if (twice != fixed.end()) {
    throw FieldError(path, fmt::format("contains {} twice, apart from the bits that vary",
                                       format_address({field.address.family, *twice})));
  }
  return others;
}

AnyAddressField read_address_field(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  AnyAddressField field;
  field.address = read_address(reader, "address");
  field.low_bit = static_cast<unsigned>(reader.whole("low_bit", 0, 127, 0));
  const bool has_min = reader.find("min") != nullptr;
  const bool has_max = reader.find("max") != nullptr;
  if (has_min != has_max) throw FieldError(path, "expected both min and max, or neither for a fixed address");
  if (has_min) {
    field.range = read_range(reader, kMostAddresses - 1);
    field.bits = std::max(1U, static_cast<unsigned>(std::bit_width(field.range.max)));
    if (field.low_bit + field.bits > address_bits(field.address.family)) {
      throw FieldError(reader.path_of("low_bit"),
                       fmt::format("{} plus the {} bits of max exceeds the address", field.low_bit, field.bits));
    }
  } else {
    field.range.order = reader.choice("order", kOrders, Order::pseudorandom);
  }
  field.others = read_others(reader, field);
  reader.finish();
  return field;
}

FieldRange read_port_field(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  const FieldRange range = read_range(reader, 65535);
  reader.finish();
  return range;
}

}  // namespace

FlowFields read_flows(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  FlowFields flows;
  flows.source_address = read_address_field(reader.get("source_address"), reader.path_of("source_address"));
  flows.destination_address =
      read_address_field(reader.get("destination_address"), reader.path_of("destination_address"));
  flows.source_port = read_port_field(reader.get("source_port"), reader.path_of("source_port"));
  flows.destination_port = read_port_field(reader.get("destination_port"), reader.path_of("destination_port"));
  reader.finish();
  if (flows.source_address.address.family != flows.destination_address.address.family) {
    throw FieldError(path, "source_address and destination_address are of different families");
  }
  return flows;
}

bool can_be_enumerated(const FlowFields& flows) {
  std::uint64_t tuples = flows.source_port.size() * flows.destination_port.size();
  for (const AnyAddressField* field : {&flows.source_address, &flows.destination_address}) {
    if (tuples > (std::uint64_t{1} << 62) / field->size()) return false;
    tuples *= field->size();
  }
  return true;
}

}  // namespace natxy
