// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "trial/connections.hpp"
#include "trial/runner/resources.hpp"
#include "trial/spec.hpp"

namespace natxy {

/// Reports that the state of the engine does not allow a trial.
class TrialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  TrialError(const StreamSpec& stream, const std::string& why);
};

/// Throws TrialError if a stream cannot be sent: a port is not open, the DUT's MAC address is not resolved, phase 1 is
/// not complete, a frame is too short or too long, or the trial is to begin too late.
void check_request(const TrialSpec& spec, const TrialResources& resources, std::span<const Connections> connections);

/// Throws TrialError if a stream over connections that the trial itself makes cannot be sent. These have begun.
void check_prompt_streams(const TrialSpec& spec, const TrialResources& resources,
                          std::span<const Connections> connections);

}  // namespace natxy
