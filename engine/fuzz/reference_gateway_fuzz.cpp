// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "reference/gateway/gateway.hpp"

namespace natxy::reference {

/// Makes a gateway of `mode` with all features that process frames.
static Gateway gateway_of(Mode mode) {
  Settings settings;
  settings.mode = mode;
  settings.table.capacity = 16;
  settings.table.when_full = WhenFull::lru;
  settings.translation.pool = *parse_prefix(right_family(mode) == Family::ipv4 ? "198.19.0.0/30" : "2001:2::/126");
  settings.translation.prefix = parse_prefix("2001:2:0:64::/96");
  settings.translation.mappings = {{*parse_prefix("198.18.0.0/16"), *parse_prefix("2001:2:0:1::/112")}};
  settings.truth.tcp = {.drop_syn_ack_every = 3, .reset_every = 3, .shift_sequence_every = 2};
  for (Faults& faults : settings.truth.faults) faults.corrupt_checksum_every = faults.wrong_port_every = 2;
  return {settings, Clock(1'000'000'000)};
}

/// Makes an end of softwires that takes out all packets for the address ::.
static Gateway end_of(Outer sends, Mode mode = Mode::forward) {
  Settings settings;
  settings.mode = mode;
  settings.table = {.capacity = 16, .when_full = WhenFull::lru};
  settings.translation.pool = *parse_prefix("198.19.0.0/30");
  settings.softwire = {.sends = sends,
                       .option_every = 2,
                       .leak_every = 5,
                       .inner_fragments_every = 3,
                       .outer_fragments_every = 7,
                       .accepts_any_subscriber = true};
  return {settings, Clock(1'000'000'000)};
}

/// Makes an end of MAP-T that translates all addresses of its prefix.
static Gateway map_end_of(Outer sends) {
  Settings settings;
  settings.map = {.sends = sends,
                  .ipv4 = *parse_prefix("0.0.0.0/0"),
                  .prefix = *parse_prefix("2001:2:0:64::/64"),
                  .leak_every = 5,
                  .accepts_any_subscriber = true};
  return {settings, Clock(1'000'000'000)};
}

}  // namespace natxy::reference

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace natxy::reference;
  if (size == 0) return 0;
  static std::vector<Gateway> gateways = {gateway_of(Mode::forward),
                                          gateway_of(Mode::nat44),
                                          gateway_of(Mode::nat66),
                                          gateway_of(Mode::nat64),
                                          gateway_of(Mode::nat46),
                                          gateway_of(Mode::siit),
                                          end_of(natxy::Outer::from_edge),
                                          end_of(natxy::Outer::from_core),
                                          end_of(natxy::Outer::from_edge, Mode::nat44),
                                          end_of(natxy::Outer::from_core, Mode::nat44),
                                          map_end_of(natxy::Outer::from_edge),
                                          map_end_of(natxy::Outer::from_core),
                                          gateway_of(Mode::clat)};
  const natxy::Side side = data[0] % 2 == 0 ? natxy::Side::left : natxy::Side::right;
  Gateway& gateway = gateways[data[0] / 2 % gateways.size()];
  // The buffer has exactly the frame's size, so that AddressSanitizer detects accesses beyond its end.
  std::vector<std::uint8_t> bytes(kGrowth + size - 1);
  std::copy_n(data + 1, size - 1, bytes.begin() + kGrowth);
  const auto departure = gateway.forward(side, {bytes.data() + kGrowth, size - 1}, 0, 0);
  if (departure && (departure->frame.data < bytes.data() ||
                    departure->frame.data + departure->frame.length > bytes.data() + bytes.size())) {
    __builtin_trap();
  }
  return 0;
}
