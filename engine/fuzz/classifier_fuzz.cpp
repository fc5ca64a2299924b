// SPDX-License-Identifier: Apache-2.0
#include "packet/classifier.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> frame{data, size};
  const natxy::Classified alone = natxy::classify(frame);
  natxy::Classified in_burst;
  natxy::classify({&frame, 1}, {&in_burst, 1});
  if (natxy::name_of(alone.kind).empty() || alone != in_burst) __builtin_trap();
  return 0;
}
