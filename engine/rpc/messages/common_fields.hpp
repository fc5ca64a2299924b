// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flow/field_range.hpp"
#include "packet/address.hpp"
#include "port/port.hpp"
#include "rpc/messages/field_reader.hpp"
#include "trial/spec.hpp"

// Fields that several messages have in common. Reading throws FieldError.
namespace natxy {

inline const std::vector<std::pair<std::string, Side>> kSides = {{"left", Side::left}, {"right", Side::right}};
constexpr const char* name_of(Side side) { return side == Side::left ? "left" : "right"; }
inline const std::vector<std::pair<std::string, Order>> kOrders = {
    {"increasing", Order::increasing}, {"decreasing", Order::decreasing}, {"pseudorandom", Order::pseudorandom}};

inline const std::vector<std::pair<std::string, StreamRole>> kRoles = {{"foreground", StreamRole::foreground},
                                                                       {"background", StreamRole::background},
                                                                       {"phase1", StreamRole::phase1},
                                                                       {"validation", StreamRole::validation},
                                                                       {"spoofed", StreamRole::spoofed}};

/// Returns the path of item `index` of the list `list`.
std::string item_path(const FieldReader& reader, const std::string& list, std::size_t index);

/// Reads `pair`, the pair of ports that a port, a neighbour or a stream belongs to; by default the first one, 0.
unsigned read_pair(FieldReader& reader);

AnyAddress read_address(const Json& json, const std::string& path);
AnyAddress read_address(FieldReader& reader, const std::string& name);
Prefix read_prefix(const Json& json, const std::string& path);

}  // namespace natxy
