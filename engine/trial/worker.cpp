// SPDX-License-Identifier: Apache-2.0
#include "trial/worker.hpp"

#include <rte_pause.h>
#include <sys/resource.h>
#include <unistd.h>

namespace natxy {

int Worker::run(void* worker) {
  auto& self = *static_cast<Worker*>(worker);
  // On Linux this sets the priority of the calling thread only. Without the permission to raise it the trial still
  // runs, and the pacing report shows the effect.
  const int priority = self.high_priority ? -20 : 0;
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), priority));
  WorkerSignals& signals = *self.signals;
  signals.ready.fetch_add(1, std::memory_order_release);
  while (!signals.begin.load(std::memory_order_acquire) && !signals.stop.load(std::memory_order_relaxed)) rte_pause();
  while (!signals.stop.load(std::memory_order_relaxed)) {
    for (const auto& receiver : self.receivers) receiver.task->poll();
    for (const auto& sender : self.senders) sender->poll();
    for (const auto& answers : self.answers) answers->send();
  }
  return 0;
}

}  // namespace natxy
