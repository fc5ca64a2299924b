// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rpc/messages/field_reader.hpp"
#include "trial/spec.hpp"

// The fields of a request that describe flows: ranges of addresses and ports. Reading throws FieldError.
namespace natxy {

FlowFields read_flows(const Json& json, const std::string& path);

/// Returns whether all four-tuples of `flows` can be numbered.
bool can_be_enumerated(const FlowFields& flows);

}  // namespace natxy
