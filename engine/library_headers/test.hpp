// SPDX-License-Identifier: Apache-2.0
// The compiler reads these headers once for all tests of ports, trials and the reference gateway.
#pragma once

#include <gtest/gtest.h>

#include "library_headers/program.hpp"
