// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/address.hpp"
#include "packet/headers.hpp"

// Parses and builds ARP (RFC 826) and Neighbor Discovery (RFC 4861) messages. Frames are without FCS.
namespace natxy {

/// Holds a request for the MAC address of `target`, or the answer to one, of either protocol.
struct NeighborMessage {
  bool is_request = false;
  AnyAddress sender;  // zero in duplicate address detection
  MacAddress sender_mac{};
  AnyAddress target;  // in an answer: the address that `sender_mac` belongs to
};

/// Parses an untrusted frame. Returns nothing if it is not an ARP or neighbour message, or is malformed.
std::optional<NeighborMessage> parse_neighbor_message(std::span<const std::uint8_t> frame);

/// Holds the frame of an ARP or neighbour message. It does not allocate, because workers build answers during a trial.
class NeighborFrame {
 public:
  explicit NeighborFrame(std::size_t size = 0) : size_{size} {}

  [[nodiscard]] std::uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint8_t& operator[](std::size_t index) { return bytes_.at(index); }
  operator std::span<const std::uint8_t>() const { return {bytes_.data(), size_}; }

 private:
  std::array<std::uint8_t, 86> bytes_{};
  std::size_t size_;
};

/// Builds the request of `sender`, at `sender_mac`, for the MAC address of `target`.
NeighborFrame make_neighbor_request(const AnyAddress& sender, const MacAddress& sender_mac, const AnyAddress& target);

/// Builds the answer to `request`: `request.target` is at `mac`.
NeighborFrame make_neighbor_answer(const NeighborMessage& request, const MacAddress& mac);

}  // namespace natxy
