// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "form/frame_writer.hpp"
#include "port/eal.hpp"
#include "trial/runner/trial_runner.hpp"

struct rte_ring;

// Runs trials over rings for tests and benchmarks. Each test provides the gateway between the two ports.
namespace natxy {

/// Starts DPDK's environment with two workers on each of two cores, once.
const Eal& eal();

inline constexpr MacAddress kGatewayMac = {2, 0, 0, 0, 0, 0x11};

using Bytes = std::span<std::uint8_t>;

/// Recomputes the UDP checksum of an IPv4 frame that a test has rewritten.
void recompute_udp_checksum(Bytes frame);

/// Connects two ports. Each frame that a port sends is passed to `treat`, which returns how many copies to forward. A
/// copy comes on the queue after its original's.
class RingBed {
 public:
  /// Selects the workers that send and receive on a port, as its options do.
  struct OwnWorkers {
    std::vector<std::size_t> senders;
    std::vector<std::size_t> receivers;
  };

  /// `own`: the workers of the left and of the right port, if not every worker may have any of them.
  explicit RingBed(unsigned queues = 1, unsigned workers = 1, Medium medium = Medium::loop,
                   const std::array<OwnWorkers, 2>& own = {});

  RingBed(const RingBed&) = delete;
  RingBed& operator=(const RingBed&) = delete;
  ~RingBed();

  TrialReport run(const TrialSpec& spec);

  /// Puts a frame on the wire to the port on side `towards`.
  void inject(Side towards, std::span<const std::uint8_t> bytes, std::size_t queue = 0);

  /// Waits until the ports have received all frames. On a busy machine this may take longer than any drain.
  void await_reception() const;

  /// Sets the link of a port up or down.
  void set_link(Side side, bool up) const;

  std::function<int(Side, Bytes)> treat = [](Side, Bytes) { return 1; };
  /// Replaces `treat` if set: returns the frame to forward, which may have another length.
  std::function<std::vector<std::uint8_t>(Side, Bytes)> translate;
  std::vector<std::vector<std::uint8_t>> neighbor_answers;
  bool keep_going = true;
  bool carries = true;  // false: the wires fill up
  std::function<void()> observe = [] {};
  std::function<Moment()> moment = read_clocks;
  Connections connections;

 private:
  struct Wire {
    std::vector<rte_ring*> from_tester;
    std::vector<rte_ring*> to_tester;
  };

  [[nodiscard]] std::vector<rte_ring*> rings() const;

  void carry(Side from);

  inline static int serial_ = 0;
  unsigned workers_;
  std::array<Wire, 2> wires_;
  std::vector<std::unique_ptr<Port>> ports_;
  Neighbors neighbors_;
};

FlowFields flows(Family family, std::uint32_t source_ports, std::uint32_t destination_ports);
StreamSpec stream(const std::string& name, Side source, Family family, std::uint64_t frames);
TrialSpec trial(std::vector<StreamSpec> streams);
/// Returns a trial whose senders give up as soon as senders may, for tests in which frames stay unsent.
TrialSpec hasty_trial(std::vector<StreamSpec> streams);
TrialSpec phase1(Family family, std::uint64_t connections);
StreamSpec phase2(const std::string& name, Side source, StreamKind kind, Family family, std::uint64_t frames);

}  // namespace natxy
