// SPDX-License-Identifier: Apache-2.0
#include "packet/headers.hpp"

#include <charconv>
#include <cstdio>

namespace natxy {

std::optional<MacAddress> parse_mac(std::string_view text) {
  if (text.size() != 17) return std::nullopt;
  MacAddress mac{};
  for (std::size_t i = 0; i < mac.size(); ++i) {
    const char* digits = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, mac.at(i), 16);
    if (error != std::errc{} || end != digits + 2) return std::nullopt;
    if (i + 1 < mac.size() && text[3 * i + 2] != ':') return std::nullopt;
  }
  return mac;
}

std::string format_mac(const MacAddress& mac) {
  std::array<char, 18> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
                mac[5]);
  return text.data();
}

}  // namespace natxy
