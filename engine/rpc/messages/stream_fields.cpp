// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/stream_fields.hpp"

#include <algorithm>
#include <cmath>

#include "pace/turns.hpp"
#include "rpc/messages/common_fields.hpp"
#include "rpc/messages/flow_fields.hpp"

namespace natxy {

namespace {

constexpr std::uint64_t kMost16 = 0xFFFF;
constexpr std::uint64_t kMost32 = 0xFFFF'FFFF;
constexpr std::uint64_t kMost48 = (std::uint64_t{1} << 48) - 1;
constexpr std::uint64_t kMostTagged = 1'000'000;
constexpr double kLongest_s = 30 * 86400;  // results are kept by the second

const std::vector<std::pair<std::string, Family>> kFamilies = {{"ipv4", Family::ipv4}, {"ipv6", Family::ipv6}};
const std::vector<std::pair<std::string, Form>> kFormsByName = [] {
  std::vector<std::pair<std::string, Form>> forms;
  forms.reserve(kForms);
  for (std::size_t i = 0; i < kForms; ++i) forms.emplace_back(kFormNames[i], static_cast<Form>(i));
  return forms;
}();
const std::vector<std::pair<std::string, bool>> kIsInitiator = {{"initiator", true}, {"responder", false}};
const std::vector<std::pair<std::string, std::uint8_t>> kFlags = {{"S", kTcpSyn},
                                                                  {"SA", kTcpSyn | kTcpAck},
                                                                  {"A", kTcpAck},
                                                                  {"PA", kTcpPush | kTcpAck},
                                                                  {"FA", kTcpFin | kTcpAck},
                                                                  {"RA", kTcpReset | kTcpAck}};
const std::vector<std::pair<std::string, StreamKind>> kKinds = {
    {"flows", StreamKind::flows}, {"connections", StreamKind::connections}, {"replies", StreamKind::replies}};
const std::vector<std::pair<std::string, Selection>> kSelections = {{"random", Selection::random},
                                                                    {"enumerate", Selection::enumerate}};

TaggedFrames read_tagged(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  TaggedFrames tagged;
  tagged.first = reader.whole("first", 0, kMost48);
  tagged.stride = reader.whole("stride", 1, kMost48);
  tagged.count = reader.whole("count", 1, kMostTagged);
  reader.finish();
  return tagged;
}

/// Reads the name of the stream with which `stream` is interleaved and returns its index in `earlier`.
std::optional<std::size_t> read_interleaved_with(FieldReader& reader, const StreamSpec& stream,
                                                 std::span<const StreamSpec> earlier) {
  if (reader.find("interleaved_with") == nullptr) return std::nullopt;
  const std::string path = reader.path_of("interleaved_with");
  const auto first = std::ranges::find(earlier, reader.text("interleaved_with"), &StreamSpec::name);
  if (first == earlier.end()) throw FieldError(path, "expected the name of an earlier stream");
  const auto index = static_cast<std::size_t>(first - earlier.begin());
  const bool taken = std::ranges::count(earlier, std::optional{index}, &StreamSpec::interleaved_with) > 0;
  if (first->from() != stream.from() || first->interleaved_with || taken) {
    throw FieldError(path, fmt::format("{} has another source or is interleaved with another stream", first->name));
  }
  const double as_long = static_cast<double>(first->frames) / first->rate_fps * stream.rate_fps;
  if (std::abs(as_long - static_cast<double>(stream.frames)) > 1e-6 * as_long) {
    throw FieldError(path, fmt::format("{} has another duration; frames / rate_fps must be the same", first->name));
  }
  if (const auto cycle = Turns(first->frames, stream.frames).cycle(); cycle > Turns::kLongestCycle) {
    throw FieldError(path,
                     fmt::format("the order of the two streams' frames repeats after {} frames; the maximum is {}; "
                                 "choose frames in a ratio of small numbers",
                                 cycle, Turns::kLongestCycle));
  }
  return index;
}

/// Reads one size, or a list of sizes that repeats.
std::vector<std::size_t> read_sizes(FieldReader& reader) {
  constexpr std::size_t kMost = 1000;
  if (!reader.get("size").is_array()) return {reader.whole("size", 64, 9216)};
  std::vector<std::size_t> sizes;
  for (const Json& size : reader.list("size")) {
    const std::string path = item_path(reader, "size", sizes.size());
    if (!size.is_number_integer() || size < 64 || size > 9216) {
      throw FieldError(path, "expected a whole number from 64 to 9216");
    }
    sizes.push_back(size.get<std::size_t>());
  }
  if (sizes.empty() || sizes.size() > kMost) {
    throw FieldError(reader.path_of("size"), fmt::format("expected 1 to {} sizes", kMost));
  }
  return sizes;
}

uint128 read_ipv6(FieldReader& reader, const std::string& field) {
  const AnyAddress address = read_address(reader, field);
  if (address.family != Family::ipv6) throw FieldError(reader.path_of(field), "expected an IPv6 address");
  return address.value;
}

SubscriberPorts read_ports(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  const auto port = [&](const char* name) { return static_cast<std::uint16_t>(reader.whole(name, 0, 0xFFFF, 0)); };
  const SubscriberPorts ports{.lowest = port("lowest"), .mask = port("mask"), .value = port("value")};
  reader.finish();
  return ports;
}

}  // namespace

SubscriberRule read_subscribers(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  SubscriberRule rule;
  const uint128 address = read_ipv6(reader, "address");
  rule.high = static_cast<std::uint64_t>(address >> 64);
  rule.low = static_cast<std::uint64_t>(address);
  rule.address_mask = static_cast<std::uint32_t>(reader.whole("address_mask", 0, 0xFFFF'FFFF, 0));
  rule.address_shift = static_cast<unsigned>(reader.whole("address_shift", 0, 63, 0));
  rule.psid_mask = static_cast<std::uint16_t>(reader.whole("psid_mask", 0, 0xFFFF, 0));
  rule.psid_drop = static_cast<unsigned>(reader.whole("psid_drop", 0, 15, 0));
  rule.psid_shift = static_cast<unsigned>(reader.whole("psid_shift", 0, 63, 0));
  rule.address_xor = static_cast<std::uint32_t>(reader.whole("address_xor", 0, 0xFFFF'FFFF, 0));
  rule.psid_xor = static_cast<std::uint16_t>(reader.whole("psid_xor", 0, 0xFFFF, 0));
  rule.identifier = reader.flag("identifier", false);
  if (const Json* ports = reader.find("ports")) rule.ports = read_ports(*ports, reader.path_of("ports"));
  reader.finish();
  if ((rule.address_xor & ~rule.address_mask) != 0 || (rule.psid_xor & ~rule.psid_mask) != 0) {
    throw FieldError(path, "expected no bits in `address_xor` and `psid_xor` that the masks lack");
  }
  if (!rule.fits()) {
    throw FieldError(path, "the bits of addresses, PSIDs and identifiers do not fit into the halves of `address`");
  }
  return rule;
}

namespace {

std::uint8_t read_traffic_class(FieldReader& reader) {
  return static_cast<std::uint8_t>(reader.whole("traffic_class", 0, 255, 0));
}

std::uint32_t read_flow_label(FieldReader& reader) {
  return static_cast<std::uint32_t>(reader.whole("flow_label", 0, 0xF'FFFF, 0));
}

/// Reads the addresses of subscribers by the numbers that the bits of their rule make.
std::shared_ptr<const std::vector<AddressHalves>> read_table(FieldReader& reader, const SubscriberRule& subscribers) {
  constexpr std::size_t kMost = 65'536;
  const Json& list = reader.list("table");
  if (list.empty() || list.size() > kMost) {
    throw FieldError(reader.path_of("table"), fmt::format("expected 1 to {} addresses", kMost));
  }
  if (subscribers.most_bits() >= list.size() || subscribers.identifier) {
    throw FieldError(reader.path_of("table"),
                     "expected an address for each number that the masks of `subscribers` make, "
                     "and no `identifier`");
  }
  std::vector<AddressHalves> table;
  table.reserve(list.size());
  for (const Json& each : list) {
    const std::string path = item_path(reader, "table", table.size());
    const AnyAddress address = read_address(each, path);
    if (address.family != Family::ipv6) throw FieldError(path, "expected an IPv6 address");
    table.push_back({static_cast<std::uint64_t>(address.value >> 64), static_cast<std::uint64_t>(address.value)});
  }
  return std::make_shared<const std::vector<AddressHalves>>(std::move(table));
}

/// Reads the address that the packets of all subscribers have. Their own has to be in the ends of their softwires,
/// whole and not beside a PSID: their ports are not their own alone.
std::uint32_t read_inner_address(FieldReader& reader, const SubscriberRule& subscribers) {
  const AnyAddress address = read_address(reader, "inner_address");
  if (address.family != Family::ipv4) throw FieldError(reader.path_of("inner_address"), "expected an IPv4 address");
  if (!subscribers.identifier || subscribers.psid_mask != 0) {
    throw FieldError(reader.path_of("inner_address"), "needs subscribers with an `identifier`, and without a PSID");
  }
  return static_cast<std::uint32_t>(address.value);
}

EmbeddingPrefix read_embedding_prefix(FieldReader& reader) {
  const Prefix prefix = read_prefix(reader.get("prefix"), reader.path_of("prefix"));
  if (!EmbeddingPrefix::fits(prefix)) {
    throw FieldError(reader.path_of("prefix"),
                     "expected an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits whose bits "
                     "64 to 71 are zero");
  }
  return EmbeddingPrefix::of(prefix);
}

Mapping read_mapping(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  Mapping mapping;
  mapping.subscribers = read_subscribers(reader.get("subscribers"), reader.path_of("subscribers"));
  if (mapping.subscribers.address_mask != 0 && !mapping.subscribers.identifier) {
    throw FieldError(reader.path_of("subscribers"), "expected `identifier` to be true for several subscribers");
  }
  mapping.prefix = read_embedding_prefix(reader);
  mapping.traffic_class = read_traffic_class(reader);
  mapping.flow_label = read_flow_label(reader);
  reader.finish();
  return mapping;
}

Segment read_segment(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  Segment segment;
  segment.of_initiator = reader.choice("sender", kIsInitiator);
  segment.flags = reader.choice("flags", kFlags);
  segment.sequence = static_cast<std::uint32_t>(reader.whole("sequence", 0, kMost32));
  segment.acknowledged = static_cast<std::uint32_t>(reader.whole("acknowledged", 0, kMost32));
  segment.largest = static_cast<std::uint16_t>(reader.whole("largest", 1, kMost16));
  reader.finish();
  return segment;
}

void read_frame(const Json& json, const std::string& path, StreamSpec& stream) {
  FieldReader reader(json, path);
  stream.form = reader.choice("form", kFormsByName, Form::udp);
  if (reader.find("arrival_form") != nullptr) {
    stream.arrival_form = reader.choice("arrival_form", kFormsByName);
    if (transport_of(*stream.arrival_form) != transport_of(stream.form)) {
      throw FieldError(reader.path_of("arrival_form"), "expected a form of the same transport; no gateway changes it");
    }
  }
  if (const Json* softwire = reader.find("softwire")) {
    stream.softwire = read_softwire(*softwire, reader.path_of("softwire"), stream.subscribers);
  }
  if (const Json* mapping = reader.find("mapping")) {
    stream.mapping = read_mapping(*mapping, reader.path_of("mapping"));
  }
  const auto has = [&](bool (*is)(Form)) {
    return is(stream.form) || (stream.arrival_form && is(*stream.arrival_form));
  };
  if (reader.find("softwire") == nullptr && has([](Form form) { return outer_of(form) != Outer::none; })) {
    throw FieldError(reader.path_of("softwire"), "missing; a form of frames in a softwire has its addresses here");
  }
  if (reader.find("mapping") == nullptr && has([](Form form) { return mapped_of(form) != Mapped::none; })) {
    throw FieldError(reader.path_of("mapping"), "missing; a form of mapped frames has its addresses here");
  }
  stream.frame_sizes = read_sizes(reader);
  if (transport_of(stream.form) == Transport::tcp) {
    const Json* segment = reader.find("segment");
    if (segment == nullptr) {
      throw FieldError(reader.path_of("segment"),
                       "missing; a form of TCP has the sender, flags and numbers of its segments here");
    }
    stream.segment = read_segment(*segment, reader.path_of("segment"));
    if (stream.frame_sizes.size() > 1) {
      throw FieldError(reader.path_of("size"),
                       "expected one size, of which the numbers of a connection's segments follow");
    }
  }
  stream.ttl = static_cast<std::uint8_t>(reader.whole("ttl", 1, 255, 64));
  stream.dont_fragment = reader.flag("dont_fragment", false);
  reader.finish();
}

/// Reads what a stream asks a DNS64 server: from one address at another one, from all source ports in turn.
QuerySpec read_queries(const Json& json, const std::string& path, const StreamSpec& stream,
                       const std::string& stream_path) {
  FieldReader reader(json, path);
  QuerySpec queries;
  queries.prefix = read_embedding_prefix(reader);
  queries.shares.cached_percent = static_cast<unsigned>(reader.whole("cached_percent", 0, 100, 0));
  queries.shares.aaaa_percent = static_cast<unsigned>(reader.whole("aaaa_percent", 0, 100, 0));
  reader.finish();
  const auto& flows = stream.flows;
  if (!flows || flows->source_address.size() != 1 || flows->destination_address.size() != 1 ||
      flows->destination_port.min != dns::kPort || flows->destination_port.size() != 1) {
    throw FieldError(stream_path + ".flows", "expected one address, another one, and port 53 there, for queries");
  }
  return queries;
}

double read_rate(FieldReader& reader) { return reader.number("rate_fps", 1e-3, 1e10); }

std::optional<double> read_backlog(FieldReader& reader) {
  if (reader.find("max_backlog_s") == nullptr) return std::nullopt;
  return reader.number("max_backlog_s", 0, 30 * 86'400);
}

double read_loss_ratio(FieldReader& reader) { return reader.number("max_loss_ratio", 0, 0.999999999, 0); }

/// Checks that a stream is not longer than 30 days. The error names the field `path`.
void check_duration(const StreamSpec& stream, const std::string& path) {
  const double duration_s = stream.start_s + static_cast<double>(stream.frames) / stream.rate_fps;
  if (duration_s > kLongest_s) {
    throw FieldError(path, fmt::format("{} frames at {} frames/s end after {:.0f} s; the maximum is {:.0f} s (30 days)",
                                       stream.frames, stream.rate_fps, duration_s, kLongest_s));
  }
}

}  // namespace

Softwire read_softwire(const Json& json, const std::string& path,
                       std::shared_ptr<const std::vector<AddressHalves>>& table) {
  FieldReader reader(json, path);
  Softwire softwire;
  softwire.core = read_ipv6(reader, "core");
  softwire.subscribers = read_subscribers(reader.get("subscribers"), reader.path_of("subscribers"));
  if (reader.find("table") != nullptr) {
    table = read_table(reader, softwire.subscribers);
    softwire.subscribers.table = table->data();
  }
  if (reader.find("inner_address") != nullptr)
    softwire.inner_address = read_inner_address(reader, softwire.subscribers);
  softwire.may_lack_checksum = reader.flag("may_lack_checksum", false);
  softwire.hop_limit = static_cast<std::uint8_t>(reader.whole("hop_limit", 1, 255, 64));
  softwire.traffic_class = read_traffic_class(reader);
  softwire.flow_label = read_flow_label(reader);
  reader.finish();
  return softwire;
}

StreamSpec read_stream(const Json& json, const std::string& path, std::span<const StreamSpec> earlier) {
  FieldReader reader(json, path);
  StreamSpec stream;
  stream.name = reader.text("name");
  stream.source = reader.choice("source", kSides);
  stream.pair = read_pair(reader);
  stream.role = reader.choice("role", kRoles, StreamRole::foreground);
  stream.kind = reader.choice("kind", kKinds, StreamKind::flows);
  read_frame(reader.get("frame"), reader.path_of("frame"), stream);
  stream.rate_fps = read_rate(reader);
  stream.frames = reader.whole("frames", 1, kMost48);
  if (const Json* flows = reader.find("flows")) stream.flows = read_flows(*flows, reader.path_of("flows"));
  if (reader.find("arrives_as") != nullptr) stream.arrives_as = reader.choice("arrives_as", kFamilies);
  stream.selection = reader.choice("selection", kSelections, Selection::random);
  stream.order = reader.choice("order", kOrders, Order::pseudorandom);
  if (reader.find("active_connections") != nullptr) {
    stream.active_connections = reader.whole("active_connections", 1, kMost48);
  }
  stream.max_loss_ratio = read_loss_ratio(reader);
  stream.max_backlog_s = read_backlog(reader);
  if (reader.find("frame_timeout_s") != nullptr) {
    stream.frame_timeout_s = reader.number("frame_timeout_s", 1e-6, kLongest_s);
  }
  stream.start_s = reader.number("start_s", 0, 86400, 0);
  check_duration(stream, reader.path_of("frames"));
  stream.burst = reader.whole("burst", 1, 65536, 1);
  if (const Json* tagged = reader.find("tagged")) stream.tagged = read_tagged(*tagged, reader.path_of("tagged"));
  stream.ipdv = reader.flag("ipdv", false);
  stream.interleaved_with = read_interleaved_with(reader, stream, earlier);
  if (const Json* queries = reader.find("queries")) {
    stream.queries = read_queries(*queries, reader.path_of("queries"), stream, path);
  }
  reader.finish();
  if ((stream.kind == StreamKind::flows) != stream.flows.has_value()) {
    throw FieldError(reader.path_of("flows"), "is required for streams of kind flows and not allowed for others");
  }
  if (stream.arrives_as && !stream.flows) {
    throw FieldError(reader.path_of("arrives_as"),
                     "is only allowed for streams of kind flows; phase 1 sets the others'");
  }
  if (stream.active_connections && stream.flows) {
    throw FieldError(reader.path_of("active_connections"),
                     "is only allowed for streams of kind connections or replies");
  }
  if (stream.flows && stream.selection == Selection::enumerate && !can_be_enumerated(*stream.flows)) {
    throw FieldError(reader.path_of("flows"), "has more than 2^62 four-tuples, too many to enumerate; narrow a range");
  }
  return stream;
}

}  // namespace natxy
