// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/check_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dns/datagram.hpp"
#include "form/forms.hpp"
#include "trial/receiver.hpp"

namespace natxy {

namespace {

// A start that is later than this is asked for by mistake, for example on another clock.
constexpr double kLongestWait_s = 60;

void check_begin(const TrialSpec& spec, const Clock& clock) {
  if (spec.begin_at_ns && clock.ticks_of_ns(*spec.begin_at_ns) > now_ticks() + clock.ticks(kLongestWait_s)) {
    throw TrialError(
        fmt::format("begin_at_ns is more than {} s ahead; it counts as engine.clock's clock_ns does", kLongestWait_s));
  }
}

void check_ports(const StreamSpec& stream, const TrialResources& resources) {
  for (const Place place : {stream.from(), opposite(stream.from())}) {
    if (std::ranges::none_of(resources.ports, [&](const auto& port) { return port->options().place() == place; })) {
      throw TrialError(stream, fmt::format("both ports of pair {} must be open; call ports.open first", stream.pair));
    }
  }
}

void check_connections(const StreamSpec& stream, bool phase1, const Connections& connections) {
  if (!phase1 && stream.kind != StreamKind::flows && !connections.usable()) {
    throw TrialError(stream, fmt::format("phase 2 needs a phase 1 that passed; {} of {} connections are established",
                                         connections.established, connections.count));
  }
  if (stream.role == StreamRole::validation &&
      (stream.kind != StreamKind::replies || stream.frames != connections.count)) {
    throw TrialError(stream, fmt::format("a validation has one reply for each of the {} connections; "
                                         "give the kind `replies` and as many `frames`",
                                         connections.count));
  }
  if (stream.active_connections > connections.count) {
    throw TrialError(stream, fmt::format("the first {} connections are requested, but phase 1 made {}; lower "
                                         "`active_connections`",
                                         *stream.active_connections, connections.count));
  }
}

void check_form(const StreamSpec& stream, Form form, Family family) {
  if (has_form(family, form)) return;
  throw TrialError(stream, fmt::format("frames of IPv{} have no form {}; IPv6 has extension headers, and IPv4 is in "
                                       "softwires or mapped",
                                       static_cast<int>(family), kFormNames[static_cast<std::size_t>(form)]));
}

void check_frame_size(const StreamSpec& stream, const TrialResources& resources, const Connections& connections) {
  const Family family = connections.family_of(stream);
  check_form(stream, stream.form, family);
  check_form(stream, connections.arrival_form_of(stream), connections.arrival_family_of(stream));
  const Layout sent = layout_of(stream.form, family);
  const Layout arriving = layout_of(connections.arrival_form_of(stream), connections.arrival_family_of(stream));
  const auto [smallest, largest] = std::ranges::minmax(stream.frame_sizes);
  if (smallest < sent.smallest_frame()) {
    throw TrialError(stream,
                     fmt::format("a frame of {} bytes is too short; the minimum of the form {} over IPv{} is {} "
                                 "bytes",
                                 smallest, kFormNames[static_cast<std::size_t>(stream.form)], static_cast<int>(family),
                                 sent.smallest_frame()));
  }
  for (const auto& port : resources.ports) {
    const Place place = port->options().place();
    if (place != stream.from() && place != stream.to()) continue;
    const std::size_t size = largest + (place == stream.from() ? sent : arriving).transport() - sent.transport();
    if (size - kFcsBytes > port->longest_frame()) {
      throw TrialError(
          stream, fmt::format("a frame of {} bytes is too long; the maximum of port {} is {} bytes; raise its `mtu`",
                              size, port->options().device, port->longest_frame() + kFcsBytes));
    }
  }
}

void check_queries(const StreamSpec& stream, Family family) {
  if (!stream.queries) return;
  const std::size_t size = dns::message_at(family) + dns::kQueryBytes + kFcsBytes;
  if (stream.frame_sizes.size() == 1 && stream.frame_sizes.front() == size) return;
  throw TrialError(
      stream, fmt::format("a query over IPv{} has {} bytes; give `size` {}", static_cast<int>(family), size, size));
}

/// Refuses what the cores that share a port cannot find out together.
void check_shared_port(const StreamSpec& stream, const TrialResources& resources) {
  for (std::size_t i = 0; i < resources.ports.size(); ++i) {
    const PortOptions& port = resources.ports[i]->options();
    const std::size_t workers = resources.receivers_of(i).size();
    if (port.place() != stream.to() || workers == 1) continue;
    if (stream.ipdv) {
      throw TrialError(stream, fmt::format("IPDV needs all frames of the stream on one core, and {} cores share the "
                                           "queues of port {}; lower `queues` to 1, or give the tester fewer cores",
                                           workers, port.device));
    }
    if (stream.frames > Receiver::kLongestShared) {
      throw TrialError(stream, fmt::format("{} frames are too many for a port whose queues {} cores share; the maximum "
                                           "is {}; lower `queues` to 1, or shorten the trial",
                                           stream.frames, workers, Receiver::kLongestShared));
    }
  }
}

/// Refuses a stream over connections that the trial itself makes, if one worker would record them and another one read
/// what is recorded.
void check_prompt(const StreamSpec& stream, const TrialResources& resources) {
  const Place recording = stream.kind == StreamKind::replies ? stream.from() : stream.to();
  for (std::size_t i = 0; i < resources.ports.size(); ++i) {
    const PortOptions& port = resources.ports[i]->options();
    const std::vector<std::size_t> receivers = resources.receivers_of(i);
    if (port.place() != recording || (receivers.size() == 1 && receivers == resources.senders_of(i))) continue;
    throw TrialError(stream, fmt::format("a stream over the trial's own connections needs one core that receives and "
                                         "sends on port {}; give the port one queue, and neither `send_cores` nor "
                                         "`receive_cores`",
                                         port.device));
  }
}

void check_stream(const StreamSpec& stream, bool phase1, const TrialResources& resources,
                  const Connections& connections) {
  check_connections(stream, phase1, connections);
  check_frame_size(stream, resources, connections);
  check_shared_port(stream, resources);
  const Family family = connections.family_of(stream);
  check_queries(stream, family);
  if (!resources.destination_mac(stream.from(), layout_of(stream.form, family).link_family())) {
    throw TrialError(stream, "the DUT's MAC address is unknown; call neighbors.resolve first");
  }
}

}  // namespace

TrialError::TrialError(const StreamSpec& stream, const std::string& why)
    : std::runtime_error(fmt::format("stream {}: {}", stream.name, why)) {}

void check_request(const TrialSpec& spec, const TrialResources& resources, std::span<const Connections> of_pairs) {
  check_begin(spec, resources.clock);
  for (const StreamSpec& stream : spec.streams) {
    check_ports(stream, resources);
    if (!spec.is_prompt(stream)) check_stream(stream, spec.phase1, resources, of_pairs[stream.pair]);
  }
}

void check_prompt_streams(const TrialSpec& spec, const TrialResources& resources,
                          std::span<const Connections> of_pairs) {
  for (const StreamSpec& stream : spec.streams) {
    if (!spec.is_prompt(stream)) continue;
    check_stream(stream, spec.phase1, resources, of_pairs[stream.pair]);
    check_prompt(stream, resources);
  }
}

}  // namespace natxy
