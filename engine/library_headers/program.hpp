// SPDX-License-Identifier: Apache-2.0
// What the compiler reads once for natxy-engine and once for natxy-reference: headers of libraries that take long.
// Each file includes what it needs as if this header did not exist.
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
