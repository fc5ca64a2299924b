// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pace/clock.hpp"
#include "reference/forwarder.hpp"
#include "rpc/json_rpc.hpp"
#include "rpc/open_ports.hpp"
#include "rpc/program.hpp"

namespace natxy::reference {

/// Serves the reference gateway's requests until the other end closes or `quit` is set, while the first worker
/// forwards.
class Server {
 public:
  explicit Server(const Environment& environment);
  ~Server() { close(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void serve();

 private:
  Json dispatch(const std::string& method, const Json& params);
  Json open(const Json& params);
  void close();
  void apply(const Json& params);
  Json clear();
  Json counters(const Json& params);
  Json exactness(const Json& params);
  void change_bindings(const Json& params);
  void fall_silent(double duration_s, bool restart);
  /// Calls `action` with the current gateway, between frames. Throws RpcError if there is none.
  void with_gateway(const std::function<void(Gateway&)>& action);
  void wait_until(std::uint64_t ticks);

  Environment environment_;
  JsonRpc rpc_;
  Clock clock_;
  Ports ports_;
  std::unique_ptr<Forwarder> forwarder_;
};

}  // namespace natxy::reference
