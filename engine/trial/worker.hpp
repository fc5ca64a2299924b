// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "trial/answer_queue.hpp"
#include "trial/receiver.hpp"
#include "trial/sender.hpp"

namespace natxy {

/// Holds what the workers of a trial and the thread that controls them tell each other.
struct WorkerSignals {
  std::atomic<std::size_t> ready = 0;  // workers that wait for `begin`
  std::atomic<bool> begin = false;     // the tasks are complete, and belong to the workers from now on
  std::atomic<bool> stop = false;
};

/// Holds the tasks of one worker core, which polls them in turn from `begin` until `stop`.
struct Worker {
  struct PortReceiver {
    std::size_t port;  // index among the trial's ports
    std::unique_ptr<Receiver> task;
  };
  std::vector<PortReceiver> receivers;
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<AnswerQueue>> answers;  // from workers that receive on queues on which this one sends
  WorkerSignals* signals = nullptr;
  bool high_priority = false;  // whether to run with the highest priority

  /// Runs on a DPDK worker core.
  static int run(void* worker);
};

}  // namespace natxy
