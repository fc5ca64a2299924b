// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pace/clock.hpp"
#include "pace/tsc.hpp"
#include "port/port.hpp"
#include "rpc/messages/requests.hpp"
#include "trial/report.hpp"
#include "trial/runner/trial_runner.hpp"

// Writes results and notifications as defined in docs/reference/rpc.md.
namespace natxy {

Json write_clock(const ClockSample& sample, const Clock& clock);
Json write_port(const Port& port);
Json write_trial(const TrialRequest& request, const TrialReport& report, const Clock& clock);
Json write_progress(const TrialProgress& progress);

}  // namespace natxy
