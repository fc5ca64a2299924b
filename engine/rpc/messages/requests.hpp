// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "port/neighbors.hpp"
#include "port/port.hpp"
#include "rpc/messages/field_reader.hpp"
#include "trial/spec.hpp"

// Reads requests as defined in docs/reference/rpc.md. All functions throw FieldError.
namespace natxy {

struct PortsOpen {
  std::vector<PortOptions> ports;
  std::vector<unsigned> dut_cores;
};
/// A port's cores have to be among `worker_cores`.
PortsOpen read_ports_open(const Json& params, std::span<const unsigned> worker_cores);

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

}  // namespace natxy
