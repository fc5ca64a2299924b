// SPDX-License-Identifier: Apache-2.0
#include "reference/forwarder.hpp"

#include <rte_ethdev.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "packet/burst.hpp"
#include "packet/bytes.hpp"
#include "packet/neighbor_messages.hpp"

namespace natxy::reference {

namespace {

constexpr std::size_t kMostAtOnce = 2048;    // frames that a port's ring holds
constexpr std::size_t kMostDelayed = 10000;  // per port; the rings need the port's other buffers
constexpr double kPatience_s = 0.05;         // wait for a full port, because a tester may pause for that long
constexpr double kLongestHold_s = 0.1;
constexpr double kAskInterval_s = 0.1;
constexpr double kIdleAfter_s = 0.02;
constexpr double kAtOnce_s = 0.00002;  // no pause of the core is as short
constexpr std::chrono::microseconds kNap{100};
constexpr std::size_t kMacBytes = 6;

bool is_neighbor_message(const rte_mbuf* buffer) {
  const auto* frame = rte_pktmbuf_mtod(buffer, const std::uint8_t*);
  if (buffer->data_len < kEthernetBytes + kIpv4Bytes) return false;
  const std::uint16_t type = load_be16(frame + 12);
  return type == kEtherTypeArp || (type == kEtherTypeIpv6 && frame[kEthernetBytes + 6] == kProtocolIcmpv6);
}

}  // namespace

Forwarder::Forwarder(std::span<const std::unique_ptr<Port>> ports, const Clock& clock, bool high_priority)
    : pairs_(ports.size() / 2),
      clock_{clock},
      high_priority_{high_priority},
      line_{ports.size() * kMostDelayed},
      fetched_(kMostAtOnce) {
  for (const auto& port : ports) {
    LinkState& link = link_of(port->options().place());
    link.port = port.get();
    link.looked_at = now_ticks();
    link.leaving.reserve(4 * kMostAtOnce);
  }
}

std::size_t Forwarder::delayed(Side side) const {
  std::size_t count = 0;
  for (const BySide<LinkState>& pair : pairs_) count += of(pair, side).delayed;
  return count;
}

Forwarder::~Forwarder() { discard_delayed(); }

int Forwarder::run(void* forwarder) {
  auto& self = *static_cast<Forwarder*>(forwarder);
  // On Linux this sets the priority of the calling thread only. Without the permission to raise it, pauses are longer.
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), self.high_priority_ ? -20 : 0));
  self.loop();
  return 0;
}

void Forwarder::between_frames(const std::function<void()>& action) {
  action_.store(&action, std::memory_order_release);
  while (action_.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
}

void Forwarder::become(std::unique_ptr<Gateway>& gateway, Neighbors neighbors) {
  discard_delayed();
  gateway_.swap(gateway);
  neighbors_ = std::move(neighbors);
  ask_at_ = 0;
  exactness_ = {};
}

void Forwarder::loop() {
  while (!stop_.load(std::memory_order_relaxed)) {
    if (const auto* action = action_.load(std::memory_order_acquire); action != nullptr) {
      (*action)();
      // The time that an action takes does not count as a pause of the gateway.
      for_each_link([](Place, LinkState& link) { link.looked_at = now_ticks(); });
      action_.store(nullptr, std::memory_order_release);
    }
    for_each_link([this](Place place, LinkState&) { look(place); });
    if (!line_.empty()) release(now_ticks());
    // On a small machine, the processes that prepare the next trial need this core.
    if (resting(now_ticks())) std::this_thread::sleep_for(kNap);
  }
}

bool Forwarder::resting(std::uint64_t now) const {
  return line_.empty() && now > frame_at_ + clock_.ticks(kIdleAfter_s);
}

/// Receives what has arrived, as far as there is room after the first `count` frames. Returns the number of frames.
std::size_t Forwarder::fetch(const Port& port, std::size_t count) {
  const std::size_t before = count;
  for (std::size_t more = kBurst; more == kBurst && count + kBurst <= fetched_.size(); count += more) {
    more = port.receive(0, std::span(fetched_).subspan(count, kBurst));
  }
  return count - before;
}

/// Receives and forwards the frames from a side. They count as having arrived evenly since the last look, so that
/// neither a pause of this core nor receiving them together makes them a burst. Their delays begin now, so that a pause
/// may lengthen a delay but never shorten it.
void Forwarder::look(Place place) {
  LinkState& link = link_of(place);
  std::size_t count = 0;
  std::uint64_t began = 0;
  std::uint64_t now = now_ticks();
  // After a pause between receiving and reading the clock, the frames that came meanwhile belong to this look.
  do {
    began = now;
    count += fetch(*link.port, count);
    now = now_ticks();
  } while (now - began > clock_.ticks(kAtOnce_s) && count + kBurst <= fetched_.size());
  const std::uint64_t before = std::exchange(link.looked_at, now);
  if (count > 0 || !resting(before)) note_pause(place, now - before);
  if (count > 0) frame_at_ = now;
  for (std::size_t i = 0; i < count; ++i) take(place, fetched_[i], before + (now - before) * (i + 1) / count);
  flush(place);
  if (gateway_ == nullptr) return;
  if (link.held && now >= link.held->deadline) {
    link.held->departure.behind = 1;
    let_pass(place);
    flush(place);
  }
  if (now >= ask_at_) ask_neighbors(now);
}

void Forwarder::note_pause(Place place, std::uint64_t pause) {
  exactness_.longest_pause = std::max(exactness_.longest_pause, pause);
  // Each pause is noted for all ports.
  if (place == Place{} && pause > clock_.ticks(kNotablePause_s)) exactness_.pauses += pause;
}

void Forwarder::take(Place place, rte_mbuf* buffer, std::uint64_t arrival) {
  if (gateway_ == nullptr || serve_neighbor(place, buffer)) {
    rte_pktmbuf_free(buffer);
    return;
  }
  LinkState& link = link_of(place);
  Counters& counters = gateway_->counters(place.side);
  auto* data = rte_pktmbuf_mtod(buffer, std::uint8_t*);
  const bool ours = buffer->nb_segs == 1 && buffer->data_len >= kEthernetBytes &&
                    std::equal(link.port->mac().begin(), link.port->mac().end(), data);
  if (!ours) {
    ++counters.received;
    counters.drop(Drop::foreign);
    rte_pktmbuf_free(buffer);
    return;
  }
  if (!link.neighbor_mac) std::copy_n(data + kMacBytes, kMacBytes, link.neighbor_mac.emplace().begin());
  const auto departure = gateway_->forward(place.side, {data, buffer->data_len}, arrival, link.looked_at);
  if (!departure) {
    rte_pktmbuf_free(buffer);
    return;
  }
  const Place from = departure->back ? opposite(place) : place;
  if (!link_of(opposite(from)).neighbor_mac) {
    counters.drop(Drop::no_neighbor);
    rte_pktmbuf_free(buffer);
    return;
  }
  // Translation moves the start of the frame in its buffer.
  buffer->data_off = static_cast<std::uint16_t>(buffer->data_off + (departure->frame.data - data));
  buffer->data_len = static_cast<std::uint16_t>(departure->frame.length);
  buffer->pkt_len = buffer->data_len;
  address(from, departure->frame.data);
  rte_mempool* const buffers = buffer->pool;
  depart(from, buffer, *departure);
  if (!departure->second.empty()) depart_second(from, buffers, *departure);
}

/// Puts the Ethernet addresses of the other side's link into a frame.
void Forwarder::address(Place from, std::uint8_t* frame) const {
  const LinkState& link = link_of(opposite(from));
  std::ranges::copy(*link.neighbor_mac, frame);
  std::ranges::copy(link.port->mac(), frame + kMacBytes);
}

/// Lets the second one of two fragments leave, at the same time as the first one.
void Forwarder::depart_second(Place from, rte_mempool* buffers, const Departure& first) {
  rte_mbuf* buffer = rte_pktmbuf_alloc(buffers);
  if (buffer == nullptr) {
    gateway_->counters(from.side).drop(Drop::port_full);
    return;
  }
  rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(first.second.size()));
  auto* frame = rte_pktmbuf_mtod(buffer, std::uint8_t*);
  std::ranges::copy(first.second, frame);
  address(from, frame);
  enqueue(from, buffer, {.frame = {}, .second = {}, .copies = first.copies, .behind = 0, .due = first.due});
}

/// Handles ARP and neighbour messages, which are never forwarded. Returns whether the frame was one.
bool Forwarder::serve_neighbor(Place place, const rte_mbuf* buffer) {
  if (!is_neighbor_message(buffer)) return false;
  LinkState& link = link_of(place);
  const std::span<const std::uint8_t> frame{rte_pktmbuf_mtod(buffer, const std::uint8_t*), buffer->data_len};
  const auto message = parse_neighbor_message(frame);
  if (!message || gateway_->deaf(link.looked_at)) return true;
  link.neighbor_mac = message->sender_mac;
  neighbors_.answer(*link.port, 0, frame);
  return true;
}

void Forwarder::ask_neighbors(std::uint64_t now) {
  ask_at_ = now + clock_.ticks(kAskInterval_s);
  for (const LinkNeighbor& own : neighbors_.links()) {
    const LinkState& link = link_of(own.place());
    if (link.neighbor_mac || own.gateway.value == 0 || gateway_->deaf(now)) continue;
    static_cast<void>(link.port->send(0, make_neighbor_request(own.address, link.port->mac(), own.gateway)));
  }
}

void Forwarder::depart(Place from, rte_mbuf* buffer, const Departure& departure) {
  LinkState& link = link_of(from);
  if (departure.behind > 0 && !link.held) {
    link.held = Held{buffer, departure, link.looked_at + clock_.ticks(kLongestHold_s)};
    return;
  }
  enqueue(from, buffer, departure);
  if (link.held) let_pass(from);
}

/// Notes that one more frame has overtaken the held frame, which leaves after the last one.
void Forwarder::let_pass(Place from) {
  auto& held = link_of(from).held;
  if (--held->departure.behind > 0) return;
  enqueue(from, held->buffer, held->departure);
  held.reset();
}

void Forwarder::enqueue(Place from, rte_mbuf* buffer, const Departure& departure) {
  LinkState& link = link_of(from);
  const bool delays = !of(gateway_->settings().truth.faults, from.side).delay.empty();
  rte_mbuf_refcnt_update(buffer, static_cast<std::int16_t>(departure.copies - 1));
  for (unsigned copy = 0; copy < departure.copies; ++copy) {
    if (!delays) {
      link.leaving.push_back(buffer);
    } else if (link.delayed < kMostDelayed) {
      line_.put(departure.due, {buffer, from});
      ++link.delayed;
    } else {
      gateway_->counters(from.side).drop(Drop::delay_line_full);
      rte_pktmbuf_free(buffer);
    }
  }
}

void Forwarder::release(std::uint64_t now) {
  while (!line_.empty() && line_.due() <= now) {
    exactness_.lateness.record(now - line_.due());
    const Delayed delayed = line_.take();
    LinkState& link = link_of(delayed.from);
    --link.delayed;
    link.leaving.push_back(delayed.buffer);
  }
  for_each_link([this](Place place, LinkState&) { flush(place); });
}

void Forwarder::flush(Place from) {
  LinkState& link = link_of(from);
  if (link.leaving.empty()) return;
  const Port& port = *link_of(opposite(from)).port;
  const std::span<rte_mbuf*> frames(link.leaving);
  port.tag(frames);
  std::size_t sent = 0;
  const std::uint64_t deadline = now_ticks() + clock_.ticks(kPatience_s);
  do {
    sent += port.transmit(0, frames.subspan(sent));
  } while (sent < frames.size() && now_ticks() < deadline && port.link_up());
  Counters& counters = gateway_->counters(from.side);
  counters.sent += sent;
  for (rte_mbuf* frame : frames.subspan(sent)) {
    counters.drop(Drop::port_full);
    rte_pktmbuf_free(frame);
  }
  link.leaving.clear();
}

void Forwarder::discard_delayed() {
  while (!line_.empty()) rte_pktmbuf_free(line_.take().buffer);
  for_each_link([](Place, LinkState& link) {
    link.delayed = 0;
    if (link.held) rte_pktmbuf_free(link.held->buffer);
    link.held.reset();
  });
}

}  // namespace natxy::reference
