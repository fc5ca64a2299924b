// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/results.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "rpc/messages/common_fields.hpp"

namespace natxy {

namespace {

constexpr std::array<const char*, 3> kVerdicts = {"pass", "fail", "invalid"};
constexpr std::array<const char*, 11> kCauses = {"lossless",  "loss",    "back_pressure", "late",
                                                 "paused",    "unsent",  "tester_drops",  "aborted",
                                                 "link_down", "backlog", "suspended"};

constexpr std::array<const char*, 5> kFlowFields = {"source_address", "destination_address", "source_port",
                                                    "destination_port", "frame_size"};

std::string base64(const std::vector<std::uint8_t>& bytes) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = std::uint32_t{bytes[i]} << 16;
    if (i + 1 < bytes.size()) group |= std::uint32_t{bytes[i + 1]} << 8;
    if (i + 2 < bytes.size()) group |= bytes[i + 2];
    text += digits[group >> 18];
    text += digits[(group >> 12) & 63];
    text += i + 1 < bytes.size() ? digits[(group >> 6) & 63] : '=';
    text += i + 2 < bytes.size() ? digits[group & 63] : '=';
  }
  return text;
}

Json write_histogram(const Histogram& histogram, const Clock& clock) {
  Json buckets = Json::array();
  histogram.for_each([&](std::uint64_t bound, std::uint64_t count) {
    buckets.push_back(Json::array({clock.nanoseconds(bound), count}));
  });
  return buckets;
}

Json write_pacing(const PacingReport& pacing, const Clock& clock, bool with_histogram) {
  return {{"median_ns", clock.nanoseconds(pacing.lateness.percentile(0.5))},
          {"p99_ns", clock.nanoseconds(pacing.lateness.percentile(0.99))},
          {"p999_ns", clock.nanoseconds(pacing.lateness.percentile(0.999))},
          {"max_ns", clock.nanoseconds(pacing.lateness.max())},
          {"overrun_ns", clock.nanoseconds(pacing.overrun)},
          {"max_pause_ns", clock.nanoseconds(pacing.max_pause)},
          {"paused_ns", clock.nanoseconds(pacing.paused)},
          {"pauses_ns", clock.nanoseconds(pacing.pauses)},
          {"refused", pacing.refused},
          {"blocked_ns", clock.nanoseconds(pacing.blocked)},
          {"histogram", with_histogram ? write_histogram(pacing.lateness, clock) : Json()}};
}

Json write_delay(const Histogram& delay, const Clock& clock, bool with_histogram) {
  if (delay.count() == 0) return nullptr;
  return {{"count", delay.count()},
          {"min_ns", clock.nanoseconds(delay.min())},
          {"max_ns", clock.nanoseconds(delay.max())},
          {"mean_ns", delay.mean() * 1e9 / static_cast<double>(clock.hz())},
          {"median_ns", clock.nanoseconds(delay.percentile(0.5))},
          {"p1_ns", clock.nanoseconds(delay.percentile(0.01))},
          {"p99_ns", clock.nanoseconds(delay.percentile(0.99))},
          {"p999_ns", clock.nanoseconds(delay.percentile(0.999))},
          {"histogram", with_histogram ? write_histogram(delay, clock) : Json()}};
}

Json write_ipdv(const SignedHistogram& ipdv, const Clock& clock, bool with_histogram) {
  if (ipdv.count() == 0) return nullptr;
  const auto ns = [&](std::int64_t ticks) {
    const auto magnitude = static_cast<std::int64_t>(clock.nanoseconds(static_cast<std::uint64_t>(std::abs(ticks))));
    return ticks < 0 ? -magnitude : magnitude;
  };
  Json buckets;
  if (with_histogram) {
    buckets = Json::array();
    ipdv.for_each([&](std::int64_t bound, std::uint64_t count) { buckets.push_back(Json::array({ns(bound), count})); });
  }
  return {{"pairs", ipdv.count()},
          {"min_ns", ns(ipdv.min())},
          {"p1_ns", ns(ipdv.percentile(0.01))},
          {"median_ns", ns(ipdv.percentile(0.5))},
          {"p99_ns", ns(ipdv.percentile(0.99))},
          {"max_ns", ns(ipdv.max())},
          {"histogram", std::move(buckets)}};
}

Json write_tagged(const StreamSpec& spec, const StreamReport& stream, const Clock& clock) {
  if (!spec.tagged) return nullptr;
  Json delays = Json::array();
  for (const auto& delay : stream.tagged_delays) delays.push_back(delay ? Json(clock.nanoseconds(*delay)) : Json());
  return delays;
}

/// Writes a value of a field of a frame: an address as text, a port or a size as a number.
Json write_value(FlowField field, Family family, uint128 value) {
  const bool is_address = field == FlowField::source_address || field == FlowField::destination_address;
  return is_address ? Json(format_address({family, value})) : Json(static_cast<std::uint16_t>(value));
}

Json write_lost_flows(const std::optional<LostFlows>& flows) {
  if (!flows) return nullptr;
  Json fields = Json::array();
  for (const FieldLosses& field : flows->fields) {
    const auto value = [&](uint128 number) { return write_value(field.field, flows->family, number); };
    fields.push_back({{"field", kFlowFields.at(static_cast<std::size_t>(field.field))},
                      {"lowest", value(field.lowest)},
                      {"highest", value(field.highest)},
                      {"lost_lowest", value(field.lost_lowest)},
                      {"lost_highest", value(field.lost_highest)},
                      {"sent", field.sent},
                      {"lost", field.lost}});
  }
  return {{"fields", std::move(fields)}, {"marks", flows->marks ? Json(*flows->marks) : Json()}};
}

/// Returns the second of the trial in which a frame was due.
double due_s(const StreamSpec& spec, std::uint64_t sequence) {
  const std::uint64_t first_of_burst = sequence / spec.burst * spec.burst;
  return spec.start_s + static_cast<double>(first_of_burst) / spec.rate_fps;
}

Json write_frame(const StreamSpec& spec, std::uint64_t sequence) {
  return {{"sequence", sequence}, {"due_s", due_s(spec, sequence)}};
}

Json write_bursts(const StreamSpec& spec, const std::vector<LostBurst>& bursts) {
  Json list = Json::array();
  for (const LostBurst& burst : bursts) {
    list.push_back({{"sequence", burst.first},
                    {"due_s", due_s(spec, burst.first)},
                    {"frames", burst.last - burst.first + 1},
                    {"lost", burst.lost}});
  }
  return list;
}

Json write_queries(const std::optional<QueryReport>& queries) {
  if (!queries) return nullptr;
  const auto answers = [&](dns::AnswerKind kind) { return queries->answers.at(static_cast<std::size_t>(kind)); };
  return {{"malformed", answers(dns::AnswerKind::malformed)},
          {"wrong_question", answers(dns::AnswerKind::wrong_question)},
          {"truncated", answers(dns::AnswerKind::truncated)},
          {"server_failure", answers(dns::AnswerKind::server_failure)},
          {"other_error", answers(dns::AnswerKind::other_error)},
          {"no_address", answers(dns::AnswerKind::no_address)},
          {"wrong_address", answers(dns::AnswerKind::wrong_address)},
          {"authority_a", queries->authority.ipv4},
          {"authority_aaaa", queries->authority.ipv6},
          {"authority_other", queries->authority.other},
          {"authority_malformed", queries->authority.malformed},
          {"authority_unsent", queries->unsent}};
}

Json write_stream(const StreamSpec& spec, const StreamReport& stream, const Clock& clock, bool with_histogram) {
  return {{"name", spec.name},
          {"source", name_of(spec.source)},
          {"pair", spec.pair},
          {"role", std::ranges::find(kRoles, spec.role, &std::pair<std::string, StreamRole>::second)->first},
          {"planned", stream.due(spec.frames)},
          {"sent", stream.sent},
          {"absent", stream.absent},
          {"unsent", stream.due(spec.frames) - stream.sent - stream.absent},
          {"received", stream.received},
          {"lost", stream.due(spec.frames) - std::min(stream.due(spec.frames), stream.received)},
          {"timed_out", stream.timed_out},
          {"duplicate", stream.duplicate},
          {"reordered", stream.reordered ? Json(*stream.reordered) : Json()},
          {"corrupt", stream.corrupt},
          {"misrouted", stream.misrouted},
          {"beyond_window", stream.beyond_window},
          {"intended_rate_fps", spec.rate_fps},
          {"offered_rate_fps", stream.offered_rate_fps},
          {"pacing", write_pacing(stream.pacing, clock, with_histogram)},
          {"backlog_ns", clock.nanoseconds(stream.backlog)},
          {"delay", write_delay(stream.delay, clock, with_histogram)},
          {"ipdv", write_ipdv(stream.ipdv, clock, with_histogram)},
          {"tagged_delays_ns", write_tagged(spec, stream, clock)},
          {"first_arrived", stream.arrived ? write_frame(spec, stream.arrived->first) : Json()},
          {"last_arrived", stream.arrived ? write_frame(spec, stream.arrived->last) : Json()},
          {"first_lost", stream.lost ? write_frame(spec, stream.lost->first) : Json()},
          {"last_lost", stream.lost ? write_frame(spec, stream.lost->last) : Json()},
          {"lost_bursts", write_bursts(spec, stream.lost_bursts)},
          {"lost_stride", stream.lost_stride ? Json(*stream.lost_stride) : Json()},
          {"lost_flows", write_lost_flows(stream.lost_flows)},
          {"near_pauses", stream.near_pauses},
          {"lost_near_pauses", stream.lost_near_pauses},
          {"longest_silence", stream.silence == 0 ? Json()
                                                  : Json{{"start_s", clock.seconds(stream.silence_start)},
                                                         {"duration_s", clock.seconds(stream.silence)}}},
          {"queries", write_queries(stream.queries)},
          {"sent_per_second", stream.sent_per_second},
          {"received_per_second", stream.received_per_second}};
}

Json write_port_uses(const std::optional<std::vector<PortUse>>& uses) {
  if (!uses) return nullptr;
  Json written = Json::array();
  for (const PortUse& use : *uses) {
    written.push_back({{"first", use.first}, {"last", use.last}, {"connections", use.connections}});
  }
  return written;
}

Json write_sources(const std::optional<SourceSpread>& sources) {
  if (!sources) return nullptr;
  return {{"connections", sources->connections},
          {"addresses", sources->addresses},
          {"fewest", sources->fewest},
          {"most", sources->most},
          {"lowest", format_address(sources->lowest)},
          {"highest", format_address(sources->highest)},
          {"endpoints", sources->endpoints ? Json(*sources->endpoints) : Json()},
          {"lowest_port", sources->lowest_port},
          {"highest_port", sources->highest_port},
          {"ports", write_port_uses(sources->ports)}};
}

Json write_port_report(const PortReport& port) {
  Json foreign = Json::object();
  for (const auto& [kind, count] : port.foreign) foreign[std::string{natxy::name_of(kind)}] = count;
  return {{"side", name_of(port.place.side)},  {"pair", port.place.pair},
          {"missed", port.drops.missed},       {"no_buffer", port.drops.no_buffer},
          {"kernel_drops", port.drops.kernel}, {"rejected", port.rejected},
          {"foreign", std::move(foreign)},     {"received_by_queue", port.received_by_queue}};
}

}  // namespace

Json write_clock(const ClockSample& sample, const Clock& clock) {
  return {{"clock_ns", clock.nanoseconds(sample.ticks)},
          {"raw_ns", sample.ns},
          {"uncertainty_ns", clock.nanoseconds(sample.uncertain_ticks)}};
}

Json write_port(const Port& port) {
  return {{"side", name_of(port.options().side)},
          {"pair", port.options().pair},
          {"device", port.options().device},
          {"driver", port.driver()},
          {"mac", format_mac(port.mac())},
          {"mtu", port.mtu()},
          {"link_up", port.link_up()},
          {"rx_queues", port.options().queues},
          {"tx_queues", port.options().queues}};
}

Json write_trial(const TrialRequest& request, const TrialReport& report, const Clock& clock) {
  Json streams = Json::array();
  Json spoofed = Json::array();
  for (std::size_t i = 0; i < report.streams.size(); ++i) {
    const StreamSpec& spec = request.spec.streams.at(i);
    Json& of_role = spec.role == StreamRole::spoofed ? spoofed : streams;
    of_role.push_back(write_stream(spec, report.streams[i], clock, request.delay_histogram));
  }
  Json ports = Json::array();
  for (const PortReport& port : report.ports) ports.push_back(write_port_report(port));
  Json samples = Json::array();
  for (const ForeignSample& sample : report.samples) {
    samples.push_back({{"side", name_of(sample.place.side)},
                       {"pair", sample.place.pair},
                       {"kind", natxy::name_of(sample.kind)},
                       {"time_ns", sample.time_ns},
                       {"data_base64", base64(sample.bytes)}});
  }
  Json cores = Json::array();
  for (const CoreSpeed& core : report.dut_cores) {
    cores.push_back(
        {{"core", core.core}, {"samples", core.samples}, {"mean_hz", core.mean_hz}, {"fastest_hz", core.fastest_hz}});
  }
  return {{"run_id", report.run_id},
          {"verdict", kVerdicts.at(static_cast<std::size_t>(report.verdict))},
          {"cause", kCauses.at(static_cast<std::size_t>(report.cause))},
          {"reason", report.reason},
          {"duration_s", report.duration_s},
          {"ended_early", report.ended_early()},
          {"began_ns", request.spec.begin_at_ns ? Json(clock.nanoseconds(report.began)) : Json()},
          {"streams", std::move(streams)},
          {"spoofed", std::move(spoofed)},
          {"ports", std::move(ports)},
          {"stale", report.stale},
          {"established", request.spec.phase1 ? Json(report.established) : Json(nullptr)},
          {"sources", write_sources(report.sources)},
          {"samples", std::move(samples)},
          {"dut_cores", std::move(cores)}};
}

Json write_progress(const TrialProgress& progress) {
  return {{"elapsed_s", progress.elapsed_s},
          {"planned", progress.planned},
          {"sent", progress.sent},
          {"received", progress.received}};
}

}  // namespace natxy
