// SPDX-License-Identifier: Apache-2.0
#include "rpc/server.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "rpc/messages/common_fields.hpp"
#include "rpc/messages/results.hpp"

namespace natxy {

namespace {

constexpr int kIdleInterval_ms = 5;    // how often neighbours are served between trials
constexpr int kAnswerInterval_ms = 1;  // the same while their answers are awaited, which the DUT may need this core for
constexpr double kProgressInterval_s = 0.2;
constexpr double kAskInterval_s = 0.1;

bool measures_delays(const TrialRequest& request) {
  return request.delay_histogram || std::ranges::any_of(request.spec.streams, [](const StreamSpec& stream) {
           return stream.tagged.has_value() || stream.ipdv;
         });
}

}  // namespace

Server::Server(const Environment& environment)
    : environment_{environment}, rpc_{environment.channel}, clock_{environment.tsc.hz} {}

void Server::serve() {
  if (!environment_.eal.uses_hugepages()) rpc_.log("info", "no free hugepages: buffers are in ordinary memory");
  while (!environment_.quit && !environment_.channel.closed()) {
    if (!waiting_.empty()) {
      const std::string line = std::move(waiting_.front());
      waiting_.pop_front();
      handle(line);
      continue;
    }
    if (const auto line = environment_.channel.read_line(ports_.empty() ? 200 : kIdleInterval_ms)) handle(*line);
    serve_neighbors();
  }
}

void Server::handle(const std::string& line) {
  bool stuck = false;
  rpc_.handle(line, [&](const std::string& method, const Json& params) {
    try {
      return dispatch(method, params);
    } catch (const TrialError& error) {
      throw RpcError(kBadState, error.what());
    } catch (const WorkerStuck& error) {
      stuck = true;
      throw RpcError(kWorkerStuck, error.what());
    }
  });
  // An orderly exit would destroy objects that the stuck worker still uses.
  if (stuck) std::_Exit(EXIT_FAILURE);
}

Json Server::dispatch(const std::string& method, const Json& params) {
  if (method == "engine.info") {
    FieldReader(params, "").finish();
    return program_info("natxy-engine", environment_);
  }
  if (method == "engine.clock") {
    FieldReader(params, "").finish();
    return write_clock(sample_clocks(), clock_);
  }
  if (method == "ports.open") {
    auto request = read_ports_open(params, environment_.worker_cores);
    neighbors_ = {};
    dut_cores_ = std::move(request.dut_cores);
    return open_ports(request, ports_, rpc_);
  }
  if (method == "ports.close") {
    FieldReader(params, "").finish();
    ports_.clear();
    neighbors_ = {};
    return Json::object();
  }
  if (method == "neighbors.resolve") return resolve_neighbors(params);
  if (method == "trial.run") return run(read_trial(params));
  if (method == "trial.abort") return Json::object();  // no trial is running; watch() aborts running ones
  throw no_method(method);
}

Json Server::resolve_neighbors(const Json& params) {
  auto request = read_neighbors_resolve(params);
  if (ports_.empty()) throw TrialError("no port is open; call ports.open first");
  neighbors_ = Neighbors(std::move(request.links));
  const std::uint64_t deadline = now_ticks() + clock_.ticks(request.timeout_s);
  std::uint64_t ask_at = 0;
  while (!neighbors_.resolved() && now_ticks() < deadline && !environment_.quit && !environment_.channel.closed()) {
    if (now_ticks() >= ask_at) {
      for (const auto& port : ports_) neighbors_.ask(*port);
      ask_at = now_ticks() + clock_.ticks(kAskInterval_s);
    }
    serve_neighbors();
    while (const auto line = environment_.channel.read_line(kAnswerInterval_ms)) waiting_.push_back(*line);
  }
  Json resolved = Json::array();
  for (const LinkNeighbor& link : neighbors_.links()) {
    const std::string side = name_of(link.side);
    const std::string where = link.pair == 0 ? side + " side" : fmt::format("{} side of pair {}", side, link.pair + 1);
    if (!link.gateway_mac) {
      throw RpcError(kUnreachable,
                     fmt::format("the DUT does not answer: no reply for {} on the {} within {} s; check that the "
                                 "address is the DUT's, that its interface is up and that the cabling is correct",
                                 format_address(link.gateway), where, request.timeout_s));
    }
    if (!link.asked) {
      throw RpcError(kUnreachable, fmt::format("the port on the {} does not take a request from {} within {} s; "
                                               "check that the interface is up and allow more time",
                                               where, format_address(link.address), request.timeout_s));
    }
    resolved.push_back({{"side", side},
                        {"pair", link.pair},
                        {"gateway", format_address(link.gateway)},
                        {"mac", format_mac(*link.gateway_mac)}});
  }
  return {{"neighbors", std::move(resolved)}};
}

Json Server::run(const TrialRequest& request) {
  if (ports_.empty()) throw TrialError("no port is open; call ports.open first");
  trial_aborted_ = false;
  progress_due_ = now_ticks();
  // Measuring the cores' speed delays a few frames by some microseconds.
  const std::span<const unsigned> probed = measures_delays(request) ? std::span<const unsigned>{} : dut_cores_;
  const TrialReport report = run_trial(
      request.spec, {ports_, neighbors_, environment_.eal.workers(), environment_.eal.workers_apart(), clock_, probed},
      connections_, [this](const TrialProgress& progress) { return watch(progress); });
  return write_trial(request, report, clock_);
}

bool Server::watch(const TrialProgress& progress) {
  while (const auto line = environment_.channel.read_line(0)) {
    const Json request = Json::parse(*line, nullptr, false);
    if (request.is_object() && request.contains("method") && request["method"] == "trial.abort") trial_aborted_ = true;
    waiting_.push_back(*line);
  }
  if (now_ticks() >= progress_due_) {
    progress_due_ += clock_.ticks(kProgressInterval_s);
    environment_.channel.write({{"jsonrpc", "2.0"}, {"method", "progress"}, {"params", write_progress(progress)}});
  }
  return !trial_aborted_ && !environment_.quit && !environment_.channel.closed();
}

void Server::serve_neighbors() {
  std::array<rte_mbuf*, 64> frames;
  for (const auto& port : ports_) {
    const auto queues = static_cast<std::uint16_t>(port->options().queues);
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
      const std::size_t count = port->receive(queue, frames);
      for (std::size_t i = 0; i < count; ++i) {
        neighbors_.serve(*port, {rte_pktmbuf_mtod(frames[i], const std::uint8_t*), frames[i]->data_len});
      }
      if (count > 0) rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
    }
  }
}

}  // namespace natxy
