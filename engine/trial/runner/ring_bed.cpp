// SPDX-License-Identifier: Apache-2.0
#include "trial/runner/ring_bed.hpp"

#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "packet/bytes.hpp"
#include "packet/checksum.hpp"
#include "packet/neighbor_messages.hpp"

namespace natxy {
namespace {

std::size_t index(Side side) { return static_cast<std::size_t>(side); }

/// Returns the buffers of the gateway.
rte_mempool* pool() {
  static rte_mempool* instance = rte_pktmbuf_pool_create("gateway", 32767, 0, 0, 2048, SOCKET_ID_ANY);
  return instance;
}

}  // namespace

const Eal& eal() {
  static const Eal instance([] {
    // This thread is the gateway between the rings. If it lost its core for long, they would fill up.
    static_cast<void>(setpriority(PRIO_PROCESS, 0, -20));
    EalOptions options;
    options.main_core = std::thread::hardware_concurrency() > 1 ? 1 : 0;
    // Two on each core, so that two may share a port.
    options.worker_cores = {0, options.main_core, 0, options.main_core};
    return options;
  }());
  return instance;
}

void recompute_udp_checksum(Bytes frame) {
  std::uint8_t* ip = frame.data() + kEthernetBytes;
  std::uint8_t* udp = ip + kIpv4Bytes;
  store_be16(ip + 10, 0);
  store_raw(ip + 10, ip_checksum(checksum_of(ip, kIpv4Bytes)));
  const std::size_t length = load_be16(udp + 4);
  store_be16(udp + 6, 0);
  store_raw(udp + 6, udp_checksum(checksum_of(ip + 12, 8) + __builtin_bswap16(kProtocolUdp) +
                                  __builtin_bswap16(static_cast<std::uint16_t>(length)) + checksum_of(udp, length)));
}

RingBed::RingBed(unsigned queues, unsigned workers, Medium medium, const std::array<OwnWorkers, 2>& own)
    : workers_{workers} {
  eal();
  for (const Side side : {Side::left, Side::right}) {
    Wire& wire = wires_.at(index(side));
    const std::string name = (side == Side::left ? "left" : "right") + std::to_string(++serial_);
    for (unsigned queue = 0; queue < queues; ++queue) {
      const std::string ring = name + "_" + std::to_string(queue);
      wire.from_tester.push_back(
          rte_ring_create((ring + "_tx").c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
      wire.to_tester.push_back(
          rte_ring_create((ring + "_rx").c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
    }
    rte_eth_from_rings(name.c_str(), wire.to_tester.data(), queues, wire.from_tester.data(), queues, 0);
    PortOptions options;
    options.side = side;
    options.device = "net_ring_" + name;
    options.medium = medium;
    options.queues = queues;
    options.senders = own.at(index(side)).senders;
    options.receivers = own.at(index(side)).receivers;
    ports_.push_back(std::make_unique<Port>(options));
  }
  std::vector<LinkNeighbor> links;
  for (const Side side : {Side::left, Side::right}) {
    for (const char* prefix : {"198.18.0.", "2001:2::"}) {
      LinkNeighbor link;
      link.side = side;
      link.address = *parse_address(std::string{prefix} + "2");
      link.gateway = *parse_address(std::string{prefix} + "1");
      link.gateway_mac = kGatewayMac;
      link.answers = {*parse_prefix(std::string{prefix} + (prefix[0] == '1' ? "16/28" : "10/124"))};
      links.push_back(link);
    }
  }
  neighbors_ = Neighbors(links);
}

RingBed::~RingBed() {
  // Frames left in the rings go back to their pools: the gateway's, which outlives this object, and the ports'.
  for (rte_ring* ring : rings()) {
    void* frame = nullptr;
    while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
  }
  ports_.clear();
  for (rte_ring* ring : rings()) rte_ring_free(ring);
}

TrialReport RingBed::run(const TrialSpec& spec) {
  TrialReport report = run_trial(
      spec, {ports_, neighbors_, std::span(eal().workers()).first(workers_), true, Clock{rte_get_tsc_hz()}, {}, moment},
      {&connections, 1}, [this](const TrialProgress&) {
        carry(Side::left);
        carry(Side::right);
        await_reception();
        observe();
        return keep_going;
      });
  carry(Side::left);
  carry(Side::right);
  return report;
}

void RingBed::inject(Side towards, std::span<const std::uint8_t> bytes, std::size_t queue) {
  rte_mbuf* copy = rte_pktmbuf_alloc(pool());
  if (copy == nullptr) throw std::runtime_error("the gateway has no buffers left");
  std::memcpy(rte_pktmbuf_append(copy, static_cast<std::uint16_t>(bytes.size())), bytes.data(), bytes.size());
  if (rte_ring_enqueue(wires_.at(index(towards)).to_tester.at(queue), copy) != 0) rte_pktmbuf_free(copy);
}

void RingBed::await_reception() const {
  const auto waits = [](rte_ring* ring) { return rte_ring_empty(ring) == 0; };
  for (const Wire& wire : wires_) {
    while (std::ranges::any_of(wire.to_tester, waits)) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void RingBed::set_link(Side side, bool up) const {
  std::uint16_t id = 0;
  const std::string& device = ports_.at(index(side))->options().device;
  if (rte_eth_dev_get_port_by_name(device.c_str(), &id) != 0) throw std::runtime_error("no port " + device);
  static_cast<void>(up ? rte_eth_dev_set_link_up(id) : rte_eth_dev_set_link_down(id));
}

std::vector<rte_ring*> RingBed::rings() const {
  std::vector<rte_ring*> found;
  for (const Wire& wire : wires_) {
    found.insert(found.end(), wire.from_tester.begin(), wire.from_tester.end());
    found.insert(found.end(), wire.to_tester.begin(), wire.to_tester.end());
  }
  return found;
}

void RingBed::carry(Side from) {
  if (!carries) return;
  const Wire& wire = wires_.at(index(from));
  for (std::size_t queue = 0; queue < wire.from_tester.size(); ++queue) {
    void* object = nullptr;
    while (rte_ring_dequeue(wire.from_tester[queue], &object) == 0) {
      auto* frame = static_cast<rte_mbuf*>(object);
      const Bytes bytes(rte_pktmbuf_mtod(frame, std::uint8_t*), frame->data_len);
      if (parse_neighbor_message(bytes)) {
        neighbor_answers.emplace_back(bytes.begin(), bytes.end());
      } else if (translate) {
        inject(opposite(from), translate(from, bytes), queue);
      } else {
        const int copies = treat(from, bytes);
        for (int copy = 0; copy < copies; ++copy) {
          inject(opposite(from), bytes, (queue + static_cast<std::size_t>(copy)) % wire.from_tester.size());
        }
      }
      rte_pktmbuf_free(frame);
    }
  }
}

FlowFields flows(Family family, std::uint32_t source_ports, std::uint32_t destination_ports) {
  const std::string prefix = family == Family::ipv4 ? "198.18.0." : "2001:2::";
  FlowFields fields;
  fields.source_address.address = *parse_address(prefix + "2");
  fields.destination_address.address = *parse_address(prefix + "3");
  fields.source_port = {10000, 10000 + source_ports - 1, Order::pseudorandom};
  fields.destination_port = {80, 80 + destination_ports - 1, Order::pseudorandom};
  return fields;
}

StreamSpec stream(const std::string& name, Side source, Family family, std::uint64_t frames) {
  StreamSpec spec;
  spec.name = name;
  spec.source = source;
  spec.frame_sizes = {layout_of(Form::udp, family).smallest_frame()};
  spec.rate_fps = 20'000;
  spec.frames = frames;
  spec.flows = flows(family, 100, 100);
  return spec;
}

TrialSpec trial(std::vector<StreamSpec> streams) {
  TrialSpec spec;
  spec.streams = std::move(streams);
  spec.seed = 7;
  // Tester and gateway may wait for their cores on a busy machine, so that only extreme lateness is an error.
  spec.drain_s = 0.25;
  spec.limits = {1, 10, 10};
  return spec;
}

TrialSpec hasty_trial(std::vector<StreamSpec> streams) {
  TrialSpec spec = trial(std::move(streams));
  spec.limits.overrun_floor_s = 0;
  return spec;
}

TrialSpec phase1(Family family, std::uint64_t connections) {
  StreamSpec initiator = stream("phase 1", Side::left, family, connections);
  initiator.selection = Selection::enumerate;
  TrialSpec spec = trial({initiator});
  spec.phase1 = true;
  return spec;
}

StreamSpec phase2(const std::string& name, Side source, StreamKind kind, Family family, std::uint64_t frames) {
  StreamSpec spec = stream(name, source, family, frames);
  spec.kind = kind;
  spec.flows.reset();
  return spec;
}

}  // namespace natxy
