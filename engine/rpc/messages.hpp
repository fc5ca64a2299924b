// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pace/clock.hpp"
#include "port/neighbors.hpp"
#include "port/port.hpp"
#include "rpc/field_reader.hpp"
#include "trial/connections.hpp"
#include "trial/report.hpp"
#include "trial/runner/trial_runner.hpp"
#include "trial/spec.hpp"

// Requests from JSON and results to JSON, as docs/reference/rpc.md tells. Reading throws FieldError.
namespace natxy {

std::vector<PortOptions> read_ports_open(const Json& params);

struct NeighborsResolve {
  std::vector<LinkNeighbor> links;
  double timeout_s = 3;
};
NeighborsResolve read_neighbors_resolve(const Json& params);

struct TrialRequest {
  TrialSpec spec;
  bool delay_histogram = false;
};
TrialRequest read_trial(const Json& params);
TrialRequest read_establish(const Json& params);
/// The stream that validates `connections`: every connection's reply once.
TrialRequest read_validate(const Json& params, const Connections& connections);

Json write_port(const Port& port);
Json write_trial(const TrialRequest& request, const TrialReport& report, const Clock& clock);
Json write_progress(const TrialProgress& progress);

}  // namespace natxy
