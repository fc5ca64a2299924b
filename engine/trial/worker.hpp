// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "trial/receiver.hpp"
#include "trial/sender.hpp"

namespace natxy {

/// Holds the tasks of one worker core, which polls them in turn until it is asked to stop.
struct Worker {
  struct PortReceiver {
    std::size_t port;  // index among the trial's ports
    std::unique_ptr<Receiver> task;
  };
  std::vector<PortReceiver> receivers;
  std::vector<std::unique_ptr<Sender>> senders;
  const std::atomic<bool>* stop = nullptr;
  bool high_priority = false;  // whether to run with the highest priority

  /// Runs on a DPDK worker core.
  static int run(void* worker);
};

}  // namespace natxy
