// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flow/tuple_space.hpp"
#include "measure/delay_variation.hpp"
#include "measure/histogram.hpp"
#include "measure/sequence_window.hpp"
#include "packet/classifier.hpp"
#include "port/port.hpp"

// What a trial is asked for and what it reports; the words are those of docs/reference/rpc.md.
namespace natxy {

/// `range` stands in `bits` bits of each address; `bits` is 0 where nothing of them varies.
struct AnyAddressField {
  AnyAddress address;
  std::vector<uint128> others;  // of the same family
  unsigned low_bit = 0;
  unsigned bits = 0;
  FieldRange range;

  [[nodiscard]] std::uint64_t size() const { return (1 + others.size()) * range.size(); }
};

struct FlowFields {
  AnyAddressField source_address;
  AnyAddressField destination_address;
  FieldRange source_port;
  FieldRange destination_port;
};

/// `flows`: four-tuples made from a space; `connections`: the initiator's of the last phase 1; `replies`: swapped ones
/// from the responder's state table.
enum class StreamKind : std::uint8_t { flows, connections, replies };
enum class Selection : std::uint8_t { random, enumerate };

/// Frames whose delays are reported one by one: number first, first + stride, … (RFC 8219 §7.2).
struct TaggedFrames {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 0;
};

struct StreamSpec {
  std::string name;
  Side source = Side::left;
  StreamKind kind = StreamKind::flows;
  std::size_t frame_size = 64;  // FCS counted
  std::uint8_t ttl = 64;
  bool dont_fragment = false;
  double rate_fps = 0;
  std::uint64_t frames = 0;
  std::optional<FlowFields> flows;
  std::optional<Family> arrives_as;             // of `flows`; none: as it was sent
  std::optional<std::size_t> interleaved_with;  // index of the stream whose schedule this one shares, turn by turn
  Selection selection = Selection::random;
  Order order = Order::pseudorandom;
  double max_loss_ratio = 0;
  double start_s = 0;
  std::uint64_t burst = 1;
  std::optional<TaggedFrames> tagged;
  bool ipdv = false;
};

struct Limits {
  double max_overrun_ratio = 1e-5;
  double overrun_floor_s = 0;
  double max_pause_s = 0.001;
  bool link_may_fall = false;  // and come up again: the DUT is reset meanwhile
};

struct TrialSpec {
  std::vector<StreamSpec> streams;
  std::uint64_t seed = 0;
  double drain_s = 2;
  Limits limits;
  bool learn = false;  // phase 1: the responder's state table remembers what arrives
};

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
};

/// All times in ticks of the clock.
struct PacingReport {
  Histogram lateness;
  std::uint64_t overrun = 0;
  std::uint64_t max_pause = 0;
  std::uint64_t paused = 0;  // longer than the limit, together
  std::uint64_t pauses = 0;  // longer than kNotablePause_s, together
  std::uint64_t refused = 0;
  std::uint64_t blocked = 0;
};

struct StreamReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t misrouted = 0;
  std::uint64_t beyond_window = 0;
  double offered_rate_fps = 0;
  PacingReport pacing;
  Histogram delay;       // ticks
  SignedHistogram ipdv;  // ticks
  /// Ticks; none: lost.
  std::vector<std::optional<std::uint64_t>> tagged_delays;
  std::optional<LostRange> lost;
  std::uint64_t silence_start = 0;  // ticks since the trial's start
  std::uint64_t silence = 0;
  std::vector<std::uint64_t> sent_per_second;
  std::vector<std::uint64_t> received_per_second;
};

struct PortReport {
  Side side = Side::left;
  Medium medium = Medium::veth;
  ReceiveDrops drops;
  std::uint64_t rejected = 0;  // frames that the kernel took and then refused to send
  bool link_up = true;         // at the end
  bool link_fell = false;      // at any time
  std::map<FrameKind, std::uint64_t> foreign;
};

struct ForeignSample {
  Side side = Side::left;
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
  std::vector<StreamReport> streams;  // in the order of the request
  std::vector<PortReport> ports;
  std::uint64_t stale = 0;
  std::uint64_t established = 0;
  bool aborted = false;
  std::vector<ForeignSample> samples;
};

}  // namespace natxy
