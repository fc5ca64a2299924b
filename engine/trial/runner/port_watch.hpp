// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "port/port.hpp"
#include "trial/report.hpp"

namespace natxy {

/// Watches the ports during a trial: the state of their links and the increase of their counters.
class PortWatch {
 public:
  /// Starts with the current counters of `ports`.
  explicit PortWatch(std::span<const std::unique_ptr<Port>> ports);

  /// Notes the links that are down. Returns whether any link has been down.
  bool check_links();

  /// Returns a report for each port, in the order of `ports`.
  [[nodiscard]] std::vector<PortReport> reports() const;

 private:
  struct Watched {
    const Port* port;
    ReceiveDrops drops;
    std::uint64_t rejected;
    std::uint64_t of_other_vlans;
    bool link_fell;
  };

  std::vector<Watched> watched_;
};

}  // namespace natxy
