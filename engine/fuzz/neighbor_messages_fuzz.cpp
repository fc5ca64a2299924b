// SPDX-License-Identifier: Apache-2.0
#include "packet/neighbor_messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = natxy::parse_neighbor_message({data, size});
  if (message && message->is_request && natxy::make_neighbor_answer(*message, {}).size() == 0) __builtin_trap();
  return 0;
}
