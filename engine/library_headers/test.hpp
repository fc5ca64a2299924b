// SPDX-License-Identifier: Apache-2.0
// What the compiler reads once for all tests of ports, trials and the reference gateway.
#pragma once

#include <gtest/gtest.h>

#include "library_headers/program.hpp"
