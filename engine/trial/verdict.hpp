// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pace/clock.hpp"
#include "trial/report.hpp"
#include "trial/spec.hpp"

namespace natxy {

/// Sets verdict, cause and reason of a trial from its counters.
///
/// Whatever the tester may have caused makes a trial invalid and is never held against the DUT: lateness, frames
/// unsent, its own drops on reception, and loss that the bursts after its own pauses could explain. Loss beyond all
/// that is the DUT's, and so is every frame that arrived corrupt. Where a port is a veth, frames that it refuses are
/// frames that the DUT's path refuses.
void judge(const TrialSpec& spec, const Clock& clock, TrialReport& report);

}  // namespace natxy
