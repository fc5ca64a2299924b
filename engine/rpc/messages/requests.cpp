// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/requests.hpp"

#include <sched.h>

#include <algorithm>
#include <tuple>

#include "rpc/messages/common_fields.hpp"
#include "rpc/messages/stream_fields.hpp"

namespace natxy {

namespace {

constexpr std::uint64_t kMost64 = ~std::uint64_t{0};
constexpr std::uint64_t kMostTime_ns = std::uint64_t{1} << 60;     // a few decades, whose ticks can be calculated with
constexpr std::size_t kMostStreams = std::size_t{8} * kMostPairs;  // the steps of a connection's life

const std::vector<std::pair<std::string, EarlyEnd>> kEarlyEnds = {
    {"never", EarlyEnd::never}, {"invalid", EarlyEnd::invalid}, {"lost", EarlyEnd::lost}};
const std::vector<std::pair<std::string, Medium>> kMedia = {
    {"veth", Medium::veth}, {"memif", Medium::memif}, {"nic", Medium::nic}, {"loop", Medium::loop}};

Limits read_limits(FieldReader& parent) {
  Limits limits;
  const Json* json = parent.find("limits");
  if (json == nullptr) return limits;
  FieldReader reader(*json, parent.path_of("limits"));
  limits.max_overrun_ratio = reader.number("max_overrun_ratio", 0, 10, limits.max_overrun_ratio);
  limits.overrun_floor_s = reader.number("overrun_floor_s", 0, 1, limits.overrun_floor_s);
  limits.max_pause_s = reader.number("max_pause_s", 1e-6, 10, limits.max_pause_s);
  limits.link_may_fall = reader.flag("link_may_fall", false);
  reader.finish();
  return limits;
}

/// Returns the MAC address of a field, or nothing without the field.
std::optional<MacAddress> read_mac(FieldReader& reader, const std::string& name) {
  if (reader.find(name) == nullptr) return std::nullopt;
  const auto mac = parse_mac(reader.text(name));
  if (!mac) throw FieldError(reader.path_of(name), "expected a MAC address like 02:00:00:00:00:01");
  return mac;
}

/// Returns the numbers of the workers whose cores a field lists, or none without the field.
std::vector<std::size_t> read_workers(FieldReader& reader, const std::string& name,
                                      std::span<const unsigned> worker_cores) {
  std::vector<std::size_t> workers;
  if (reader.find(name) == nullptr) return workers;
  for (const Json& core : reader.list(name)) {
    const auto worker = std::ranges::find_if(worker_cores, [&](unsigned known) { return core == known; });
    if (worker == worker_cores.end()) {
      throw FieldError(item_path(reader, name, workers.size()),
                       worker_cores.empty()
                           ? std::string{"this program does not choose the cores of a port; remove the field"}
                           : fmt::format("expected one of the cores given by --worker-cores, {}; got {}",
                                         fmt::join(worker_cores, ", "), core.dump()));
    }
    const auto number = static_cast<std::size_t>(worker - worker_cores.begin());
    if (std::ranges::find(workers, number) != workers.end()) {
      throw FieldError(item_path(reader, name, workers.size()),
                       fmt::format("expected each core once; remove the second {}", core.dump()));
    }
    workers.push_back(number);
  }
  if (workers.empty())
    throw FieldError(reader.path_of(name), "expected at least one core; name one or remove the field");
  return workers;
}

std::optional<Vlan> read_vlan(FieldReader& reader) {
  constexpr std::uint64_t kMostId = 4094;
  const auto id = [&](const std::string& name) { return static_cast<std::uint16_t>(reader.whole(name, 1, kMostId)); };
  std::optional<std::uint16_t> service;
  if (reader.find("service_vlan") != nullptr) service = id("service_vlan");
  if (reader.find("vlan") != nullptr) return Vlan{id("vlan"), service};
  if (service) throw FieldError(reader.path_of("vlan"), "is missing; a `service_vlan` has VLANs within it");
  return std::nullopt;
}

/// Refuses two ports on a device that do not differ in their VLANs alone; `path` is that of the second.
void check_shared_device(const PortOptions& first, const PortOptions& second, const std::string& path) {
  if (first.device != second.device) return;
  if (!first.vlan || !second.vlan || first.vlan == second.vlan) {
    throw FieldError(path + ".vlan", "both ports have the same device; give each a `vlan` of its own");
  }
  const auto shared = [](const PortOptions& port) {
    return std::tie(port.medium, port.queues, port.mtu, port.senders, port.receivers);
  };
  if (shared(first) != shared(second)) {
    throw FieldError(path,
                     "both ports have the same device; give both the same medium, queues, mtu, send_cores and "
                     "receive_cores");
  }
}

/// Refuses ports that are not complete pairs. Their numbers may have gaps, because other testers have the other pairs.
void check_pairs(std::span<const PortOptions> ports) {
  if (ports.empty()) throw FieldError("ports", "expected at least one pair of ports");
  for (const PortOptions& port : ports) {
    for (const Side side : {Side::left, Side::right}) {
      if (std::ranges::count(ports, Place{side, port.pair}, &PortOptions::place) == 1) continue;
      throw FieldError("ports", fmt::format("expected pairs of ports, each with one port of side left and one of side "
                                            "right; pair {} has not one of side {}",
                                            port.pair, name_of(side)));
    }
  }
}

/// Refuses a last stream that neither makes connections nor uses connections of its trial, where others make them. A
/// stream of phase 1 has a pair of its own, because each pair has one table, and says whether its four-tuples may
/// repeat.
void check_phase1(const FieldReader& request, const Json& json, std::span<const StreamSpec> streams) {
  const StreamSpec& last = streams.back();
  const bool phase1 = last.role == StreamRole::phase1;
  const std::string path = item_path(request, "streams", streams.size() - 1);
  const bool makes = streams.front().role == StreamRole::phase1;
  if (phase1 && !makes) throw FieldError(path + ".role", "the streams of phase 1 come first in a trial");
  if (!phase1) {
    const auto of_pair = [&](const StreamSpec& other) {
      return other.role == StreamRole::phase1 && other.pair == last.pair;
    };
    if (makes && (last.kind == StreamKind::flows || std::ranges::none_of(streams, of_pair))) {
      throw FieldError(path + ".role",
                       "beside phase 1, a stream is of the kind connections or replies, and behind the "
                       "stream of phase 1 of its pair");
    }
    return;
  }
  if (last.kind != StreamKind::flows) throw FieldError(path + ".kind", "must be flows in phase 1");
  if (FieldReader(json, path).find("selection") == nullptr) {
    throw FieldError(path + ".selection",
                     "is missing; in phase 1 it is enumerate, so that every frame is a new connection (RFC 9693 §4.4), "
                     "or random, so that four-tuples may repeat");
  }
  if (std::ranges::count(streams, last.pair, &StreamSpec::pair) > 1) {
    throw FieldError(path + ".pair", "expected a pair that no earlier stream has");
  }
}

}  // namespace

PortsOpen read_ports_open(const Json& params, std::span<const unsigned> worker_cores) {
  FieldReader reader(params, "");
  PortsOpen request;
  auto& ports = request.ports;
  for (const Json& json : reader.list("ports")) {
    FieldReader item(json, item_path(reader, "ports", ports.size()));
    PortOptions port;
    port.side = item.choice("side", kSides);
    port.pair = read_pair(item);
    port.device = item.text("device");
    port.medium = item.choice("medium", kMedia);
    port.mac = read_mac(item, "mac");
    port.vlan = read_vlan(item);
    port.queues = static_cast<unsigned>(item.whole("queues", 1, 64, 1));
    if (item.find("mtu") != nullptr) port.mtu = static_cast<std::uint16_t>(item.whole("mtu", 576, 9600));
    port.senders = read_workers(item, "send_cores", worker_cores);
    port.receivers = read_workers(item, "receive_cores", worker_cores);
    item.finish();
    ports.push_back(port);
  }
  if (reader.find("dut_cores") != nullptr) {
    for (const Json& core : reader.list("dut_cores")) {
      if (!core.is_number_integer() || core.get<std::int64_t>() < 0 || core.get<std::int64_t>() >= CPU_SETSIZE) {
        throw FieldError(item_path(reader, "dut_cores", request.dut_cores.size()), "expected the number of a core");
      }
      request.dut_cores.push_back(core.get<unsigned>());
    }
  }
  reader.finish();
  check_pairs(ports);
  for (std::size_t i = 1; i < ports.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) check_shared_device(ports[j], ports[i], item_path(reader, "ports", i));
  }
  return request;
}

NeighborsResolve read_neighbors_resolve(const Json& params) {
  FieldReader reader(params, "");
  NeighborsResolve request;
  for (const Json& json : reader.list("neighbors")) {
    FieldReader item(json, item_path(reader, "neighbors", request.links.size()));
    LinkNeighbor link;
    link.side = item.choice("side", kSides);
    link.pair = read_pair(item);
    link.address = read_address(item, "address");
    link.gateway_mac = read_mac(item, "gateway_mac");
    // No request asks for the unspecified address.
    link.gateway.family = link.address.family;
    if (!link.gateway_mac || item.find("gateway") != nullptr) link.gateway = read_address(item, "gateway");
    if (link.address.family != link.gateway.family) {
      throw FieldError(item.path_of("gateway"), "must be of the same family as address");
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
  TrialRequest request;
  TrialSpec& spec = request.spec;
  for (const Json& json : reader.list("streams")) {
    spec.streams.push_back(read_stream(json, item_path(reader, "streams", spec.streams.size()), spec.streams));
    check_phase1(reader, json, spec.streams);
  }
  spec.seed = reader.whole("seed", 0, kMost64);
  spec.drain_s = reader.number("drain_s", 0, 60, 2);
  spec.drain_ends_early = reader.flag("drain_ends_early", false);
  spec.ends_early = reader.choice("ends_early", kEarlyEnds, EarlyEnd::never);
  spec.limits = read_limits(reader);
  if (reader.find("begin_at_ns") != nullptr) spec.begin_at_ns = reader.whole("begin_at_ns", 0, kMostTime_ns);
  request.delay_histogram = reader.flag("delay_histogram", false);
  spec.list_ports = reader.flag("list_ports", false);
  reader.finish();
  if (spec.streams.empty() || spec.streams.size() > kMostStreams) {
    throw FieldError("streams", fmt::format("expected 1 to {} streams", kMostStreams));
  }
  spec.phase1 = spec.streams.front().role == StreamRole::phase1;
  return request;
}

}  // namespace natxy
