// SPDX-License-Identifier: Apache-2.0
#include "reference/server.hpp"

#include <rte_launch.h>

#include <chrono>
#include <thread>

#include "reference/requests.hpp"

namespace natxy::reference {

namespace {

constexpr int kIdleInterval_ms = 200;

Json write_counters(const Counters& counters, std::size_t delayed, std::uint64_t missed) {
  Json dropped = Json::object();
  for (std::size_t cause = 0; cause < kDrops; ++cause) dropped[kDropNames.at(cause)] = counters.dropped.at(cause);
  return {{"received", counters.received},
          {"sent", counters.sent},
          {"delayed", delayed},
          {"duplicated", counters.duplicated},
          {"reordered", counters.reordered},
          {"corrupted", counters.corrupted},
          {"wrong_port", counters.wrong_port},
          {"without_state", counters.without_state},
          {"wrong_subscriber", counters.wrong_subscriber},
          {"with_option", counters.with_option},
          {"leaked", counters.leaked},
          {"interface_source", counters.interface_source},
          {"stale_binding", counters.stale_binding},
          {"low_hop_limit", counters.low_hop_limit},
          {"inner_fragmented", counters.inner_fragmented},
          {"outer_fragmented", counters.outer_fragmented},
          {"zero_checksum", counters.zero_checksum},
          {"reset", counters.reset},
          {"shifted_sequence", counters.shifted_sequence},
          {"missed", missed},
          {"dropped", std::move(dropped)}};
}

void nothing_more(const Json& params) { FieldReader(params, "").finish(); }

bool read_reset(const Json& params) {
  FieldReader reader(params, "");
  const bool reset = reader.flag("reset", false);
  reader.finish();
  return reset;
}

}  // namespace

Server::Server(const Environment& environment)
    : environment_{environment}, rpc_{environment.channel}, clock_{environment.tsc.hz} {}

void Server::serve() {
  while (!environment_.quit && !environment_.channel.closed()) {
    const auto line = environment_.channel.read_line(kIdleInterval_ms);
    if (!line) continue;
    rpc_.handle(*line, [this](const std::string& method, const Json& params) { return dispatch(method, params); });
  }
}

Json Server::dispatch(const std::string& method, const Json& params) {
  if (method == "engine.info") {
    nothing_more(params);
    return program_info("natxy-reference", environment_);
  }
  if (method == "ports.open") return open(params);
  if (method == "ports.close") {
    nothing_more(params);
    close();
    return Json::object();
  }
  if (method == "gateway.apply") {
    apply(params);
    return Json::object();
  }
  if (method == "gateway.restart" || method == "gateway.deaf") {
    fall_silent(read_duration_s(params), method == "gateway.restart");
    return Json::object();
  }
  if (method == "gateway.bindings") {
    change_bindings(params);
    return Json::object();
  }
  if (method == "gateway.counters") return counters(params);
  if (method == "gateway.exactness") return exactness(params);
  if (method == "table.clear") {
    nothing_more(params);
    return clear();
  }
  if (method == "table.count") {
    nothing_more(params);
    std::uint32_t count = 0;
    with_gateway([&](const Gateway& gateway) { count = gateway.connections(); });
    return {{"connections", count}};
  }
  throw no_method(method);
}

Json Server::open(const Json& params) {
  const PortsOpen request = read_ports_open(params);
  close();
  Json opened = open_ports(request, ports_, rpc_);
  forwarder_ = std::make_unique<Forwarder>(ports_, clock_, environment_.eal.workers_apart());
  rte_eal_remote_launch(&Forwarder::run, forwarder_.get(), environment_.eal.workers().front());
  return opened;
}

void Server::close() {
  if (forwarder_) {
    forwarder_->stop();
    rte_eal_wait_lcore(environment_.eal.workers().front());
    forwarder_.reset();
  }
  ports_.clear();
}

void Server::apply(const Json& params) {
  if (!forwarder_) throw RpcError(kBadState, "no port is open; call ports.open first");
  const Settings settings = read_settings(params, ports_.size() / 2);
  // A large table takes a while to create and to free, so the loop only swaps the gateways.
  auto gateway = std::make_unique<Gateway>(settings, clock_);
  forwarder_->between_frames([&] { forwarder_->become(gateway, neighbors_of(settings)); });
}

Json Server::clear() {
  std::uint32_t count = 0;
  bool collapsed = false;
  TableTruth table;
  const std::uint64_t start = now_ticks();
  with_gateway([&](Gateway& gateway) {
    table = gateway.settings().table;
    collapsed = gateway.collapsed();
    if (!collapsed) count = gateway.clear();
    forwarder_->exactness() = {};
  });
  if (collapsed) throw RpcError(kBadState, "the gateway has collapsed; call gateway.restart first");
  const double deleting_s = table.tear_down_rate_cps ? count / *table.tear_down_rate_cps : 0;
  wait_until(start + clock_.ticks(table.clear_s + deleting_s));
  return {{"cleared", count}};
}

Json Server::counters(const Json& params) {
  const bool reset = read_reset(params);
  Json result = Json::object();
  with_gateway([&](Gateway& gateway) {
    for (const Side side : {Side::left, Side::right}) {
      std::uint64_t missed = 0;
      for (const auto& port : ports_) {
        const ReceiveDrops drops = port->options().side == side ? port->drops() : ReceiveDrops{};
        missed += drops.missed + drops.no_buffer + drops.kernel;
      }
      Counters& counters = gateway.counters(side);
      result[side == Side::left ? "forward" : "reverse"] = write_counters(counters, forwarder_->delayed(side), missed);
      if (reset) counters = {};
    }
  });
  return result;
}

Json Server::exactness(const Json& params) {
  const bool reset = read_reset(params);
  Json result;
  with_gateway([&](const Gateway&) {
    Exactness& exactness = forwarder_->exactness();
    const Histogram& lateness = exactness.lateness;
    const bool any = lateness.count() > 0;
    result = {{"longest_pause_ns", clock_.nanoseconds(exactness.longest_pause)},
              {"pauses_ns", clock_.nanoseconds(exactness.pauses)},
              {"lateness_p999_ns", any ? clock_.nanoseconds(lateness.percentile(0.999)) : 0},
              {"lateness_max_ns", any ? clock_.nanoseconds(lateness.max()) : 0}};
    if (reset) exactness = {};
  });
  return result;
}

void Server::fall_silent(double duration_s, bool restart) {
  with_gateway([&](Gateway& gateway) {
    gateway.deafen(now_ticks() + clock_.ticks(duration_s));
    if (restart) gateway.restart();
  });
}

void Server::change_bindings(const Json& params) {
  std::vector<AddressSpan> without = read_without_binding(params);
  with_gateway([&](Gateway& gateway) { gateway.change_bindings(std::move(without), now_ticks()); });
}

void Server::with_gateway(const std::function<void(Gateway&)>& action) {
  if (!forwarder_ || forwarder_->gateway() == nullptr) {
    throw RpcError(kBadState, "no gateway is configured; call ports.open and gateway.apply first");
  }
  forwarder_->between_frames([&] { action(*forwarder_->gateway()); });
}

void Server::wait_until(std::uint64_t ticks) {
  constexpr double spin_s = 200e-6;  // the accuracy of sleeping
  for (std::uint64_t now = now_ticks(); now < ticks && !environment_.quit && !environment_.channel.closed();
       now = now_ticks()) {
    const double left_s = clock_.seconds(ticks - now);
    if (left_s > spin_s) std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.1, left_s - spin_s)));
  }
}

}  // namespace natxy::reference
