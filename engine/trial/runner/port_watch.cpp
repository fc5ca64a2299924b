// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/port_watch.hpp"

#include <algorithm>

namespace natxy {

PortWatch::PortWatch(std::span<const std::unique_ptr<Port>> ports) {
  for (const auto& port : ports)
    watched_.push_back({port.get(), port->drops(), port->rejected(), port->of_other_vlans(), false});
}

bool PortWatch::check_links() {
  for (Watched& watched : watched_) watched.link_fell = watched.link_fell || !watched.port->link_up();
  return std::ranges::any_of(watched_, &Watched::link_fell);
}

std::vector<PortReport> PortWatch::reports() const {
  std::vector<PortReport> reports;
  for (const Watched& watched : watched_) {
    const Port& port = *watched.port;
    const ReceiveDrops& before = watched.drops;
    const ReceiveDrops after = port.drops();
    reports.push_back({port.options().place(),
                       port.options().medium,
                       {after.missed - before.missed, after.no_buffer - before.no_buffer, after.kernel - before.kernel},
                       port.rejected() - watched.rejected,
                       port.link_up(),
                       watched.link_fell,
                       {},
                       {}});
    if (const std::uint64_t others = port.of_other_vlans() - watched.of_other_vlans; others > 0) {
      reports.back().foreign[FrameKind::other_vlan] = others;
    }
  }
  return reports;
}

}  // namespace natxy
