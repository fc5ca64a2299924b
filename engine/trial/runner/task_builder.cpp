// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/task_builder.hpp"

#include <algorithm>

#include "trial/runner/flows.hpp"

namespace natxy {

namespace {

// A sender gives up when it lags by this time, by this share of the trial, or by what the limits allow, whichever is
// longest.
constexpr double kGrace_s = 1.0;
constexpr double kGraceShare = 0.1;
// A frame that others overtook so long ago is lost, even if the drain is shorter.
constexpr double kLeastPatience_s = 0.1;

}  // namespace

void TaskBuilder::add_senders(std::span<Worker> workers) const {
  for (std::size_t port_index = 0; port_index < resources_.ports.size(); ++port_index) {
    const Port& port = *resources_.ports[port_index];
    const std::vector<std::size_t> senders = resources_.senders_of(port_index);
    const auto queues = static_cast<std::uint16_t>(port.options().queues);
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
      for (std::size_t i = 0; i < spec_.streams.size(); ++i) {
        if (spec_.streams[i].from() != port.options().place() || spec_.streams[i].interleaved_with) continue;
        workers[senders[queue % senders.size()]].senders.push_back(sender_of(i, port, queue));
      }
    }
  }
}

void TaskBuilder::add_receivers(std::span<Worker> workers, std::uint64_t end) const {
  for (std::size_t port_index = 0; port_index < resources_.ports.size(); ++port_index) {
    const Port& port = *resources_.ports[port_index];
    const std::vector<std::size_t> receivers = resources_.receivers_of(port_index);
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      std::vector<Receiver::Source> sources;
      for (std::size_t queue = i; queue < port.options().queues; queue += receivers.size()) {
        sources.push_back(source_of(port_index, static_cast<std::uint16_t>(queue), receivers[i], workers));
      }
      workers[receivers[i]].receivers.push_back(
          {port_index, std::make_unique<Receiver>(port, sources, receivers.size() > 1, resources_.neighbors, run_id_,
                                                  streams_at(port), Receiver::Period{start_, end}, resources_.clock)});
    }
  }
}

/// Returns a queue as its receiver sees it. A queue has one sender, so that sending needs no lock: another worker hands
/// it its answers to the DUT's requests. An authority sends itself, where no stream is sent.
Receiver::Source TaskBuilder::source_of(std::size_t port, std::uint16_t queue, std::size_t receiver,
                                        std::span<Worker> workers) const {
  const std::vector<std::size_t> senders = resources_.senders_of(port);
  const std::size_t sender = senders[queue % senders.size()];
  if (sender == receiver || is_authority(port)) return {queue};
  auto& answers = workers[sender].answers;
  answers.push_back(std::make_unique<AnswerQueue>(*resources_.ports[port], queue));
  return {queue, answers.back().get()};
}

/// Returns whether a port answers queries of the DUT.
bool TaskBuilder::is_authority(std::size_t port) const {
  const Place place = resources_.ports[port]->options().place();
  return std::ranges::any_of(
      spec_.streams, [&](const StreamSpec& stream) { return stream.queries && opposite(stream.from()) == place; });
}

/// Makes the sender of a stream and of the stream interleaved with it, if there is one.
std::unique_ptr<Sender> TaskBuilder::sender_of(std::size_t stream, const Port& port, std::uint16_t queue) const {
  const StreamSpec& spec = spec_.streams[stream];
  const auto found = std::ranges::find(spec_.streams, std::optional{stream}, &StreamSpec::interleaved_with);
  if (found == spec_.streams.end()) {
    return std::make_unique<Sender>(port, queue, frames_of(stream, port),
                                    setup_of({stream}, Turns(spec.frames, 0), spec.frames, spec.rate_fps, port, queue));
  }
  const auto second = static_cast<std::size_t>(found - spec_.streams.begin());
  const Turns turns(spec.frames, found->frames);
  return std::make_unique<Sender>(
      port, queue, std::make_unique<InterleavedFrames>(turns, frames_of(stream, port), frames_of(second, port)),
      setup_of({stream, second}, turns, spec.frames + found->frames, spec.rate_fps + found->rate_fps, port, queue));
}

/// Makes the setup for `count` frames at `rate_fps`. Everything else is the same for interleaved streams and taken from
/// the first one.
Sender::Setup TaskBuilder::setup_of(const std::vector<std::size_t>& streams, const Turns& turns, std::uint64_t count,
                                    double rate_fps, const Port& port, std::uint16_t queue) const {
  const StreamSpec& spec = spec_.streams[streams.front()];
  const Clock& clock = resources_.clock;
  const Schedule schedule(start_ + clock.ticks(spec.start_s), count, rate_fps, clock.hz(), spec.burst);
  const double duration_s = static_cast<double>(count) / rate_fps;
  const double grace_s = std::max({kGrace_s, kGraceShare * duration_s, spec_.limits.overrun_s(duration_s)});
  return {streams,
          turns,
          start_,
          schedule,
          {queue, port.options().queues},
          schedule.end() + clock.ticks(grace_s),
          clock.ticks(spec_.limits.max_pause_s),
          clock.ticks(kNotablePause_s),
          clock.hz(),
          spec_.pause_marks(clock)};
}

std::unique_ptr<FrameSource> TaskBuilder::frames_of(std::size_t stream, const Port& port) const {
  const StreamSpec& spec = spec_.streams[stream];
  if (spec.queries) {
    QueryStream queries = queries_of(stream);
    queries.way.source_mac = port.mac();
    queries.way.destination_mac = *resources_.destination_mac(spec.from(), queries.way.family);
    return std::make_unique<QueryFrames>(queries, spec.ttl);
  }
  const Connections& connections = connections_[spec.pair];
  const auto made = [&]<Layout L>() {
    const FrameSettings settings{.ttl = spec.ttl,
                                 .dont_fragment = spec.dont_fragment,
                                 .source_mac = port.mac(),
                                 .destination_mac = *resources_.destination_mac(spec.from(), L.link_family()),
                                 .stream = static_cast<std::uint8_t>(stream),
                                 .run_id = run_id_,
                                 .softwire = spec.softwire,
                                 .mapping = spec.mapping,
                                 .segment = spec.segment};
    return make_frame_source<L>(spec.form, SizeCycle(spec.frame_sizes), settings,
                                make_flow_source<L.family>(spec_, connections, stream));
  };
  return with_layout(spec.form, connections.family_of(spec), made);
}

/// Describes the queries of a stream. Their source ports take turns whatever their order in the request, so that
/// the answers say the numbers of their queries.
QueryStream TaskBuilder::queries_of(std::size_t stream) const {
  const StreamSpec& spec = spec_.streams[stream];
  const FlowFields& fields = *spec.flows;
  return {dns::Queries({spec.queries->shares, spec.queries->prefix, static_cast<std::uint16_t>(fields.source_port.min),
                        static_cast<std::uint32_t>(fields.source_port.size()), run_id_}),
          {.family = fields.source_address.address.family,
           .source = fields.source_address.address.value,
           .destination = fields.destination_address.address.value,
           .destination_port = dns::kPort}};
}

/// Returns whether one task sends all frames of a stream, in order, and one receives them.
bool TaskBuilder::is_in_order(std::size_t stream) const {
  return std::ranges::all_of(resources_.ports, [&](const auto& port) {
    const Place place = port->options().place();
    return (place != spec_.streams[stream].from() && place != spec_.streams[stream].to()) ||
           port->options().queues == 1;
  });
}

/// Describes the trial's streams to a receiver at `port`.
std::vector<Receiver::Stream> TaskBuilder::streams_at(const Port& port) const {
  std::vector<Receiver::Stream> streams;
  for (std::size_t i = 0; i < spec_.streams.size(); ++i) {
    const StreamSpec& stream = spec_.streams[i];
    const Connections& connections = connections_[stream.pair];
    const bool expected = stream.to() == port.options().place();
    const Layout layout = layout_of(stream.form, connections.family_of(stream));
    std::vector<std::size_t> payloads;
    payloads.reserve(stream.frame_sizes.size());
    for (const std::size_t size : stream.frame_sizes) payloads.push_back(layout.payload_bytes(size));
    const std::uint64_t timeout = stream.frame_timeout_s ? resources_.clock.ticks(*stream.frame_timeout_s) : kMask48;
    std::optional<Receiver::LossWatch> watch;
    if (spec_.ends_early != EarlyEnd::never && expected && is_in_order(i)) {
      watch = {stream.tolerated_loss(), resources_.clock.ticks(std::max(spec_.drain_s, kLeastPatience_s))};
    }
    streams.push_back({expected, connections.arrival_form_of(stream), connections.arrival_family_of(stream),
                       stream.frames, SizeCycle(payloads), stream.tagged, stream.ipdv,
                       expected ? make_arrival_check(spec_, connections, i) : nullptr, timeout,
                       stream.schedule(resources_.clock), stream.softwire, stream.mapping, stream.segment, watch,
                       stream.queries ? std::optional{queries_of(i)} : std::nullopt,
                       stream.queries && opposite(stream.from()) == port.options().place()});
  }
  return streams;
}

}  // namespace natxy
