// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rpc/messages/requests.hpp"

namespace natxy {

/// Returns a request for a trial with one stream, for tests.
inline Json trial_request() {
  return Json::parse(R"({
    "seed": 1, "drain_s": 0.5,
    "streams": [{
      "name": "forward", "source": "left", "frame": {"size": 64}, "rate_fps": 1000.5, "frames": 10,
      "flows": {
        "source_address": {"address": "198.18.0.0", "min": 2, "max": 65534},
        "destination_address": {"address": "198.19.0.2"},
        "source_port": {"min": 1024, "max": 65535},
        "destination_port": {"min": 1, "max": 49151, "order": "decreasing"}
      }
    }]
  })");
}

/// Reads `json` as a trial and returns the path of the field that the error names; "none" without an error.
inline std::string complaint(const Json& json) {
  try {
    read_trial(json);
  } catch (const FieldError& error) {
    return error.field();
  }
  return "none";
}

}  // namespace natxy
