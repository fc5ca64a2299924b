// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/address.hpp"
#include "packet/headers.hpp"

// ARP (RFC 826) and Neighbor Discovery (RFC 4861) messages as bytes; frames are without FCS.
namespace natxy {

/// A question "who has `target`?" or the answer to one, of either protocol.
struct NeighborMessage {
  bool is_request = false;
  AnyAddress sender;  // zero in a duplicate address detection
  MacAddress sender_mac{};
  AnyAddress target;  // of an answer: the address that `sender_mac` belongs to
};

/// Reads an ARP or neighbour message that anybody may have sent; nothing if it is none or is malformed.
std::optional<NeighborMessage> parse_neighbor_message(std::span<const std::uint8_t> frame);

/// A frame that holds any ARP or neighbour message; made without allocating, for it is made while traffic runs.
class NeighborFrame {
 public:
  explicit NeighborFrame(std::size_t size) : size_{size} {}

  [[nodiscard]] std::uint8_t* data() { return bytes_.data(); }
  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint8_t& operator[](std::size_t index) { return bytes_.at(index); }
  operator std::span<const std::uint8_t>() const { return {bytes_.data(), size_}; }

 private:
  std::array<std::uint8_t, 86> bytes_{};
  std::size_t size_;
};

/// "Who has `target`? Tell `sender` at `sender_mac`."
NeighborFrame make_neighbor_request(const AnyAddress& sender, const MacAddress& sender_mac, const AnyAddress& target);

/// "`request.target` is at `mac`", to the one who asked.
NeighborFrame make_neighbor_answer(const NeighborMessage& request, const MacAddress& mac);

}  // namespace natxy
