// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "measure/lost_flows.hpp"
#include "state/source_spread.hpp"
#include "trial/arrival_check.hpp"
#include "trial/connections.hpp"
#include "trial/flow_source.hpp"
#include "trial/report.hpp"
#include "trial/spec.hpp"

// The four-tuples that a trial's streams send and expect.
namespace natxy {

/// Returns how the connections of phase 1 are spread over the source addresses with which they arrived, if asked for
/// with a list of their ports.
std::optional<SourceSpread> sources_of(const Connections& connections, bool list_ports);

/// Starts phase 1: replaces `connections` by those of the trial's stream `number`, none of them established. Throws
/// TrialError if the stream's flows have too few four-tuples.
void begin_connections(const TrialSpec& spec, std::size_t number, Connections& connections);

/// Ends phase 1, which has `established` so many of the connections. If some are missing, and no more than phase 1 was
/// allowed to lose, others stand in for them.
void end_connections(std::uint64_t established, Connections& connections);

/// Makes the source of the four-tuples that a stream sends; F is the family in which it is sent.
template <Family F>
std::unique_ptr<FlowSource<F>> make_flow_source(const TrialSpec& spec, const Connections& connections,
                                                std::size_t stream);

/// Returns which flows of a stream lost frames, in four-tuples as they are sent, and for connections in the
/// initiator's; nothing if no lost frame is known.
std::optional<LostFlows> lost_flows_of(const TrialSpec& spec, const Connections& connections, std::size_t stream,
                                       const LostSample& lost);

/// Makes the check of the four-tuples with which a stream arrives, or null if it may arrive with any.
std::unique_ptr<ArrivalCheck> make_arrival_check(const TrialSpec& spec, const Connections& connections,
                                                 std::size_t stream);

}  // namespace natxy
