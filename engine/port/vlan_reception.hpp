// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "measure/own_lines.hpp"
#include "packet/vlan_tag.hpp"

namespace natxy {

/// Receives on a device of one or two ports, each of which has a VLAN there. A frame for the port that does not ask
/// waits until that one does. Both ports must ask for the frames of a queue on the same worker.
class VlanReception {
 public:
  VlanReception(std::uint16_t device, unsigned queues);
  VlanReception(const VlanReception&) = delete;
  VlanReception& operator=(const VlanReception&) = delete;
  ~VlanReception() { discard(); }

  /// Adds a port, of at most two, and returns its number.
  std::size_t add(const VlanTag& tag);

  /// Receives frames of a port, without their tags. Returns how many.
  std::size_t receive(std::size_t port, std::uint16_t queue, std::span<rte_mbuf*> frames);

  /// Returns the number of received frames that had none of the ports' tags. Call it while no worker receives.
  [[nodiscard]] std::uint64_t others() const;

  /// Frees the frames that wait.
  void discard();

 private:
  static constexpr std::size_t kMostPorts = 2;
  static constexpr std::size_t kMostWaiting = 256;

  struct alignas(kCacheLine) Queue {
    std::array<OwnLines<rte_mbuf*>, kMostPorts> waiting;  // by port
    std::uint64_t others = 0;
  };

  /// Returns the number of the port that a frame belongs to, after its tag was removed; kMostPorts for none.
  [[nodiscard]] std::size_t owner_of(rte_mbuf* frame) const;

  std::uint16_t device_;
  std::vector<VlanTag> tags_;
  std::vector<Queue> queues_;
};

}  // namespace natxy
