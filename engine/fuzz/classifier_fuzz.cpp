// SPDX-License-Identifier: Apache-2.0
#include "packet/classifier.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const natxy::Classified frame = natxy::classify({data, size});
  if (natxy::name_of(frame.kind).empty()) __builtin_trap();
  return 0;
}
