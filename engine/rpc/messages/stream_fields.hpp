// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "form/softwire.hpp"
#include "rpc/messages/field_reader.hpp"
#include "trial/spec.hpp"

// The fields of a request that describe a stream. Reading throws FieldError.
namespace natxy {

/// Reads a stream. `earlier` are the streams before it in the request, with which it may be interleaved.
StreamSpec read_stream(const Json& json, const std::string& path, std::span<const StreamSpec> earlier = {});

/// Reads the rule of subscribers' IPv6 addresses.
SubscriberRule read_subscribers(const Json& json, const std::string& path);

/// Reads the addresses of softwires, and the fields of their outer headers. `table` becomes the table of the
/// subscribers' addresses, if there is one.
Softwire read_softwire(const Json& json, const std::string& path,
                       std::shared_ptr<const std::vector<AddressHalves>>& table);

}  // namespace natxy
