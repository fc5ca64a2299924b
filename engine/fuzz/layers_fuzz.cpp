// SPDX-License-Identifier: Apache-2.0
#include "packet/layers.hpp"

namespace {

/// Traps unless a packet's parts are within its bytes, one behind the other.
void check(const std::optional<natxy::IpLayer>& packet, natxy::IpLayer::Bytes bytes) {
  if (!packet) return;
  if (packet->header.data() != bytes.data()) __builtin_trap();
  if (packet->payload.data() < packet->header.data() + packet->header.size()) __builtin_trap();
  if (packet->payload.data() + packet->payload.size() > bytes.data() + bytes.size()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const natxy::IpLayer::Bytes bytes{data, size};
  check(natxy::read_ipv4(bytes), bytes);
  check(natxy::read_ipv6(bytes), bytes);
  return 0;
}
