// SPDX-License-Identifier: Apache-2.0
#include "rpc/open_ports.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "rpc/messages/results.hpp"

namespace natxy {

namespace {

// The two ends of a cable take 1 to 5 seconds to agree on how they use it.
constexpr auto kLinkUp = std::chrono::seconds(10);
constexpr auto kPause = std::chrono::milliseconds(10);

/// Returns whether the link comes up by itself: that of a memif needs another process to open its end.
bool comes_up(const Port& port) { return port.options().medium != Medium::memif; }

/// Waits until the links of all ports that come up by themselves are up, but no longer than `kLinkUp`.
void await_links(const Ports& ports) {
  const auto deadline = std::chrono::steady_clock::now() + kLinkUp;
  while (std::ranges::any_of(ports, [](const auto& port) { return comes_up(*port) && !port->link_up(); }) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

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
  await_links(ports);
  Json written = Json::array();
  for (const auto& port : ports) {
    written.push_back(write_port(*port));
    if (comes_up(*port) && !port->link_up())
      rpc.log("warning", fmt::format("the link of port {} is down", port->options().device));
  }
  return {{"ports", std::move(written)}};
}

}  // namespace natxy
