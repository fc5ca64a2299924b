// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dns/authority.hpp"
#include "dns/queries.hpp"
#include "form/classifier.hpp"
#include "measure/core_probe.hpp"
#include "measure/delay_variation.hpp"
#include "measure/histogram.hpp"
#include "measure/lost_bursts.hpp"
#include "measure/lost_flows.hpp"
#include "measure/sequence_window.hpp"
#include "port/port.hpp"
#include "state/source_spread.hpp"

// The results of a trial, in the terms of docs/reference/rpc.md.
namespace natxy {

enum class Verdict : std::uint8_t { pass, fail, invalid };
enum class Cause : std::uint8_t {
  lossless,
  loss,
  back_pressure,
  late,
  paused,
  unsent,
  tester_drops,
  aborted,
  link_down,
  backlog,
  suspended,
};

/// Holds how well a stream kept its schedule. All times are in clock ticks.
struct PacingReport {
  Histogram lateness;
  std::uint64_t overrun = 0;
  std::uint64_t max_pause = 0;
  std::uint64_t paused = 0;   // sum of the pauses longer than the trial's limit
  std::uint64_t pauses = 0;   // sum of the pauses longer than kNotablePause_s
  std::uint64_t refused = 0;  // how often the port began to refuse frames
  std::uint64_t blocked = 0;  // time for which it refused them, since the sender was last on schedule
};

/// Holds the sequence numbers of the lost frames, from `first` on. Of more than kMost it holds kMost at most, in equal
/// steps. `all` says whether it holds all that were lost.
struct LostSample {
  static constexpr std::uint64_t kMost = 1 << 18;

  std::uint64_t first = 0;
  std::vector<std::uint64_t> sequences;
  bool all = false;
};

/// Holds what came of a stream's queries besides the right answers.
struct QueryReport {
  std::array<std::uint64_t, dns::kAnswerKinds> answers{};  // by kind
  dns::AuthorityCounts authority;
  std::uint64_t unsent = 0;  // answers of the authority that its port did not take
};

struct StreamReport {
  /// Returns how many frames the trial was to send: `planned`, or in a trial that ended early as many as it sent.
  [[nodiscard]] std::uint64_t due(std::uint64_t planned) const { return ended_early ? sent + absent : planned; }

  bool ended_early = false;  // because the trial could not pass any more
  std::uint64_t sent = 0;
  std::uint64_t absent = 0;     // not sent, because they reply to connections that had not arrived
  std::uint64_t received = 0;   // in time
  std::uint64_t timed_out = 0;  // arrived after the stream's frame time-out, and count as lost
  std::uint64_t duplicate = 0;
  std::optional<std::uint64_t> reordered;  // none: a port that the stream passes has several queues
  std::uint64_t corrupt = 0;
  std::uint64_t misrouted = 0;
  std::uint64_t beyond_window = 0;
  double offered_rate_fps = 0;
  PacingReport pacing;
  Histogram delay;                                          // ticks
  SignedHistogram ipdv;                                     // ticks
  std::vector<std::optional<std::uint64_t>> tagged_delays;  // ticks; none: lost
  std::optional<SequenceRange> arrived;  // the frame that arrived first, and the last one that arrived
  std::optional<SequenceRange> lost;
  LostSample lost_sample;
  std::optional<std::uint64_t> lost_stride;
  std::vector<LostBurst> lost_bursts;   // the first ones
  std::optional<LostFlows> lost_flows;  // none: the trial did not fail, or it is unknown which frames were lost
  std::uint64_t near_pauses = 0;        // frames that were due when a pause of the tester may have harmed them
  std::uint64_t lost_near_pauses = 0;   // those of them that were lost, and those of which this is not known
  std::uint64_t backlog = 0;            // ticks by which the frame that arrived last took longer than the fastest
  std::uint64_t silence_start = 0;      // ticks since the trial's start
  std::uint64_t silence = 0;
  std::optional<QueryReport> queries;  // none: the stream has none
  std::vector<std::uint64_t> sent_per_second;
  std::vector<std::uint64_t> received_per_second;
};

struct PortReport {
  Place place;
  Medium medium = Medium::veth;
  ReceiveDrops drops;
  std::uint64_t rejected = 0;  // frames that the kernel accepted and then refused to send
  bool link_up = true;         // at the end
  bool link_fell = false;      // at any time
  std::map<FrameKind, std::uint64_t> foreign;
  std::vector<std::uint64_t> received_by_queue;  // frames of any kind
};

struct ForeignSample {
  Place place;
  FrameKind kind = FrameKind::malformed;
  std::uint64_t time_ns = 0;  // since the trial's start
  std::vector<std::uint8_t> bytes;
};

struct TrialReport {
  std::uint16_t run_id = 0;
  Verdict verdict = Verdict::invalid;
  Cause cause = Cause::aborted;
  std::string reason;
  double duration_s = 0;
  std::uint64_t began = 0;            // tick of the engine's clock
  std::vector<StreamReport> streams;  // in the order of the request
  std::vector<PortReport> ports;
  std::uint64_t stale = 0;
  std::uint64_t established = 0;
  std::optional<SourceSpread> sources;  // of phase 1
  bool aborted = false;
  std::optional<std::string> suspended;  // the machine was, and how this was noticed
  std::vector<ForeignSample> samples;
  std::vector<CoreSpeed> dut_cores;

  [[nodiscard]] bool ended_early() const { return std::ranges::any_of(streams, &StreamReport::ended_early); }
};

}  // namespace natxy
