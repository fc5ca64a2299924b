// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <string>

#include "pace/clock.hpp"
#include "port/neighbors.hpp"
#include "rpc/json_rpc.hpp"
#include "rpc/messages/requests.hpp"
#include "rpc/open_ports.hpp"
#include "rpc/program.hpp"
#include "trial/connections.hpp"
#include "trial/runner/trial_runner.hpp"

namespace natxy {

/// Serves requests until the other end closes or `quit` is set. Between trials it answers the DUT's ARP requests and
/// neighbour solicitations.
class Server {
 public:
  explicit Server(const Environment& environment);

  void serve();

 private:
  void handle(const std::string& line);
  Json dispatch(const std::string& method, const Json& params);
  Json resolve_neighbors(const Json& params);
  Json run(const TrialRequest& request);
  void serve_neighbors();
  bool watch(const TrialProgress& progress);

  Environment environment_;
  JsonRpc rpc_;
  Clock clock_;
  Ports ports_;
  std::vector<unsigned> dut_cores_;
  Neighbors neighbors_;
  std::array<Connections, kMostPairs> connections_;  // by pair
  std::uint64_t progress_due_ = 0;
  bool trial_aborted_ = false;
  std::deque<std::string> waiting_;  // requests that arrived during a trial
};

}  // namespace natxy
