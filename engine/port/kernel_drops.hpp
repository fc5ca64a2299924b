// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace natxy {

/// Counts frames that the kernel dropped at a port's own sockets because the tester did not fetch them in time. DPDK's
/// AF_XDP and AF_PACKET drivers do not report them.
class KernelDrops {
 public:
  KernelDrops() = default;
  /// Watches the packet sockets that are open now and are not in `before`.
  explicit KernelDrops(const std::set<int>& before);

  /// Returns the file descriptors of all AF_XDP and AF_PACKET sockets of this process.
  static std::set<int> open_sockets();

  /// Returns the number of frames dropped since the sockets were opened.
  [[nodiscard]] std::uint64_t count() const;
  /// Returns the number of frames that the kernel refused to send as invalid since the sockets were opened.
  [[nodiscard]] std::uint64_t rejected() const;

 private:
  std::vector<int> sockets_;
  mutable std::uint64_t packet_drops_ = 0;  // a sum, because reading AF_PACKET's counter resets it
};

}  // namespace natxy
