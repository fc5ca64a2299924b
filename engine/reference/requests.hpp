// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "port/neighbors.hpp"
#include "reference/forwarder.hpp"
#include "reference/gateway/bindings.hpp"
#include "reference/gateway/settings.hpp"
#include "rpc/messages/field_reader.hpp"
#include "rpc/messages/requests.hpp"

// Reads the reference gateway's requests as defined in docs/reference/reference-gateway.md. Reading throws FieldError.
namespace natxy::reference {

/// Reads ports of one queue each, whose pairs are numbered from 0 on without gaps: the gateway has all testers' pairs.
PortsOpen read_ports_open(const Json& params);
/// Reads settings for a gateway with so many open pairs of ports.
Settings read_settings(const Json& params, std::size_t open_pairs);
double read_duration_s(const Json& params);
/// Reads the addresses of subscribers that have no binding.
std::vector<AddressSpan> read_without_binding(const Json& params);

/// Returns the neighbours to resolve and the addresses to answer for, on both links.
Neighbors neighbors_of(const Settings& settings);

}  // namespace natxy::reference
