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

/// Holds the environment of a running program. It lives as long as the program.
struct Environment {
  const Eal& eal;
  const std::vector<unsigned>& worker_cores;
  TscRate tsc;
  LineChannel& channel;
  const std::atomic<bool>& quit;
};

/// Describes a program that serves requests on standard input and output.
struct Program {
  const char* name;
  const char* reference;  // the page that describes its methods
  /// Serves requests until the channel closes or `quit` is set. The clock has been checked before.
  std::function<void(const Environment&)> serve;
};

/// Returns the result of `engine.info`.
Json program_info(const char* name, const Environment& environment);

/// Parses the command line, starts DPDK and serves. Returns the exit code.
int run_program(const Program& program, int argc, char** argv);

}  // namespace natxy
