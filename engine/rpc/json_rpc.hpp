// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "rpc/line_channel.hpp"

namespace natxy {

inline constexpr int kProtocolVersion = 1;

enum ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kBadState = -32001,
  kPortError = -32002,
  kUnreachable = -32003,
  kResource = -32004,
  kWorkerStuck = -32005,
};

/// Ends a request with an error reply that has this code.
class RpcError : public std::runtime_error {
 public:
  RpcError(int code, const std::string& text) : std::runtime_error(text), code_{code} {}
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

RpcError no_method(const std::string& method);

/// Implements the envelope of JSON-RPC 2.0: parses requests, sends results, errors and notifications.
class JsonRpc {
 public:
  explicit JsonRpc(LineChannel& channel) : channel_{channel} {}

  /// Returns the result of a method, or throws.
  using Dispatch = std::function<Json(const std::string& method, const Json& params)>;
  /// Handles the request in `line` and replies. An exception from `dispatch` becomes an error reply; that of a
  /// FieldError names the field.
  void handle(const std::string& line, const Dispatch& dispatch);

  /// Sends a `log` notification.
  void log(const char* level, const std::string& text);

 private:
  void reply_error(const Json& id, int code, const std::string& text, const Json& data);

  LineChannel& channel_;
};

}  // namespace natxy
