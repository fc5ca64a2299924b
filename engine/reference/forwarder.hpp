// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "measure/histogram.hpp"
#include "pace/clock.hpp"
#include "port/neighbors.hpp"
#include "port/port.hpp"
#include "reference/delay_line.hpp"
#include "reference/gateway/gateway.hpp"

namespace natxy::reference {

/// Holds how exactly the gateway kept to its settings. All times are in ticks.
struct Exactness {
  std::uint64_t longest_pause = 0;  // between two looks at a port while frames flow
  std::uint64_t pauses = 0;         // sum of those longer than kNotablePause_s
  Histogram lateness;               // of delayed frames
};

/// Runs the loop of the worker core: moves frames between the two ports of each pair through a gateway, and holds the
/// delayed ones.
class Forwarder {
 public:
  /// With `high_priority`, the worker runs at the highest priority.
  Forwarder(std::span<const std::unique_ptr<Port>> ports, const Clock& clock, bool high_priority);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  /// Runs on a DPDK worker core until `stop`.
  static int run(void* forwarder);
  void stop() { stop_.store(true, std::memory_order_relaxed); }

  /// Makes the loop call `action` between frames, and returns afterwards. Only one other thread may call this.
  void between_frames(const std::function<void()>& action);

  // The following members may be used only between frames.

  /// Swaps the current gateway and `gateway`, and discards delayed frames.
  void become(std::unique_ptr<Gateway>& gateway, Neighbors neighbors);
  [[nodiscard]] Gateway* gateway() { return gateway_.get(); }
  [[nodiscard]] std::size_t delayed(Side side) const;
  [[nodiscard]] Exactness& exactness() { return exactness_; }

 private:
  struct Delayed {
    rte_mbuf* buffer;
    Place from;
  };
  struct Held {
    rte_mbuf* buffer;
    Departure departure;
    std::uint64_t deadline;
  };
  /// Holds the state of a port and of the direction that begins there.
  struct LinkState {
    Port* port = nullptr;
    std::optional<MacAddress> neighbor_mac;
    std::uint64_t looked_at = 0;
    std::size_t delayed = 0;
    std::optional<Held> held;
    std::vector<rte_mbuf*> leaving;  // to be sent on the other port
  };

  void loop();
  [[nodiscard]] bool resting(std::uint64_t now) const;
  std::size_t fetch(const Port& port, std::size_t count);
  void look(Place place);
  void note_pause(Place place, std::uint64_t pause);
  void take(Place place, rte_mbuf* buffer, std::uint64_t arrival);
  bool serve_neighbor(Place place, const rte_mbuf* buffer);
  void ask_neighbors(std::uint64_t now);
  void address(Place from, std::uint8_t* frame) const;
  void depart(Place from, rte_mbuf* buffer, const Departure& departure);
  void depart_second(Place from, rte_mempool* buffers, const Departure& first);
  void enqueue(Place from, rte_mbuf* buffer, const Departure& departure);
  void let_pass(Place from);
  void release(std::uint64_t now);
  void flush(Place from);
  void discard_delayed();

  /// Calls `use` with the place and the state of every link.
  template <class Use>
  void for_each_link(Use use) {
    for (unsigned pair = 0; pair < pairs_.size(); ++pair) {
      for (const Side side : {Side::left, Side::right}) use(Place{side, pair}, of(pairs_[pair], side));
    }
  }
  [[nodiscard]] LinkState& link_of(Place place) { return of(pairs_[place.pair], place.side); }
  [[nodiscard]] const LinkState& link_of(Place place) const { return of(pairs_[place.pair], place.side); }

  std::vector<BySide<LinkState>> pairs_;
  Clock clock_;
  bool high_priority_;
  std::unique_ptr<Gateway> gateway_;
  Neighbors neighbors_;
  DelayLine<Delayed> line_;
  std::vector<rte_mbuf*> fetched_;
  std::uint64_t ask_at_ = 0;
  std::uint64_t frame_at_ = 0;
  Exactness exactness_;
  std::atomic<const std::function<void()>*> action_ = nullptr;
  std::atomic<bool> stop_ = false;
};

}  // namespace natxy::reference
