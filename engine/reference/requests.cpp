// SPDX-License-Identifier: Apache-2.0
#include "reference/requests.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "rpc/messages/common_fields.hpp"
#include "rpc/messages/stream_fields.hpp"

namespace natxy::reference {

namespace {

constexpr std::uint64_t kMost32 = 0xFFFFFFFF;
constexpr std::uint64_t kMost64 = ~std::uint64_t{0};
constexpr std::uint64_t kMostConnections = std::uint64_t{1} << 27;
constexpr unsigned kMostPoolBits = 16;
constexpr std::size_t kMostMappings = 64;
constexpr std::size_t kMostSpans = 64;
constexpr double kLongestLife_s = 86400;
constexpr std::uint64_t kLongestDelay_ns = 10'000'000'000;
constexpr std::uint64_t kLeastBetweenOutages_ns = 1'000'000;
constexpr std::uint64_t kLongestOutage_ns = 3'600'000'000'000;
constexpr std::array<unsigned, 6> kEmbeddingLengths = {32, 40, 48, 56, 64, 96};

const std::vector<std::pair<std::string, Mode>> kModes = {
    {"forward", Mode::forward}, {"nat44", Mode::nat44}, {"nat66", Mode::nat66}, {"nat64", Mode::nat64},
    {"nat46", Mode::nat46},     {"siit", Mode::siit},   {"clat", Mode::clat}};
const std::vector<std::pair<std::string, PortChoice>> kPortChoices = {{"preserve", PortChoice::preserve},
                                                                      {"random", PortChoice::random}};
const std::vector<std::pair<std::string, WhenFull>> kPolicies = {{"keep", WhenFull::keep},
                                                                 {"lru", WhenFull::lru},
                                                                 {"early-drop", WhenFull::early_drop},
                                                                 {"collapse", WhenFull::collapse}};
const std::vector<std::pair<std::string, bool>> kScopes = {{"direction", false}, {"aggregate", true}};

const std::vector<std::pair<std::string, Outer>> kSoftwireEnds = {{"edge", Outer::from_edge},
                                                                  {"core", Outer::from_core}};

std::optional<double> read_rate(FieldReader& reader, const std::string& name) {
  if (reader.find(name) == nullptr) return std::nullopt;
  return reader.number(name, 1e-3, 1e10);
}

std::uint64_t read_every(FieldReader& reader, const std::string& name) { return reader.whole(name, 1, kMost64, 0); }

unsigned host_bits(const Prefix& prefix) { return address_bits(prefix.network.family) - prefix.length; }

Prefix read_network(FieldReader& reader, const std::string& name, Family family) {
  const Prefix prefix = read_prefix(reader.get(name), reader.path_of(name));
  if (prefix.network.family != family) {
    throw FieldError(reader.path_of(name), fmt::format("expected an IPv{} prefix", static_cast<int>(family)));
  }
  if (!prefix.contains(prefix.network) || (host_bits(prefix) < 128 && host_bits(prefix) > 0 &&
                                           (prefix.network.value & ((uint128{1} << host_bits(prefix)) - 1)) != 0)) {
    throw FieldError(reader.path_of(name), "has host bits set; expected a network like 198.18.0.0/16");
  }
  return prefix;
}

Prefix read_embedding_prefix(FieldReader& reader) {
  const Prefix prefix = read_network(reader, "prefix", Family::ipv6);
  if (std::ranges::find(kEmbeddingLengths, prefix.length) == kEmbeddingLengths.end()) {
    throw FieldError(reader.path_of("prefix"), "expected a /32, /40, /48, /56, /64 or /96");
  }
  return prefix;
}

std::vector<AnyAddress> read_addresses(FieldReader& reader, const std::string& name) {
  std::vector<AnyAddress> addresses;
  if (reader.find(name) == nullptr) return addresses;
  for (const Json& json : reader.list(name)) addresses.push_back(read_address(json, reader.path_of(name)));
  return addresses;
}

std::vector<Link> read_links(FieldReader& parent, std::size_t open_pairs) {
  std::vector<Link> links;
  for (const Json& json : parent.list("links")) {
    FieldReader reader(json, item_path(parent, "links", links.size()));
    const Place place{reader.choice("side", kSides), read_pair(reader)};
    links.push_back({place, read_addresses(reader, "addresses"), read_addresses(reader, "neighbors")});
    reader.finish();
    if (place.pair >= open_pairs) {
      throw FieldError(reader.path_of("pair"),
                       fmt::format("expected a pair whose ports are open, a number below {}; got {}; open its ports by "
                                   "ports.open, or leave out its links",
                                   open_pairs, place.pair));
    }
    if (links.back().addresses.empty()) {
      throw FieldError(reader.path_of("addresses"), "expected at least one address of the gateway");
    }
  }
  for (unsigned pair = 0; pair < std::max<std::size_t>(1, (links.size() + 1) / 2); ++pair) {
    for (const Side side : {Side::left, Side::right}) {
      if (std::ranges::count(links, Place{side, pair}, &Link::place) == 1) continue;
      throw FieldError(parent.path_of("links"),
                       fmt::format("expected pairs of links, numbered from 0 on, each with one of side left and one of "
                                   "side right; pair {} has not one of side {}",
                                   pair, name_of(side)));
    }
  }
  return links;
}

AddressMapping read_mapping(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  const AddressMapping mapping{read_network(reader, "ipv4", Family::ipv4), read_network(reader, "ipv6", Family::ipv6)};
  reader.finish();
  if (host_bits(mapping.ipv4) != host_bits(mapping.ipv6)) {
    throw FieldError(path, "expected the same number of addresses in both families, for example a /24 and a /120");
  }
  return mapping;
}

void read_ports(const Json& json, const std::string& path, Translation& translation) {
  FieldReader reader(json, path);
  const auto least = static_cast<std::uint32_t>(reader.whole("min", 1, 65535));
  const auto most = static_cast<std::uint32_t>(reader.whole("max", 1, 65535));
  reader.finish();
  if (least > most) throw FieldError(path, "min must not be above max");
  translation.ports = PortRanges::between(least, most);
}

void read_port_set(const Json& json, const std::string& path, Translation& translation) {
  constexpr std::uint64_t kPortBits = 16;
  FieldReader reader(json, path);
  const std::uint64_t offset = reader.whole("offset", 0, kPortBits);
  const std::uint64_t length = reader.whole("psid_length", 0, kPortBits - offset);
  const std::uint64_t psid = reader.whole("psid", 0, (std::uint64_t{1} << length) - 1);
  translation.ports = PortRanges::of_set(static_cast<std::uint32_t>(psid), static_cast<unsigned>(length),
                                         static_cast<unsigned>(offset));
  translation.gives_port_set = true;
  if (reader.flag("first_range_only", false)) translation.ports = translation.ports.first_alone();
  reader.finish();
}

Translation read_translation(const Json& json, Mode mode) {
  FieldReader reader(json, "translation");
  Translation translation;
  if (keeps_connections(mode)) {
    translation.pool = read_network(reader, "pool", right_family(mode));
    if (host_bits(translation.pool) > kMostPoolBits) {
      throw FieldError(reader.path_of("pool"), fmt::format("expected at most 2^{} addresses", kMostPoolBits));
    }
    if (const Json* ports = reader.find("ports")) read_ports(*ports, reader.path_of("ports"), translation);
    if (const Json* set = reader.find("port_set")) read_port_set(*set, reader.path_of("port_set"), translation);
    translation.port_choice = reader.choice("port_choice", kPortChoices, PortChoice::preserve);
  }
  if (mode == Mode::nat64 || is_stateless(mode)) {
    translation.prefix = read_embedding_prefix(reader);
  }
  if (mode == Mode::nat46 || is_stateless(mode)) {
    for (const Json& mapping : reader.list("mappings")) {
      const std::string path = item_path(reader, "mappings", translation.mappings.size());
      translation.mappings.push_back(read_mapping(mapping, path));
    }
    if (translation.mappings.empty() || translation.mappings.size() > kMostMappings) {
      throw FieldError(reader.path_of("mappings"), fmt::format("expected 1 to {} mappings", kMostMappings));
    }
  }
  reader.finish();
  return translation;
}

TableTruth read_table(const Json& json) {
  FieldReader reader(json, "table");
  TableTruth table;
  table.capacity = static_cast<std::uint32_t>(reader.whole("capacity", 1, kMostConnections));
  table.when_full = reader.choice("when_full", kPolicies, WhenFull::keep);
  table.max_connection_rate_cps = read_rate(reader, "max_connection_rate_cps");
  table.connection_burst = reader.whole("connection_burst", 1, kMost32, table.connection_burst);
  table.without_state_every = read_every(reader, "without_state_every");
  table.flow_cost = reader.number("flow_cost", 0, 1000, 0);
  if (reader.find("lifetime_s") != nullptr) table.lifetime_s = reader.number("lifetime_s", 0, kLongestLife_s);
  if (reader.find("closed_lifetime_s") != nullptr) {
    table.closed_lifetime_s = reader.number("closed_lifetime_s", 0, kLongestLife_s);
  }
  table.forgets_on_fin = reader.flag("forgets_on_fin", false);
  table.tear_down_rate_cps = read_rate(reader, "tear_down_rate_cps");
  table.clear_s = reader.number("clear_s", 0, 3600, 0);
  reader.finish();
  return table;
}

LossPattern read_loss(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  LossPattern loss;
  loss.every = reader.whole("every", 1, kMost64);
  loss.frames = reader.whole("frames", 1, loss.every, 1);
  reader.finish();
  return loss;
}

SoftwireSettings read_softwire_end(const Json& json) {
  FieldReader reader(json, "softwire");
  SoftwireSettings settings;
  settings.sends = reader.choice("end", kSoftwireEnds);
  settings.softwire = read_softwire(reader.get("addresses"), reader.path_of("addresses"), settings.table);
  settings.wrong_subscriber_every = read_every(reader, "wrong_subscriber_every");
  settings.option_every = read_every(reader, "option_every");
  settings.leak_every = read_every(reader, "leak_every");
  settings.interface_source_every = read_every(reader, "interface_source_every");
  if (const Json* stale = reader.find("stale_binding")) {
    settings.stale_binding = read_loss(*stale, reader.path_of("stale_binding"));
  }
  settings.hop_limit_every = read_every(reader, "hop_limit_every");
  settings.inner_fragments_every = read_every(reader, "inner_fragments_every");
  settings.outer_fragments_every = read_every(reader, "outer_fragments_every");
  settings.accepts_any_subscriber = reader.flag("accepts_any_subscriber", false);
  reader.finish();
  return settings;
}

MapSettings read_map_end(const Json& json) {
  FieldReader reader(json, "map");
  MapSettings settings;
  settings.sends = reader.choice("end", kSoftwireEnds);
  settings.subscribers = read_subscribers(reader.get("subscribers"), reader.path_of("subscribers"));
  settings.ipv4 = read_network(reader, "ipv4", Family::ipv4);
  settings.prefix = read_embedding_prefix(reader);
  settings.wrong_subscriber_every = read_every(reader, "wrong_subscriber_every");
  settings.leak_every = read_every(reader, "leak_every");
  if (const Json* stale = reader.find("stale_binding")) {
    settings.stale_binding = read_loss(*stale, reader.path_of("stale_binding"));
  }
  settings.accepts_any_subscriber = reader.flag("accepts_any_subscriber", false);
  reader.finish();
  return settings;
}

std::vector<DelayItem> read_delay(FieldReader& parent) {
  std::vector<DelayItem> items;
  double shares = 0;
  for (const Json& json : parent.list("delay")) {
    FieldReader reader(json, item_path(parent, "delay", items.size()));
    DelayItem item;
    item.share = reader.number("share", 0, 1, 1);
    item.min_ns = reader.whole("min_ns", 0, kLongestDelay_ns);
    item.max_ns = reader.whole("max_ns", item.min_ns, kLongestDelay_ns, item.min_ns);
    reader.finish();
    items.push_back(item);
    shares += item.share;
  }
  if (items.empty() || std::abs(shares - 1) > 1e-9) {
    throw FieldError(parent.path_of("delay"), fmt::format("expected shares that add up to 1, got {}", shares));
  }
  return items;
}

Faults read_faults(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  Faults faults;
  if (const Json* loss = reader.find("loss")) faults.loss = read_loss(*loss, reader.path_of("loss"));
  faults.loss_ratio = reader.number("loss_ratio", 0, 1, 0);
  if (reader.find("delay") != nullptr) faults.delay = read_delay(reader);
  faults.keep_order = reader.flag("keep_order", false);
  faults.duplicate_every = read_every(reader, "duplicate_every");
  if (const Json* reorder = reader.find("reorder")) {
    FieldReader item(*reorder, reader.path_of("reorder"));
    faults.reorder_every = item.whole("every", 2, kMost64);
    faults.reorder_by = item.whole("by", 1, faults.reorder_every - 1, 1);
    item.finish();
  }
  faults.corrupt_checksum_every = read_every(reader, "corrupt_checksum_every");
  faults.wrong_port_every = read_every(reader, "wrong_port_every");
  faults.zero_checksum_every = read_every(reader, "zero_checksum_every");
  reader.finish();
  return faults;
}

TcpFaults read_tcp(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  TcpFaults faults;
  faults.drop_syn_ack_every = read_every(reader, "drop_syn_ack_every");
  faults.reset_every = read_every(reader, "reset_every");
  faults.shift_sequence_every = read_every(reader, "shift_sequence_every");
  reader.finish();
  return faults;
}

BindingTruth read_bindings(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  const BindingTruth bindings{reader.number("delay_s", 0, 3600, 0), reader.number("outage_s", 0, 3600, 0)};
  reader.finish();
  return bindings;
}

OutageTruth read_outages(const Json& json, const std::string& path) {
  FieldReader reader(json, path);
  const OutageTruth outages{reader.whole("every_ns", kLeastBetweenOutages_ns, kLongestOutage_ns),
                            reader.whole("duration_ns", 0, kLongestOutage_ns)};
  reader.finish();
  return outages;
}

Truth read_truth(const Json& json) {
  FieldReader reader(json, "truth");
  Truth truth;
  truth.seed = reader.whole("seed", 0, kMost64, 0);
  truth.rate.max_rate_fps = read_rate(reader, "max_rate_fps");
  truth.rate.buffer_frames = reader.whole("buffer_frames", 1, kMost32, truth.rate.buffer_frames);
  truth.rate.aggregate = reader.choice("rate_scope", kScopes, false);
  truth.rate.recovery_s = reader.number("recovery_s", 0, 3600, 0);
  if (const Json* outages = reader.find("outages")) truth.outages = read_outages(*outages, "truth.outages");
  if (const Json* bindings = reader.find("bindings")) truth.bindings = read_bindings(*bindings, "truth.bindings");
  if (const Json* tcp = reader.find("tcp")) truth.tcp = read_tcp(*tcp, "truth.tcp");
  if (const Json* faults = reader.find("forward")) of(truth.faults, Side::left) = read_faults(*faults, "truth.forward");
  if (const Json* faults = reader.find("reverse")) {
    of(truth.faults, Side::right) = read_faults(*faults, "truth.reverse");
  }
  reader.finish();
  return truth;
}

/// Checks that the mode and the two kinds of ends fit together.
void check_ends(const Settings& settings) {
  const std::string field = settings.softwire ? "softwire" : "map";
  const bool has_end = settings.softwire || settings.map;
  if (has_end && settings.mode != Mode::forward && settings.mode != Mode::nat44) {
    throw FieldError(field, "expected mode forward or nat44, which alone have IPv4 packets for such an end");
  }
  if (settings.softwire && settings.map) {
    throw FieldError("map", "expected one end, of softwires or of MAP-T; remove one of them");
  }
  if (settings.softwire && settings.softwire->softwire.inner_address && settings.mode != Mode::nat44) {
    throw FieldError("softwire.addresses.inner_address", "needs mode nat44, which keeps the homes apart");
  }
}

}  // namespace

PortsOpen read_ports_open(const Json& params) {
  PortsOpen request = natxy::read_ports_open(params, {});
  const std::size_t pairs = request.ports.size() / 2;
  for (std::size_t i = 0; i < request.ports.size(); ++i) {
    const PortOptions& port = request.ports[i];
    if (port.queues != 1) {
      throw FieldError(
          fmt::format("ports[{}].queues", i),
          fmt::format("expected 1, because natxy-reference supports one queue per port; got {}; remove the "
                      "field",
                      port.queues));
    }
    if (port.pair >= pairs) {
      throw FieldError(
          fmt::format("ports[{}].pair", i),
          fmt::format("expected pairs numbered from 0 on without gaps, so a number below {}; got {}; number "
                      "the pairs anew",
                      pairs, port.pair));
    }
  }
  return request;
}

Settings read_settings(const Json& params, std::size_t open_pairs) {
  FieldReader reader(params, "");
  Settings settings;
  settings.mode = reader.choice("mode", kModes);
  settings.links = read_links(reader, open_pairs);
  if (settings.mode != Mode::forward) settings.translation = read_translation(reader.get("translation"), settings.mode);
  if (keeps_connections(settings.mode)) settings.table = read_table(reader.get("table"));
  if (const Json* softwire = reader.find("softwire")) settings.softwire = read_softwire_end(*softwire);
  if (const Json* map = reader.find("map")) settings.map = read_map_end(*map);
  check_ends(settings);
  if (const Json* truth = reader.find("truth")) settings.truth = read_truth(*truth);
  reader.finish();
  return settings;
}

std::vector<AddressSpan> read_without_binding(const Json& params) {
  FieldReader reader(params, "");
  std::vector<AddressSpan> spans;
  for (const Json& json : reader.list("without")) {
    FieldReader item(json, item_path(reader, "without", spans.size()));
    const AnyAddress first = read_address(item.get("first"), item.path_of("first"));
    const AnyAddress last = read_address(item.get("last"), item.path_of("last"));
    item.finish();
    if (first.family != Family::ipv4 || last.family != Family::ipv4 || first.value > last.value) {
      throw FieldError(item.path_of("last"), "expected two IPv4 addresses, the last one not below the first");
    }
    spans.push_back({first.value, last.value});
  }
  reader.finish();
  if (spans.size() > kMostSpans) {
    throw FieldError("without", fmt::format("expected at most {} ranges", kMostSpans));
  }
  return spans;
}

double read_duration_s(const Json& params) {
  FieldReader reader(params, "");
  const double duration_s = reader.number("duration_s", 0, 3600);
  reader.finish();
  return duration_s;
}

Neighbors neighbors_of(const Settings& settings) {
  std::vector<LinkNeighbor> links;
  for (const Link& link : settings.links) {
    for (const AnyAddress& address : link.addresses) {
      LinkNeighbor own{link.place.side, link.place.pair, address, {address.family, 0}, {}, std::nullopt};
      for (const AnyAddress& neighbor : link.neighbors) {
        if (neighbor.family == address.family) own.gateway = neighbor;
      }
      if (link.place.side == Side::right && keeps_connections(settings.mode)) {
        own.answers.push_back(settings.translation.pool);
      }
      links.push_back(std::move(own));
    }
  }
  return Neighbors(std::move(links));
}

}  // namespace natxy::reference
