// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/requests.hpp"

#include <array>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using natxy::Json;
  const Json params = Json::parse(data, data + size, nullptr, false);
  if (params.is_discarded()) return 0;
  const auto attempt = [](auto read) {
    try {
      read();
    } catch (const natxy::FieldError&) {
      // The correct answer to a bad request.
    }
  };
  attempt([&] { natxy::read_ports_open(params, std::array{0U, 2U}); });
  attempt([&] { natxy::read_neighbors_resolve(params); });
  attempt([&] { natxy::read_trial(params); });
  return 0;
}
