// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "pace/turns.hpp"
#include "rpc/common_fields.hpp"

namespace natxy {

namespace {

constexpr std::uint64_t kMost48 = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t kMost64 = ~std::uint64_t{0};
constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 32;
constexpr std::size_t kMostAddressesListed = 65'536;
constexpr std::size_t kMostStreams = 8;
constexpr std::uint64_t kMostTagged = 1'000'000;
constexpr double kLongest_s = 30 * 86400;

const std::vector<std::pair<std::string, Medium>> kMedia = {
    {"veth", Medium::veth}, {"memif", Medium::memif}, {"nic", Medium::nic}, {"loop", Medium::loop}};
const std::vector<std::pair<std::string, Family>> kFamilies = {{"ipv4", Family::ipv4}, {"ipv6", Family::ipv6}};
const std::vector<std::pair<std::string, Order>> kOrders = {
    {"increasing", Order::increasing}, {"decreasing", Order::decreasing}, {"pseudorandom", Order::pseudorandom}};
const std::vector<std::pair<std::string, StreamKind>> kKinds = {
    {"flows", StreamKind::flows}, {"connections", StreamKind::connections}, {"replies", StreamKind::replies}};
const std::vector<std::pair<std::string, Selection>> kSelections = {{"random", Selection::random},
                                                                    {"enumerate", Selection::enumerate}};

FieldRange read_range(FieldReader& reader, std::uint64_t most) {
  FieldRange range;
  range.min = static_cast<std::uint32_t>(reader.whole("min", 0, most));
  range.max = static_cast<std::uint32_t>(reader.whole("max", 0, most));
  range.order = reader.choice("order", kOrders, Order::pseudorandom);
  if (range.min > range.max) {
    throw FieldError(reader.path_of("min"), fmt::format("is {}, above max, which is {}", range.min, range.max));
  }
  return range;
}

/// The addresses besides `field.address`, in each of which the same bits vary.
std::vector<uint128> read_others(FieldReader& reader, const AnyAddressField& field) {
  std::vector<uint128> others;
  if (reader.find("others") == nullptr) return others;
  const std::string path = reader.path_of("others");
  const Json& list = reader.list("others");
  if (list.size() >= kMostAddressesListed) {
    throw FieldError(path, fmt::format("expected at most {} addresses, got {}", kMostAddressesListed - 1, list.size()));
  }
  if ((list.size() + 1) * field.range.size() > kMostAddresses) {
    throw FieldError(path, "makes more than 2^32 addresses with min and max; narrow the range or shorten the list");
  }
  const uint128 varying = ((uint128{1} << field.bits) - 1) << field.low_bit;
  std::vector<uint128> fixed = {field.address.value & ~varying};
  for (const Json& json : list) {
    const auto other = json.is_string() ? parse_address(json.get<std::string>()) : std::nullopt;
    if (!other || other->family != field.address.family) {
      throw FieldError(path, fmt::format("expected addresses of the family of address, got {}", json.dump()));
    }
    others.push_back(other->value);
    fixed.push_back(other->value & ~varying);
  }
  std::ranges::sort(fixed);
  const auto twice = std::ranges::adjacent_find(fixed);
  if (twice != fixed.end()) {
    throw FieldError(
        path, fmt::format("has {} twice, the varying bits apart", format_address({field.address.family, *twice})));
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
                       fmt::format("{} plus the {} bits of max stands out of the address", field.low_bit, field.bits));
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

/// Whether all four-tuples of `flows` can be numbered.
bool can_be_enumerated(const FlowFields& flows) {
  std::uint64_t tuples = flows.source_port.size() * flows.destination_port.size();
  for (const AnyAddressField* field : {&flows.source_address, &flows.destination_address}) {
    if (tuples > (std::uint64_t{1} << 62) / field->size()) return false;
    tuples *= field->size();
  }
  return true;
}

void read_frame(const Json& json, const std::string& path, StreamSpec& stream) {
  FieldReader reader(json, path);
  stream.frame_size = reader.whole("size", 64, 9216);
  stream.ttl = static_cast<std::uint8_t>(reader.whole("ttl", 1, 255, 64));
  stream.dont_fragment = reader.flag("dont_fragment", false);
  reader.finish();
}

/// A trial's books are kept by the second.
void check_duration(const StreamSpec& stream, const std::string& path) {
  const double duration_s = stream.start_s + static_cast<double>(stream.frames) / stream.rate_fps;
  if (duration_s > kLongest_s) {
    throw FieldError(path,
                     fmt::format("{} frames at {} frames/s end after {:.0f} s; a trial may last {:.0f} s, 30 days",
                                 stream.frames, stream.rate_fps, duration_s, kLongest_s));
  }
}

double read_rate(FieldReader& reader) { return reader.number("rate_fps", 1e-3, 1e10); }

double read_loss_ratio(FieldReader& reader) { return reader.number("max_loss_ratio", 0, 0.999999999, 0); }

TaggedFrames read_tagged(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  TaggedFrames tagged;
  tagged.first = reader.whole("first", 0, kMost48);
  tagged.stride = reader.whole("stride", 1, kMost48);
  tagged.count = reader.whole("count", 1, kMostTagged);
  reader.finish();
  return tagged;
}

/// The index of the stream among `earlier` that `stream` takes turns with.
std::optional<std::size_t> read_interleaved_with(FieldReader& reader, const StreamSpec& stream,
                                                 std::span<const StreamSpec> earlier) {
  if (reader.find("interleaved_with") == nullptr) return std::nullopt;
  const std::string path = reader.path_of("interleaved_with");
  const auto first = std::ranges::find(earlier, reader.text("interleaved_with"), &StreamSpec::name);
  if (first == earlier.end()) throw FieldError(path, "expected the name of an earlier stream");
  const auto index = static_cast<std::size_t>(first - earlier.begin());
  const bool taken = std::ranges::count(earlier, std::optional{index}, &StreamSpec::interleaved_with) > 0;
  if (first->source != stream.source || first->interleaved_with || taken) {
    throw FieldError(path, fmt::format("{} has another source or takes turns with another stream", first->name));
  }
  const double as_long = static_cast<double>(first->frames) / first->rate_fps * stream.rate_fps;
  if (std::abs(as_long - static_cast<double>(stream.frames)) > 1e-6 * as_long) {
    throw FieldError(path, fmt::format("{} takes another time to send", first->name));
  }
  if (const auto cycle = Turns(first->frames, stream.frames).cycle(); cycle > Turns::kLongestCycle) {
    throw FieldError(path, fmt::format("the two streams' frames come in the same order only every {} frames, {} at the "
                                       "most; choose frames in a ratio of small numbers",
                                       cycle, Turns::kLongestCycle));
  }
  return index;
}

StreamSpec read_stream(const Json& json, const std::string& path, std::span<const StreamSpec> earlier = {}) {
  FieldReader reader(json, path);
  StreamSpec stream;
  stream.name = reader.text("name");
  stream.source = reader.choice("source", kSides);
  stream.kind = reader.choice("kind", kKinds, StreamKind::flows);
  read_frame(reader.get("frame"), reader.path_of("frame"), stream);
  stream.rate_fps = read_rate(reader);
  stream.frames = reader.whole("frames", 1, kMost48);
  if (const Json* flows = reader.find("flows")) stream.flows = read_flows(*flows, reader.path_of("flows"));
  if (reader.find("arrives_as") != nullptr) stream.arrives_as = reader.choice("arrives_as", kFamilies);
  stream.selection = reader.choice("selection", kSelections, Selection::random);
  stream.order = reader.choice("order", kOrders, Order::pseudorandom);
  stream.max_loss_ratio = read_loss_ratio(reader);
  stream.start_s = reader.number("start_s", 0, 86400, 0);
  check_duration(stream, reader.path_of("frames"));
  stream.burst = reader.whole("burst", 1, 65536, 1);
  if (const Json* tagged = reader.find("tagged")) stream.tagged = read_tagged(*tagged, reader.path_of("tagged"));
  stream.ipdv = reader.flag("ipdv", false);
  stream.interleaved_with = read_interleaved_with(reader, stream, earlier);
  reader.finish();
  if ((stream.kind == StreamKind::flows) != stream.flows.has_value()) {
    throw FieldError(reader.path_of("flows"), "is needed by streams of kind flows, and by no others");
  }
  if (stream.arrives_as && !stream.flows) {
    throw FieldError(reader.path_of("arrives_as"), "is only for streams of kind flows; the others' is phase 1's");
  }
  if (stream.flows && stream.selection == Selection::enumerate && !can_be_enumerated(*stream.flows)) {
    throw FieldError(reader.path_of("flows"),
                     "makes more than 2^62 four-tuples, too many to enumerate; narrow a range");
  }
  return stream;
}

Limits read_limits(FieldReader& parent) {
  Limits limits;
  const Json* json = parent.find("limits");
  if (json == nullptr) return limits;
  FieldReader reader(*json, parent.path_of("limits"));
  limits.max_overrun_ratio = reader.number("max_overrun_ratio", 0, 1, limits.max_overrun_ratio);
  limits.overrun_floor_s = reader.number("overrun_floor_s", 0, 1, limits.overrun_floor_s);
  limits.max_pause_s = reader.number("max_pause_s", 1e-6, 10, limits.max_pause_s);
  limits.link_may_fall = reader.flag("link_may_fall", false);
  reader.finish();
  return limits;
}

/// What requests of all three kinds have in common.
TrialSpec read_common(FieldReader& reader) {
  TrialSpec spec;
  spec.seed = reader.whole("seed", 0, kMost64);
  spec.drain_s = reader.number("drain_s", 0, 60, 2);
  spec.limits = read_limits(reader);
  return spec;
}

}  // namespace

std::vector<PortOptions> read_ports_open(const Json& params) {
  FieldReader reader(params, "");
  std::vector<PortOptions> ports;
  for (const Json& json : reader.list("ports")) {
    FieldReader item(json, item_path(reader, "ports", ports.size()));
    PortOptions port;
    port.side = item.choice("side", kSides);
    port.device = item.text("device");
    port.medium = item.choice("medium", kMedia);
    if (item.find("mac") != nullptr) {
      port.mac = parse_mac(item.text("mac"));
      if (!port.mac) throw FieldError(item.path_of("mac"), "expected a MAC address like 02:00:00:00:00:01");
    }
    port.queues = static_cast<unsigned>(item.whole("queues", 1, 64, 1));
    if (item.find("mtu") != nullptr) port.mtu = static_cast<std::uint16_t>(item.whole("mtu", 576, 9600));
    item.finish();
    ports.push_back(port);
  }
  reader.finish();
  if (ports.size() != 2 || ports[0].side == ports[1].side) {
    throw FieldError("ports", "expected two ports, one of side left and one of side right");
  }
  return ports;
}

NeighborsResolve read_neighbors_resolve(const Json& params) {
  FieldReader reader(params, "");
  NeighborsResolve request;
  for (const Json& json : reader.list("neighbors")) {
    FieldReader item(json, item_path(reader, "neighbors", request.links.size()));
    LinkNeighbor link;
    link.side = item.choice("side", kSides);
    link.address = read_address(item, "address");
    link.gateway = read_address(item, "gateway");
    if (link.address.family != link.gateway.family) {
      throw FieldError(item.path_of("gateway"), "is of another family than address");
    }
    if (item.find("answers") != nullptr) {
      for (const Json& text : item.list("answers")) link.answers.push_back(read_prefix(text, item.path_of("answers")));
    }
    item.finish();
    request.links.push_back(std::move(link));
  }
  request.timeout_s = reader.number("timeout_s", 1e-3, 60, 3);
  reader.finish();
  return request;
}

TrialRequest read_trial(const Json& params) {
  FieldReader reader(params, "");
  TrialRequest request{read_common(reader), reader.flag("delay_histogram", false)};
  for (const Json& json : reader.list("streams")) {
    auto& streams = request.spec.streams;
    streams.push_back(read_stream(json, item_path(reader, "streams", streams.size()), streams));
  }
  reader.finish();
  if (request.spec.streams.empty() || request.spec.streams.size() > kMostStreams) {
    throw FieldError("streams", fmt::format("expected 1 to {} streams", kMostStreams));
  }
  return request;
}

TrialRequest read_establish(const Json& params) {
  FieldReader reader(params, "");
  TrialRequest request{read_common(reader), false};
  request.spec.learn = true;
  request.spec.streams.push_back(read_stream(reader.get("stream"), "stream"));
  reader.finish();
  const StreamSpec& stream = request.spec.streams.front();
  if (stream.kind != StreamKind::flows) throw FieldError("stream.kind", "phase 1 sends a stream of kind flows");
  if (stream.selection != Selection::enumerate) {
    throw FieldError("stream.selection", "phase 1 enumerates: every frame is another connection (RFC 9693 §4.4)");
  }
  return request;
}

TrialRequest read_validate(const Json& params, const Connections& connections) {
  FieldReader reader(params, "");
  TrialRequest request{read_common(reader), false};
  StreamSpec stream;
  stream.name = "validation";
  stream.source = opposite(connections.initiator.source);
  stream.kind = StreamKind::replies;
  read_frame(reader.get("frame"), "frame", stream);
  stream.rate_fps = read_rate(reader);
  stream.frames = connections.count;
  check_duration(stream, reader.path_of("rate_fps"));
  stream.order = reader.choice("order", kOrders, Order::pseudorandom);
  stream.max_loss_ratio = read_loss_ratio(reader);
  reader.finish();
  request.spec.streams.push_back(stream);
  return request;
}

}  // namespace natxy
