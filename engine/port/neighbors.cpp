// SPDX-License-Identifier: Apache-2.0
#include "port/neighbors.hpp"

#include <algorithm>

namespace natxy {

std::optional<MacAddress> Neighbors::gateway_mac(Place place, Family family) const {
  for (const auto& link : links_) {
    if (link.place() == place && link.gateway.family == family) return link.gateway_mac;
  }
  return std::nullopt;
}

std::optional<NeighborFrame> Neighbors::answer_to(const Port& port, std::span<const std::uint8_t> frame) const {
  const auto message = parse_neighbor_message(frame);
  if (!message || !message->is_request) return std::nullopt;
  const bool simulated = std::ranges::any_of(links_, [&](const LinkNeighbor& link) {
    if (link.place() != port.options().place() || message->target == link.gateway) return false;
    if (message->target == link.address) return true;
    // A gateway that is not known by its address may have one of a prefix. It asks for its own to announce it, or to
    // find out whether it is free (RFC 5227 §2.1, RFC 4862 §5.4), and an answer would take the address from it.
    if (message->sender.value == 0 || message->sender == message->target) return false;
    return std::ranges::any_of(link.answers, [&](const Prefix& prefix) { return prefix.contains(message->target); });
  });
  if (!simulated) return std::nullopt;
  return make_neighbor_answer(*message, port.mac());
}

void Neighbors::answer(const Port& port, std::uint16_t queue, std::span<const std::uint8_t> frame) const {
  if (const auto found = answer_to(port, frame)) port.send(queue, *found);
}

void Neighbors::serve(const Port& port, std::span<const std::uint8_t> frame) {
  answer(port, 0, frame);
  const auto message = parse_neighbor_message(frame);
  if (!message || message->is_request) return;
  for (auto& link : links_) {
    if (link.place() != port.options().place() || message->target != link.gateway || link.is_given) continue;
    link.gateway_mac = message->sender_mac;
  }
}

void Neighbors::ask(const Port& port) {
  for (auto& link : links_) {
    if (link.place() != port.options().place() || (link.gateway_mac && link.asked)) continue;
    if (port.send(0, make_neighbor_request(link.address, port.mac(), link.gateway))) link.asked = true;
  }
}

bool Neighbors::resolved() const {
  return std::ranges::all_of(links_,
                             [](const LinkNeighbor& link) { return link.gateway_mac.has_value() && link.asked; });
}

}  // namespace natxy
