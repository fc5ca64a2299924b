// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

/// "Who has `target`? Tell `sender` at `sender_mac`."
std::vector<std::uint8_t> make_neighbor_request(const AnyAddress& sender, const MacAddress& sender_mac,
                                                const AnyAddress& target);

/// "`request.target` is at `mac`", to the one who asked.
std::vector<std::uint8_t> make_neighbor_answer(const NeighborMessage& request, const MacAddress& mac);

}  // namespace natxy
