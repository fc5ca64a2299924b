// SPDX-License-Identifier: Apache-2.0
#include "port/vlan_reception.hpp"

#include <rte_ethdev.h>

#include <algorithm>

namespace natxy {

VlanReception::VlanReception(std::uint16_t device, unsigned queues) : device_{device}, queues_(queues) {
  for (Queue& queue : queues_) {
    for (auto& waiting : queue.waiting) waiting.reserve(kMostWaiting);
  }
}

std::size_t VlanReception::add(const VlanTag& tag) {
  tags_.push_back(tag);
  return tags_.size() - 1;
}

std::size_t VlanReception::receive(std::size_t port, std::uint16_t queue, std::span<rte_mbuf*> frames) {
  Queue& own = queues_[queue];
  if (auto& waiting = own.waiting.at(port); !waiting.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(std::min(waiting.size(), frames.size()));
    std::copy_n(waiting.begin(), first, frames.begin());
    waiting.erase(waiting.begin(), waiting.begin() + first);
    return static_cast<std::size_t>(first);
  }
  const std::size_t waiting = own.waiting.at(1 - port).size();
  const std::size_t room = std::min(frames.size(), kMostWaiting - waiting);
  const std::size_t received = rte_eth_rx_burst(device_, queue, frames.data(), static_cast<std::uint16_t>(room));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < received; ++i) {
    rte_mbuf* frame = frames[i];
    const std::size_t owner = owner_of(frame);
    if (owner == port) {
      frames[kept++] = frame;
    } else if (owner < kMostPorts) {
      own.waiting.at(owner).push_back(frame);
    } else {
      ++own.others;
      rte_pktmbuf_free(frame);
    }
  }
  return kept;
}

std::size_t VlanReception::owner_of(rte_mbuf* frame) const {
  auto* bytes = rte_pktmbuf_mtod(frame, std::uint8_t*);
  for (std::size_t port = 0; port < tags_.size(); ++port) {
    if (!tags_[port].is_on({bytes, frame->data_len})) continue;
    tags_[port].remove(bytes);
    rte_pktmbuf_adj(frame, static_cast<std::uint16_t>(tags_[port].bytes()));
    return port;
  }
  return kMostPorts;
}

std::uint64_t VlanReception::others() const {
  std::uint64_t sum = 0;
  for (const Queue& queue : queues_) sum += queue.others;
  return sum;
}

void VlanReception::discard() {
  for (Queue& queue : queues_) {
    for (auto& waiting : queue.waiting) {
      for (rte_mbuf* frame : waiting) rte_pktmbuf_free(frame);
      waiting.clear();
    }
  }
}

}  // namespace natxy
