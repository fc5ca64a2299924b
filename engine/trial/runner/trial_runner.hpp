// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>

#include "trial/connections.hpp"
#include "trial/report.hpp"
#include "trial/runner/check_request.hpp"
#include "trial/runner/resources.hpp"
#include "trial/spec.hpp"

namespace natxy {

/// Holds the counters of a running trial, approximate and added up over all streams.
struct TrialProgress {
  double elapsed_s = 0;
  std::uint64_t planned = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// Reports that a worker does not stop, for instance because a port's driver does not return. The worker still uses the
/// ports and the trial's tasks, so the process must end without destroying them.
class WorkerStuck : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs one trial from the first frame to the end of the drain and reports it. If `spec.drain_ends_early`, the drain
/// ends as soon as every frame has arrived.
///
/// `connections` has those of each pair. Streams of phase 2 read them; a trial that learns (phase 1) makes those of its
/// stream's pair. The calling thread calls `keep_going`
/// about a hundred times a second; returning false aborts the trial. Throws TrialError if the state of the engine does
/// not allow the trial, and WorkerStuck if a worker does not stop within two seconds after it should.
TrialReport run_trial(const TrialSpec& spec, const TrialResources& resources, std::span<Connections> connections,
                      const std::function<bool(const TrialProgress&)>& keep_going);

}  // namespace natxy
