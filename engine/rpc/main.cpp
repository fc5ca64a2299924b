// SPDX-License-Identifier: Apache-2.0
#include "rpc/program.hpp"
#include "rpc/server.hpp"

int main(int argc, char** argv) {
  return natxy::run_program({"natxy-engine", "docs/reference/rpc.md",
                             [](const natxy::Environment& environment) { natxy::Server(environment).serve(); }},
                            argc, argv);
}
