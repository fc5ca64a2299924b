// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "pace/tsc.hpp"
#include "port/eal.hpp"
#include "rpc/line_channel.hpp"

namespace natxy {

/// A program that serves requests on standard input and output.
struct Program {
  const char* name;
  const char* reference;  // the page that tells its methods
  /// Begins with a clock that has been checked; returns when the channel is closed or the flag is set.
  std::function<void(const Eal&, const std::vector<unsigned>& worker_cores, const TscRate& tsc, LineChannel&,
                     const std::atomic<bool>& quit)>
      serve;
};

/// Reads the command line and starts DPDK; returns the exit code.
int run_program(const Program& program, int argc, char** argv);

}  // namespace natxy
