// SPDX-License-Identifier: Apache-2.0
// The compiler reads these headers once for all tests that need no ports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>
