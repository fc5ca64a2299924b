// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace natxy {

/// Knows the AF_XDP and AF_PACKET sockets of a port. DPDK's drivers do not report the frames that the kernel drops
/// there because the tester did not fetch them in time.
class PacketSockets {
 public:
  PacketSockets() = default;
  /// Holds the sockets of this process that are open now and are not in `before`.
  explicit PacketSockets(const std::set<int>& before);

  /// Returns the file descriptors of all such sockets of this process.
  static std::set<int> all();

  /// Closes the AF_XDP sockets that DPDK left open when it detached their port: the driver of version 22.11.11
  /// miscounts the users of their memory. The kernel would keep the queues busy and the memory in place.
  void close_left();

  /// Returns the number of frames dropped since the sockets were opened.
  [[nodiscard]] std::uint64_t dropped() const;
  /// Returns the number of frames that the kernel refused to send as invalid since the sockets were opened.
  [[nodiscard]] std::uint64_t rejected() const;

 private:
  std::vector<int> sockets_;
  mutable std::uint64_t packet_drops_ = 0;  // a sum, because reading AF_PACKET's counter resets it
};

}  // namespace natxy
