// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "pace/clock.hpp"
#include "pace/tsc.hpp"
#include "port/eal.hpp"
#include "port/neighbors.hpp"
#include "port/port.hpp"
#include "rpc/json_rpc.hpp"
#include "rpc/line_channel.hpp"
#include "rpc/messages.hpp"
#include "rpc/open_ports.hpp"

namespace natxy {

/// Serves requests until the other end closes or `quit` turns true. Between trials it answers the DUT's ARP requests
/// and neighbour solicitations.
class Server {
 public:
  Server(const Eal& eal, std::vector<unsigned> worker_cores, const TscRate& tsc, LineChannel& channel,
         const std::atomic<bool>& quit);

  void serve();

 private:
  void handle(const std::string& line);
  Json dispatch(const std::string& method, const Json& params);
  Json resolve_neighbors(const Json& params);
  Json run(const TrialRequest& request);
  void serve_neighbors();
  bool watch(const TrialProgress& progress);

  const Eal& eal_;
  std::vector<unsigned> worker_cores_;
  TscRate tsc_;
  LineChannel& channel_;
  JsonRpc rpc_;
  const std::atomic<bool>& quit_;
  Clock clock_;
  Ports ports_;
  Neighbors neighbors_;
  Connections connections_;
  std::uint64_t progress_due_ = 0;
  bool trial_aborted_ = false;
  std::deque<std::string> waiting_;  // requests that came while a trial ran
};

}  // namespace natxy
