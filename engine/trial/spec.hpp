// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dns/queries.hpp"
#include "flow/field_range.hpp"
#include "flow/selection.hpp"
#include "form/forms.hpp"
#include "form/mapping.hpp"
#include "form/segment.hpp"
#include "form/softwire.hpp"
#include "measure/pause_marks.hpp"
#include "pace/clock.hpp"
#include "pace/schedule.hpp"
#include "packet/address.hpp"
#include "port/port.hpp"

// The request for a trial, in the terms of docs/reference/rpc.md.
namespace natxy {

/// Describes an address field whose family is known only at run time. In each address, `range` varies `bits` bits from
/// `low_bit` on. With `bits` 0, the addresses are used unchanged.
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

/// Selects the source of a stream's four-tuples. `flows`: its own flow fields; `connections`: the initiator's tuples of
/// the last phase 1; `replies`: the tuples in the responder's state table, swapped.
enum class StreamKind : std::uint8_t { flows, connections, replies };

/// Says what a stream is for, which its results repeat. Those of phase 1 make connections. A gateway has to drop
/// spoofed frames, so that their loss counts for nothing. Otherwise all are treated alike.
enum class StreamRole : std::uint8_t { foreground, background, phase1, validation, spoofed };

/// Says when a trial ends before all its frames are sent. `lost`: as soon as a stream has certainly lost more than it
/// tolerates. `invalid`: once this loss has ceased to grow, and the tester's pauses explain it.
enum class EarlyEnd : std::uint8_t { never, invalid, lost };

/// Selects the frames whose delays are reported one by one: numbers first, first + stride, … (RFC 8219 §7.2).
struct TaggedFrames {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
  std::uint64_t count = 0;
};

/// Makes a stream one of queries to a DNS64 server, which the tester's other port of the pair answers as authority.
struct QuerySpec {
  dns::QueryShares shares;
  EmbeddingPrefix prefix;
};

struct StreamSpec {
  std::string name;
  Side source = Side::left;
  unsigned pair = 0;  // of the ports that send and receive it
  StreamRole role = StreamRole::foreground;
  StreamKind kind = StreamKind::flows;
  Form form = Form::udp;
  std::optional<Form> arrival_form;  // none: the same, unless it arrives in another family
  Softwire softwire;                 // in which it is sent or arrives, if a form has one
  Mapping mapping;                   // with which it is sent or arrives, if a form has one
  Segment segment{};                 // of which it consists, if its form is TCP
  // The table of the softwires' subscribers, if they have one.
  std::shared_ptr<const std::vector<AddressHalves>> subscribers;
  std::vector<std::size_t> frame_sizes = {64};  // FCS included; frame n has size n, and they repeat
  std::uint8_t ttl = 64;
  bool dont_fragment = false;
  double rate_fps = 0;
  std::uint64_t frames = 0;
  std::optional<FlowFields> flows;
  std::optional<Family> arrives_as;             // for kind `flows`; none: the family in which it is sent
  std::optional<std::size_t> interleaved_with;  // index of the stream whose schedule this one shares, turn by turn
  Selection selection = Selection::random;
  Order order = Order::pseudorandom;
  std::optional<std::uint64_t> active_connections;  // the first ones of phase 1; none: all
  double max_loss_ratio = 0;
  std::optional<double> max_backlog_s;
  std::optional<double> frame_timeout_s;  // after which a frame that arrives counts as lost
  double start_s = 0;
  std::uint64_t burst = 1;
  std::optional<TaggedFrames> tagged;
  bool ipdv = false;
  std::optional<QuerySpec> queries;  // of which its frames consist; what arrives are the answers

  /// Returns the port that sends the stream, and the one that it arrives on: of queries the same, because the DUT
  /// answers them.
  [[nodiscard]] Place from() const { return {source, pair}; }
  [[nodiscard]] Place to() const { return queries ? from() : opposite(from()); }

  /// Returns the number of lost frames that the request tolerates.
  [[nodiscard]] std::uint64_t tolerated_loss() const {
    if (role == StreamRole::spoofed) return frames;
    return static_cast<std::uint64_t>(std::floor(max_loss_ratio * static_cast<double>(frames)));
  }

  /// Returns when each frame is due, in ticks since the trial's start.
  [[nodiscard]] Schedule schedule(const Clock& clock) const {
    return {clock.ticks(start_s), frames, rate_fps, clock.hz(), burst};
  }
};

struct Limits {
  double max_overrun_ratio = 1e-5;
  double overrun_floor_s = 0;
  double max_pause_s = 0.001;
  bool link_may_fall = false;  // and come up again, because the DUT is reset during the trial

  /// Returns how late the last frame of a stream may leave that lasts for `planned_s`.
  [[nodiscard]] double overrun_s(double planned_s) const {
    return std::max(max_overrun_ratio * planned_s, overrun_floor_s);
  }
};

struct TrialSpec {
  std::vector<StreamSpec> streams;
  std::uint64_t seed = 0;
  double drain_s = 2;
  bool drain_ends_early = false;  // as soon as every frame has arrived
  EarlyEnd ends_early = EarlyEnd::never;
  Limits limits;
  std::optional<std::uint64_t> begin_at_ns;  // on the engine's clock; none: as soon as all workers are ready
  bool phase1 = false;                       // the responder's state table records the four-tuples that arrive
  bool list_ports = false;                   // of their sources

  /// Returns whether a stream uses connections that another stream of the trial makes.
  [[nodiscard]] bool is_prompt(const StreamSpec& stream) const { return phase1 && stream.kind != StreamKind::flows; }

  /// Returns the marks of a sender that has not paused.
  [[nodiscard]] PauseMarks pause_marks(const Clock& clock) const {
    std::uint64_t end = 0;
    for (const StreamSpec& stream : streams) end = std::max(end, stream.schedule(clock).end());
    return {end, clock.hz()};
  }
};

}  // namespace natxy
