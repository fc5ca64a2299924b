// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace natxy {

/// Frames that the kernel dropped at a port's own sockets because the tester did not fetch them in time. DPDK's AF_XDP
/// and AF_PACKET drivers keep quiet about them.
class KernelDrops {
 public:
  KernelDrops() = default;
  /// Watches the packet sockets opened since `before` was taken.
  explicit KernelDrops(const std::set<int>& before);

  /// File descriptors of all AF_XDP and AF_PACKET sockets of this process.
  static std::set<int> open_sockets();

  /// Frames dropped since the sockets were opened.
  [[nodiscard]] std::uint64_t count() const;
  /// Frames to be sent that the kernel found invalid, since the sockets were opened.
  [[nodiscard]] std::uint64_t rejected() const;

 private:
  std::vector<int> sockets_;
  mutable std::uint64_t packet_drops_ = 0;  // AF_PACKET's counter starts anew with every reading
};

}  // namespace natxy
