// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "trial/receiver.hpp"
#include "trial/sender.hpp"

namespace natxy {

/// One core's share of a trial: it polls its tasks in turn until told to stop.
struct Worker {
  struct PortReceiver {
    std::size_t port;  // index among the trial's ports
    std::unique_ptr<Receiver> task;
  };
  std::vector<PortReceiver> receivers;
  std::vector<std::unique_ptr<Sender>> senders;
  const std::atomic<bool>* stop = nullptr;
  bool first_in_line = false;  // whether to take the CPU before all other processes

  /// Runs on a DPDK worker core.
  static int run(void* worker);
};

}  // namespace natxy
