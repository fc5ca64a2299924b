// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flow/field_range.hpp"
#include "packet/address.hpp"
#include "port/port.hpp"
#include "rpc/messages/field_reader.hpp"

// Fields that several messages have in common. Reading throws FieldError.
namespace natxy {

inline const std::vector<std::pair<std::string, Side>> kSides = {{"left", Side::left}, {"right", Side::right}};
inline const std::vector<std::pair<std::string, Order>> kOrders = {
    {"increasing", Order::increasing}, {"decreasing", Order::decreasing}, {"pseudorandom", Order::pseudorandom}};

/// Returns the path of item `index` of the list `list`.
std::string item_path(const FieldReader& reader, const std::string& list, std::size_t index);

AnyAddress read_address(const Json& json, const std::string& path);
AnyAddress read_address(FieldReader& reader, const std::string& name);
Prefix read_prefix(const Json& json, const std::string& path);

}  // namespace natxy
