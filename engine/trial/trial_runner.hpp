// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "pace/clock.hpp"
#include "port/neighbors.hpp"
#include "port/port.hpp"
#include "trial/connections.hpp"
#include "trial/types.hpp"

namespace natxy {

/// Counters of a running trial, all streams together; approximate.
struct TrialProgress {
  double elapsed_s = 0;
  std::uint64_t planned = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// What a trial needs and cannot make itself.
struct TrialSetting {
  std::span<const std::unique_ptr<Port>> ports;
  const Neighbors& neighbors;
  std::span<const unsigned> workers;  // DPDK's ids
  bool workers_apart;                 // from the calling thread: they may have the highest priority
  Clock clock;
};

/// Runs one trial from the first frame to the end of the drain and reports it.
///
/// `connections` is read by phase 2 streams and filled by a trial that learns (phase 1). `keep_going` is called some
/// hundred times a second from the calling thread; false aborts the trial. Throws TrialError where the request doesn't
/// fit the state: no such port, neighbours unresolved, no complete phase 1. Throws WorkerStuck when a worker does not
/// end, at most two seconds after it had to.
TrialReport run_trial(const TrialSpec& spec, const TrialSetting& setting, Connections& connections,
                      const std::function<bool(const TrialProgress&)>& keep_going);

class TrialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A worker does not come back, from a port's driver for instance. It still uses the ports and what the trial was made
/// of: nothing but the end of the process can follow.
class WorkerStuck : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace natxy
