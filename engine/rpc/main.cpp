// SPDX-License-Identifier: Apache-2.0
#include "rpc/program.hpp"
#include "rpc/server.hpp"

int main(int argc, char** argv) {
  return natxy::run_program({"natxy-engine", "docs/reference/rpc.md",
                             [](const natxy::Eal& eal, const std::vector<unsigned>& worker_cores,
                                const natxy::TscRate& tsc, natxy::LineChannel& channel, const std::atomic<bool>& quit) {
                               natxy::Server(eal, worker_cores, tsc, channel, quit).serve();
                             }},
                            argc, argv);
}
