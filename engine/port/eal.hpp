// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace natxy {

struct EalOptions {
  std::vector<unsigned> worker_cores;  // CPUs that run trials, one worker each
  unsigned main_core = 0;              // CPU for everything else
  std::vector<std::string> pci;        // addresses of the PCI devices that may be opened; DPDK leaves all others alone
  std::vector<std::string> extra;      // further arguments for DPDK
};

/// Initialises DPDK's environment abstraction layer, once per process. It uses hugepages if enough are free.
///
/// The process's end gives everything back. rte_eal_cleanup is not called: it would unmap memory that DPDK's interrupt
/// thread may still read when it handles the end of a memif.
class Eal {
 public:
  /// Throws std::runtime_error if DPDK cannot start.
  explicit Eal(const EalOptions& options);
  ~Eal() = default;
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  [[nodiscard]] bool uses_hugepages() const { return hugepages_; }
  /// Returns DPDK's lcore ids of the workers, in the order of `worker_cores`.
  [[nodiscard]] const std::vector<unsigned>& workers() const { return workers_; }
  /// Returns whether no worker shares its CPU with the main thread.
  [[nodiscard]] bool workers_apart() const { return workers_apart_; }

 private:
  bool hugepages_;
  bool workers_apart_;
  std::vector<unsigned> workers_;
};

}  // namespace natxy
