// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "pace/tsc.hpp"
#include "port/eal.hpp"
#include "rpc/json_rpc.hpp"
#include "rpc/line_channel.hpp"

namespace natxy {

/// What a program that has been started is given; it lasts as long as the program.
struct Environment {
  const Eal& eal;
  const std::vector<unsigned>& worker_cores;
  TscRate tsc;
  LineChannel& channel;
  const std::atomic<bool>& quit;
};

/// A program that serves requests on standard input and output.
struct Program {
  const char* name;
  const char* reference;  // the page that tells its methods
  /// Begins with a clock that has been checked; returns when the channel is closed or the flag is set.
  std::function<void(const Environment&)> serve;
};

/// The result of `engine.info`.
Json program_info(const char* name, const Environment& environment);

/// Reads the command line and starts DPDK; returns the exit code.
int run_program(const Program& program, int argc, char** argv);

}  // namespace natxy
