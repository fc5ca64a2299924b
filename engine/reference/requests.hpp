// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "port/neighbors.hpp"
#include "reference/forwarder.hpp"
#include "reference/gateway/settings.hpp"
#include "rpc/messages/field_reader.hpp"

// The reference gateway's messages, as docs/reference/reference-gateway.md tells. Reading throws FieldError.
namespace natxy::reference {

Settings read_settings(const Json& params);
double read_duration_s(const Json& params);

/// Who is asked and answered for on both links.
Neighbors neighbors_of(const Settings& settings);

}  // namespace natxy::reference
