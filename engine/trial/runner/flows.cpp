// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "form/size_cycle.hpp"
#include "trial/runner/check_request.hpp"

namespace natxy {

namespace {

constexpr std::uint64_t kMostSentLookedAt = 1 << 16;

enum class Purpose : std::uint8_t { space, cycle };

/// Returns the seed of the random sequence that a stream uses for a purpose, derived from the trial's seed.
std::uint64_t seed_of(const TrialSpec& spec, Purpose purpose, std::size_t stream) {
  return random_word(spec.seed, static_cast<std::uint64_t>(purpose) * 256 + stream);
}

template <Family F>
AddressField<F> field_of(const AnyAddressField& field) {
  AddressField<F> result{static_cast<Address<F>>(field.address.value), field.low_bit, field.bits, field.range, {}};
  for (const uint128 other : field.others) result.others.push_back(static_cast<Address<F>>(other));
  return result;
}

/// Returns the bits in which the addresses of a field may differ.
uint128 varying_bits(const AnyAddressField& field) {
  const std::uint32_t differing = field.range.min ^ field.range.max;
  uint128 bits = field.bits == 0 ? 0 : ((uint128{1} << std::bit_width(differing)) - 1) << field.low_bit;
  for (const uint128 other : field.others) bits |= field.address.value ^ other;
  return bits;
}

template <Family F>
TupleSpace<F> space_of(const TrialSpec& spec, std::size_t stream) {
  const FlowFields& fields = *spec.streams[stream].flows;
  return TupleSpace<F>({field_of<F>(fields.destination_address), field_of<F>(fields.source_address),
                        fields.destination_port, fields.source_port},
                       seed_of(spec, Purpose::space, stream));
}

Cycle cycle_of(const TrialSpec& spec, const Connections& connections, std::size_t stream) {
  const StreamSpec& own = spec.streams[stream];
  return {own.active_connections.value_or(connections.count), own.order, seed_of(spec, Purpose::cycle, stream),
          connections.stand_ins.empty() ? nullptr : &connections.stand_ins};
}

/// Calls `use` with a family known only at run time.
template <class Use>
void with_family(Family family, const Use& use) {
  if (family == Family::ipv4) {
    use.template operator()<Family::ipv4>();
  } else {
    use.template operator()<Family::ipv6>();
  }
}

/// Makes a Use of the initiator's tuples for the selection by which phase 1 took them.
template <Family F, template <Family, Selection> class Use, class Base>
std::unique_ptr<Base> of_offered(const TrialSpec& spec, const Connections& connections, std::size_t stream) {
  const TupleSpace<F>& offered = *connections.offered.of<F>();
  const Cycle cycle = cycle_of(spec, connections, stream);
  if (connections.initiator.selection == Selection::enumerate) {
    return std::make_unique<Use<F, Selection::enumerate>>(offered, cycle);
  }
  return std::make_unique<Use<F, Selection::random>>(offered, cycle);
}

/// Makes the source of the four-tuples that a stream's flows have in the direction of phase 1.
template <Family F>
std::unique_ptr<FlowSource<F>> initiator_flows(const TrialSpec& spec, const Connections& connections,
                                               std::size_t stream) {
  if (spec.streams[stream].kind == StreamKind::flows) return make_flow_source<F>(spec, connections, stream);
  return of_offered<F, ConnectionFlows, FlowSource<F>>(spec, connections, stream);
}

template <Family F>
std::unique_ptr<ArrivalCheck> family_arrival_check(const TrialSpec& spec, const Connections& connections,
                                                   std::size_t stream) {
  switch (spec.streams[stream].kind) {
    case StreamKind::connections:
      if (spec.phase1) {
        return std::make_unique<PromptConnection<F>>(*connections.seen.of<F>(), cycle_of(spec, connections, stream));
      }
      return std::make_unique<SameConnection<F>>(*connections.seen.of<F>(), cycle_of(spec, connections, stream));
    case StreamKind::replies:
      return of_offered<F, ReplyOfConnection, ArrivalCheck>(spec, connections, stream);
    case StreamKind::flows:
      break;
  }
  return spec.phase1 ? std::make_unique<RecordConnection<F>>(*connections.seen.of<F>()) : nullptr;
}

}  // namespace

void begin_connections(const TrialSpec& spec, std::size_t number, Connections& connections) {
  const StreamSpec& stream = spec.streams[number];
  // In case of an exception, for this pair of ports or for one whose connections begin after its own.
  connections.count = 0;
  connections.established = 0;
  connections.stand_ins = {};
  with_family(connections.family_of(stream), [&]<Family F>() {
    const auto& space = connections.offered.make<F>(space_of<F>(spec, number));
    // Tuples that are drawn may repeat.
    if (stream.selection == Selection::enumerate && space.size() < stream.frames) {
      throw TrialError(stream, fmt::format("{} connections requested, but its flows have only {} four-tuples",
                                           stream.frames, space.size()));
    }
  });
  // The table keeps the memory that it has, because the receiver would have to wait for the kernel to provide new
  // pages.
  with_family(connections.arrival_family_of(stream), [&]<Family F>() {
    Tuple<F> varying;
    if (connections.family_of(stream) == F) {
      varying.source = static_cast<Address<F>>(varying_bits(stream.flows->source_address));
      varying.destination = static_cast<Address<F>>(varying_bits(stream.flows->destination_address));
    }
    connections.seen.keep_or_make<F>().reset(stream.frames, varying);
  });
  connections.count = stream.frames;
  connections.initiator = stream;
}

void end_connections(std::uint64_t established, Connections& connections) {
  connections.established = established;
  if (connections.complete() || !connections.usable()) return;
  with_family(connections.seen.family(), [&]<Family F>() {
    const StateTable<F>& seen = *connections.seen.of<F>();
    connections.stand_ins = {connections.count, [&](std::uint64_t number) { return seen.is_established(number); }};
  });
}

std::optional<LostFlows> lost_flows_of(const TrialSpec& spec, const Connections& connections, std::size_t stream,
                                       const LostSample& lost) {
  const StreamSpec& own = spec.streams[stream];
  std::optional<LostFlows> flows;
  if (lost.sequences.empty()) return flows;
  const Family family = own.kind == StreamKind::flows ? connections.family_of(own) : connections.offered.family();
  with_family(family, [&]<Family F>() {
    const auto source = initiator_flows<F>(spec, connections, stream);
    const SizeCycle sizes(own.frame_sizes);
    TupleLanes<F> lanes;
    const auto frame = [&](std::uint64_t sequence) {
      source->fill({sequence, 1}, 1, lanes);
      return SentFrame<F>{lanes.get(0), sizes.of(sequence)};
    };
    std::vector<SentFrame<F>> missing, sent;
    for (const std::uint64_t sequence : lost.sequences) missing.push_back(frame(sequence));
    // Equal steps might meet the same few flows again and again, so a frame is drawn from each.
    const std::uint64_t step = (own.frames - lost.first + kMostSentLookedAt - 1) / kMostSentLookedAt;
    for (std::uint64_t first = lost.first; first < own.frames; first += step) {
      const std::uint64_t drawn = first + scale(random_word(0, first), std::min(step, own.frames - first));
      sent.push_back(frame(drawn));
    }
    flows = lost_flows<F>(sent, missing, lost.all);
  });
  return flows;
}

std::optional<SourceSpread> sources_of(const Connections& connections, bool list_ports) {
  std::optional<SourceSpread> spread;
  with_family(connections.seen.family(),
              [&]<Family F>() { spread = spread_of_sources(*connections.seen.of<F>(), list_ports); });
  return spread;
}

template <Family F>
std::unique_ptr<FlowSource<F>> make_flow_source(const TrialSpec& spec, const Connections& connections,
                                                std::size_t stream) {
  switch (spec.streams[stream].kind) {
    case StreamKind::connections:
      return of_offered<F, ConnectionFlows, FlowSource<F>>(spec, connections, stream);
    case StreamKind::replies:
      if (spec.phase1) {
        return std::make_unique<PromptReplyFlows<F>>(*connections.seen.of<F>(), cycle_of(spec, connections, stream));
      }
      return std::make_unique<ReplyFlows<F>>(*connections.seen.of<F>(), cycle_of(spec, connections, stream));
    case StreamKind::flows:
      break;
  }
  const auto space = space_of<F>(spec, stream);
  if (spec.streams[stream].selection == Selection::random) return std::make_unique<RandomFlows<F>>(space);
  return std::make_unique<EnumeratedFlows<F>>(space);
}

template std::unique_ptr<FlowSource<Family::ipv4>> make_flow_source(const TrialSpec&, const Connections&, std::size_t);
template std::unique_ptr<FlowSource<Family::ipv6>> make_flow_source(const TrialSpec&, const Connections&, std::size_t);

std::unique_ptr<ArrivalCheck> make_arrival_check(const TrialSpec& spec, const Connections& connections,
                                                 std::size_t stream) {
  return connections.arrival_family_of(spec.streams[stream]) == Family::ipv4
             ? family_arrival_check<Family::ipv4>(spec, connections, stream)
             : family_arrival_check<Family::ipv6>(spec, connections, stream);
  // The analyzer does not see that the conversion to a pointer to the base hands the object over.
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)

}  // namespace natxy
