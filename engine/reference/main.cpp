// SPDX-License-Identifier: Apache-2.0
#include "reference/server.hpp"
#include "rpc/program.hpp"

int main(int argc, char** argv) {
  return natxy::run_program({"natxy-reference", "docs/reference/reference-gateway.md",
                             [](const natxy::Eal& eal, const std::vector<unsigned>& worker_cores,
                                const natxy::TscRate& tsc, natxy::LineChannel& channel, const std::atomic<bool>& quit) {
                               natxy::reference::Server(eal, worker_cores, tsc, channel, quit).serve();
                             }},
                            argc, argv);
}
