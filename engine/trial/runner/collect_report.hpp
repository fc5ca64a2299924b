// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "pace/clock.hpp"
#include "trial/report.hpp"
#include "trial/runner/port_watch.hpp"
#include "trial/spec.hpp"
#include "trial/worker.hpp"

namespace natxy {

/// Adds up the results of a trial's tasks, after its workers have stopped. `start` is the tick at which the trial
/// started. `ended_early`: before all frames were sent, because the loss was certain. The report has no verdict yet.
TrialReport collect_report(const TrialSpec& spec, const Clock& clock, std::uint64_t start,
                           std::span<const Worker> workers, const PortWatch& ports, bool ended_early);

}  // namespace natxy
