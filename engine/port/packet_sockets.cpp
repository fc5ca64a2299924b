// SPDX-License-Identifier: Apache-2.0
#include "port/packet_sockets.hpp"

#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace natxy {

namespace {

int domain_of(int socket) {
  int domain = -1;
  socklen_t length = sizeof domain;
  return getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 ? domain : -1;
}

xdp_statistics xdp_statistics_of(int socket) {
  xdp_statistics statistics{};
  socklen_t length = sizeof statistics;
  getsockopt(socket, SOL_XDP, XDP_STATISTICS, &statistics, &length);
  return statistics;
}

}  // namespace

std::set<int> PacketSockets::all() {
  std::set<int> sockets;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const int descriptor = std::stoi(entry.path().filename().string());
    const int domain = domain_of(descriptor);
    if (domain == AF_XDP || domain == AF_PACKET) sockets.insert(descriptor);
  }
  return sockets;
}

PacketSockets::PacketSockets(const std::set<int>& before) {
  for (const int socket : all()) {
    if (!before.contains(socket)) sockets_.push_back(socket);
  }
}

void PacketSockets::close_left() {
  for (const int socket : sockets_) {
    if (domain_of(socket) == AF_XDP) close(socket);
  }
  sockets_.clear();
}

std::uint64_t PacketSockets::dropped() const {
  std::uint64_t ring_full = 0;
  for (const int socket : sockets_) {
    if (domain_of(socket) == AF_XDP) {
      // DPDK already reports rx_dropped as missed.
      ring_full += xdp_statistics_of(socket).rx_ring_full;
    } else {
      tpacket_stats statistics{};
      socklen_t length = sizeof statistics;
      if (getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0) {
        packet_drops_ += statistics.tp_drops;
      }
    }
  }
  return ring_full + packet_drops_;
}

std::uint64_t PacketSockets::rejected() const {
  std::uint64_t invalid = 0;
  for (const int socket : sockets_) {
    if (domain_of(socket) == AF_XDP) invalid += xdp_statistics_of(socket).tx_invalid_descs;
  }
  return invalid;
}

}  // namespace natxy
