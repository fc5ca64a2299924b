// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "rpc/messages/field_reader.hpp"
#include "trial/spec.hpp"

// The fields of a request that describe a stream. Reading throws FieldError.
namespace natxy {

/// Reads a stream. `earlier` are the streams before it in the request, with which it may be interleaved.
StreamSpec read_stream(const Json& json, const std::string& path, std::span<const StreamSpec> earlier = {});

// Fields that a stream has in common with a request for validation.
void read_frame(const Json& json, const std::string& path, StreamSpec& stream);
double read_rate(FieldReader& reader);
double read_loss_ratio(FieldReader& reader);
std::optional<double> read_backlog(FieldReader& reader);

/// Checks that a stream is not longer than 30 days. The error names the field `path`.
void check_duration(const StreamSpec& stream, const std::string& path);

}  // namespace natxy
