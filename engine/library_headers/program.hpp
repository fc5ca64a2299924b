// SPDX-License-Identifier: Apache-2.0
// The compiler reads these headers once for natxy-engine and once for natxy-reference, because reading them takes long.
// Each file includes the headers that it needs as if this header did not exist.
#pragma once

#include <fmt/format.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>
