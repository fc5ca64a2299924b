// SPDX-License-Identifier: Apache-2.0
#include "rpc/open_ports.hpp"

#include "rpc/messages/requests.hpp"
#include "rpc/messages/results.hpp"

namespace natxy {

Json open_ports(const Json& params, Ports& ports, JsonRpc& rpc) {
  const auto options = read_ports_open(params);
  ports.clear();
  Ports opened;
  opened.reserve(options.size());
  for (const auto& port : options) opened.push_back(std::make_unique<Port>(port));
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
