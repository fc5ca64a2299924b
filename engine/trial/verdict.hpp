// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pace/clock.hpp"
#include "trial/report.hpp"
#include "trial/spec.hpp"

namespace natxy {

/// Sets the verdict, cause and reason of a trial from its counters.
///
/// Faults that the tester may have caused make a trial invalid and never count against the DUT: a suspension of the
/// machine, lateness, unsent frames, the tester's own drops on reception, and loss that the bursts after its own pauses
/// may explain: no more frames than the bursts had, and none that were due at other times, if these were lost as often.
/// Any further loss counts against the DUT, and so does every frame that arrives corrupt, and a queue that
/// grows in a stream that limits its backlog. A frame that arrives after its stream's time-out is lost. If a port is a
/// veth or memif, frames that it refuses are refused by the DUT's path.
void judge(const TrialSpec& spec, const Clock& clock, TrialReport& report);

}  // namespace natxy
