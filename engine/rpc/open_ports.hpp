// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "port/port.hpp"
#include "rpc/json_rpc.hpp"

namespace natxy {

using Ports = std::vector<std::unique_ptr<Port>>;

/// Handles `ports.open`: closes `ports` and opens those in `params` instead.
Json open_ports(const Json& params, Ports& ports, JsonRpc& rpc);

}  // namespace natxy
