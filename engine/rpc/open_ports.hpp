// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "port/port.hpp"
#include "rpc/json_rpc.hpp"
#include "rpc/messages/requests.hpp"

namespace natxy {

using Ports = std::vector<std::unique_ptr<Port>>;

/// Handles `ports.open`: closes `ports`, opens those in the request instead, and returns the answer.
Json open_ports(const PortsOpen& request, Ports& ports, JsonRpc& rpc);

}  // namespace natxy
