// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "port/neighbors.hpp"
#include "reference/forwarder.hpp"
#include "reference/gateway/settings.hpp"
#include "rpc/messages/field_reader.hpp"

// Reads the reference gateway's requests as defined in docs/reference/reference-gateway.md. Reading throws FieldError.
namespace natxy::reference {

Settings read_settings(const Json& params);
double read_duration_s(const Json& params);

/// Returns the neighbours to resolve and the addresses to answer for, on both links.
Neighbors neighbors_of(const Settings& settings);

}  // namespace natxy::reference
