// SPDX-License-Identifier: Apache-2.0
#include "rpc/open_ports.hpp"

#include <algorithm>

#include "rpc/messages/results.hpp"

namespace natxy {

Json open_ports(const PortsOpen& request, Ports& ports, JsonRpc& rpc) {
  ports.clear();
  Ports opened;
  opened.reserve(request.ports.size());
  for (const auto& port : request.ports) {
    const auto carrier =
        std::ranges::find(opened, port.device, [](const auto& other) { return other->options().device; });
    opened.push_back(carrier == opened.end() ? std::make_unique<Port>(port) : std::make_unique<Port>(port, **carrier));
  }
  ports = std::move(opened);
  Json written = Json::array();
  for (const auto& port : ports) {
    written.push_back(write_port(*port));
    // A memif link comes up only when the other process opens its end.
    const bool awaited = port->options().medium == Medium::memif;
    if (!awaited && !port->link_up())
      rpc.log("warning", fmt::format("the link of port {} is down", port->options().device));
  }
  return {{"ports", std::move(written)}};
}

}  // namespace natxy
