// SPDX-License-Identifier: Apache-2.0
#include "rpc/messages/common_fields.hpp"

namespace natxy {

std::string item_path(const FieldReader& reader, const std::string& list, std::size_t index) {
  return fmt::format("{}[{}]", reader.path_of(list), index);
}

unsigned read_pair(FieldReader& reader) { return static_cast<unsigned>(reader.whole("pair", 0, kMostPairs - 1, 0)); }

AnyAddress read_address(const Json& json, const std::string& path) {
  const auto address = json.is_string() ? parse_address(json.get<std::string>()) : std::nullopt;
  if (!address) throw FieldError(path, fmt::format("expected an IPv4 or IPv6 address, got {}", json.dump()));
  return *address;
}

AnyAddress read_address(FieldReader& reader, const std::string& name) {
  return read_address(reader.get(name), reader.path_of(name));
}

Prefix read_prefix(const Json& json, const std::string& path) {
  const auto prefix = json.is_string() ? parse_prefix(json.get<std::string>()) : std::nullopt;
  if (!prefix) throw FieldError(path, fmt::format("expected a prefix like 198.18.0.0/16, got {}", json.dump()));
  return *prefix;
}

}  // namespace natxy
