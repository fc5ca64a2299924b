// SPDX-License-Identifier: Apache-2.0
#include "reference/server.hpp"
#include "rpc/program.hpp"

int main(int argc, char** argv) {
  return natxy::run_program(
      {"natxy-reference", "docs/reference/reference-gateway.md",
       [](const natxy::Environment& environment) { natxy::reference::Server(environment).serve(); }},
      argc, argv);
}
