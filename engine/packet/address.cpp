// SPDX-License-Identifier: Apache-2.0
#include "packet/address.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>

#include "packet/bytes.hpp"

namespace natxy {

bool Prefix::contains(const AnyAddress& address) const {
  if (address.family != network.family) return false;
  const unsigned host_bits = address_bits(network.family) - length;
  if (host_bits >= 128) return true;
  return (address.value >> host_bits) == (network.value >> host_bits);
}

std::optional<AnyAddress> parse_address(std::string_view text) {
  const std::string terminated{text};
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, terminated.c_str(), bytes.data()) == 1) {
    return AnyAddress{Family::ipv4, load_be32(bytes.data())};
  }
  if (inet_pton(AF_INET6, terminated.c_str(), bytes.data()) == 1) {
    return AnyAddress{Family::ipv6, load_be128(bytes.data())};
  }
  return std::nullopt;
}

std::optional<Prefix> parse_prefix(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  unsigned length = address_bits(address->family);
  if (slash != std::string_view::npos) {
    const auto digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc{} || end != digits.data() + digits.size() || length > address_bits(address->family)) {
      return std::nullopt;
    }
  }
  return Prefix{*address, length};
}

std::string format_address(const AnyAddress& address) {
  std::array<std::uint8_t, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.family == Family::ipv4) {
    store_be32(bytes.data(), static_cast<std::uint32_t>(address.value));
    inet_ntop(AF_INET, bytes.data(), text.data(), text.size());
  } else {
    store_be128(bytes.data(), address.value);
    inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  }
  return text.data();
}

}  // namespace natxy
