// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.hpp"

#include <rte_version.h>

#include <array>
#include <cmath>
#include <new>

#include "packet/classifier.hpp"
#include "version.hpp"

namespace natxy {

namespace {

constexpr int kIdleInterval_ms = 5;  // how often neighbours are served between trials
constexpr double kProgressInterval_s = 0.2;
constexpr double kAskInterval_s = 0.1;

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
};

class MethodNotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Unreachable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

double thousandths(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

Server::Server(const Eal& eal, std::vector<unsigned> worker_cores, const TscRate& tsc, LineChannel& channel,
               const std::atomic<bool>& quit)
    : eal_{eal}, worker_cores_{std::move(worker_cores)}, tsc_{tsc}, channel_{channel}, quit_{quit}, clock_{tsc.hz} {}

void Server::serve() {
  if (!eal_.uses_hugepages()) log("info", "no free hugepages: buffers are in ordinary memory");
  while (!quit_ && !channel_.closed()) {
    if (!waiting_.empty()) {
      const std::string line = std::move(waiting_.front());
      waiting_.pop_front();
      handle(line);
      continue;
    }
    if (const auto line = channel_.read_line(ports_.empty() ? 200 : kIdleInterval_ms)) handle(*line);
    serve_neighbors();
  }
}

void Server::handle(const std::string& line) {
  const Json request = Json::parse(line, nullptr, false);
  if (request.is_discarded()) {
    reply_error(nullptr, kParseError, "this line is not JSON", nullptr);
    return;
  }
  const Json id = request.is_object() && request.contains("id") ? request["id"] : Json();
  std::string method;
  Json params = Json::object();
  try {
    FieldReader reader(request, "");
    static_cast<void>(reader.find("id"));
    if (reader.text("jsonrpc") != "2.0") throw FieldError("jsonrpc", "expected 2.0");
    method = reader.text("method");
    if (const Json* given = reader.find("params")) params = *given;
    reader.finish();
  } catch (const FieldError& error) {
    reply_error(id, kInvalidRequest, error.what(), {{"field", error.field()}});
    return;
  }
  try {
    Json result = dispatch(method, params);
    if (!id.is_null()) channel_.write({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
  } catch (const FieldError& error) {
    reply_error(id, kInvalidParams, error.what(), {{"field", error.field()}});
  } catch (const MethodNotFound& error) {
    reply_error(id, kMethodNotFound, error.what(), nullptr);
  } catch (const PortError& error) {
    reply_error(id, kPortError, error.what(), nullptr);
  } catch (const Unreachable& error) {
    reply_error(id, kUnreachable, error.what(), nullptr);
  } catch (const TrialError& error) {
    reply_error(id, kBadState, error.what(), nullptr);
  } catch (const std::bad_alloc&) {
    reply_error(id, kResource, "not enough memory for this request; ask for fewer connections or frames", nullptr);
  } catch (const std::exception& error) {
    reply_error(id, kInternalError, error.what(), nullptr);
  }
}

void Server::log(const char* level, const std::string& text) {
  channel_.write({{"jsonrpc", "2.0"}, {"method", "log"}, {"params", {{"level", level}, {"text", text}}}});
}

void Server::reply_error(const Json& id, int code, const std::string& text, const Json& data) {
  Json error = {{"code", code}, {"message", text}};
  if (!data.is_null()) error["data"] = data;
  channel_.write({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

Json Server::dispatch(const std::string& method, const Json& params) {
  if (method == "engine.info") {
    FieldReader(params, "").finish();
    return info();
  }
  if (method == "ports.open") return open_ports(params);
  if (method == "ports.close") {
    FieldReader(params, "").finish();
    ports_.clear();
    neighbors_ = {};
    return Json::object();
  }
  if (method == "neighbors.resolve") return resolve_neighbors(params);
  if (method == "connections.establish") return run(read_establish(params));
  if (method == "connections.validate") return run(read_validate(params, connections_));
  if (method == "trial.run") return run(read_trial(params));
  if (method == "trial.abort") return Json::object();  // no trial is running: see watch()
  throw MethodNotFound("there is no method " + method);
}

Json Server::info() const {
  return {
      {"name", "natxy-engine"},
      {"version", kVersion},
      {"protocol", kProtocolVersion},
      {"dpdk", rte_version()},
      {"compiler", kCompiler},
      {"worker_cores", worker_cores_},
      {"hugepages", eal_.uses_hugepages()},
      {"tsc_hz", tsc_.hz},
      {"tsc_error_ppm", thousandths((static_cast<double>(rte_get_tsc_hz()) / static_cast<double>(tsc_.hz) - 1) * 1e6)},
      {"tsc_uncertainty_ppm", thousandths(tsc_.uncertainty_ppm)}};
}

Json Server::open_ports(const Json& params) {
  const auto options = read_ports_open(params);
  ports_.clear();
  neighbors_ = {};
  std::vector<std::unique_ptr<Port>> opened;
  opened.reserve(options.size());
  for (const auto& port : options) opened.push_back(std::make_unique<Port>(port));
  ports_ = std::move(opened);
  Json ports = Json::array();
  for (const auto& port : ports_) {
    ports.push_back(write_port(*port));
    if (!port->link_up()) log("warning", fmt::format("the link of port {} is down", port->options().device));
  }
  return {{"ports", std::move(ports)}};
}

Json Server::resolve_neighbors(const Json& params) {
  auto request = read_neighbors_resolve(params);
  if (ports_.empty()) throw TrialError("no port is open; call ports.open first");
  neighbors_ = Neighbors(std::move(request.links));
  const std::uint64_t deadline = now_ticks() + clock_.ticks(request.timeout_s);
  std::uint64_t ask_at = 0;
  while (!neighbors_.resolved() && now_ticks() < deadline && !quit_ && !channel_.closed()) {
    while (const auto line = channel_.read_line(0)) waiting_.push_back(*line);
    if (now_ticks() >= ask_at) {
      for (const auto& port : ports_) neighbors_.ask(*port);
      ask_at = now_ticks() + clock_.ticks(kAskInterval_s);
    }
    serve_neighbors();
  }
  Json resolved = Json::array();
  for (const LinkNeighbor& link : neighbors_.links()) {
    const char* side = link.side == Side::left ? "left" : "right";
    if (!link.gateway_mac) {
      throw Unreachable(fmt::format(
          "the DUT does not answer: nobody says who has {} on the {} side within {} s; check that the address is the "
          "DUT's, that its interface is up and that the cable goes where it should",
          format_address(link.gateway), side, request.timeout_s));
    }
    resolved.push_back(
        {{"side", side}, {"gateway", format_address(link.gateway)}, {"mac", format_mac(*link.gateway_mac)}});
  }
  return {{"neighbors", std::move(resolved)}};
}

Json Server::run(const TrialRequest& request) {
  if (ports_.empty()) throw TrialError("no port is open; call ports.open first");
  trial_aborted_ = false;
  progress_due_ = now_ticks();
  const TrialReport report = run_trial(request.spec, {ports_, neighbors_, eal_.workers(), eal_.workers_apart(), clock_},
                                       connections_, [this](const TrialProgress& progress) { return watch(progress); });
  return write_trial(request, report, clock_);
}

bool Server::watch(const TrialProgress& progress) {
  while (const auto line = channel_.read_line(0)) {
    const Json request = Json::parse(*line, nullptr, false);
    if (request.is_object() && request.contains("method") && request["method"] == "trial.abort") trial_aborted_ = true;
    waiting_.push_back(*line);
  }
  if (now_ticks() >= progress_due_) {
    progress_due_ += clock_.ticks(kProgressInterval_s);
    channel_.write({{"jsonrpc", "2.0"}, {"method", "progress"}, {"params", write_progress(progress)}});
  }
  return !trial_aborted_ && !quit_ && !channel_.closed();
}

void Server::serve_neighbors() {
  std::array<rte_mbuf*, 64> frames;
  for (const auto& port : ports_) {
    for (std::uint16_t queue = 0; queue < port->options().queues; ++queue) {
      const std::size_t count = port->receive(queue, frames);
      for (std::size_t i = 0; i < count; ++i) {
        neighbors_.serve(*port, {rte_pktmbuf_mtod(frames[i], const std::uint8_t*), frames[i]->data_len});
      }
      if (count > 0) rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
    }
  }
}

}  // namespace natxy
