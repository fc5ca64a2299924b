// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "form/layout.hpp"
#include "form/softwire.hpp"
#include "packet/address.hpp"
#include "port/port.hpp"
#include "reference/gateway/port_ranges.hpp"

// The settings of the reference gateway. In a field called `…_every`, 0 means never.
namespace natxy::reference {

enum class Mode : std::uint8_t { forward, nat44, nat66, nat64, nat46, siit, clat };

constexpr bool is_stateless(Mode mode) { return mode == Mode::siit || mode == Mode::clat; }
constexpr bool keeps_connections(Mode mode) { return mode != Mode::forward && !is_stateless(mode); }
constexpr Family left_family(Mode mode) {
  return mode == Mode::nat44 || mode == Mode::nat46 || mode == Mode::clat ? Family::ipv4 : Family::ipv6;
}
constexpr Family right_family(Mode mode) {
  return mode == Mode::nat66 || mode == Mode::nat46 || mode == Mode::clat ? Family::ipv6 : Family::ipv4;
}

/// Selects the port of a connection: the host's own port if it is free, or a random one.
enum class PortChoice : std::uint8_t { preserve, random };

/// Maps IPv6 addresses to IPv4 addresses one to one (RFC 7757).
struct AddressMapping {
  Prefix ipv4;
  Prefix ipv6;
};

struct Translation {
  Prefix pool;
  PortRanges ports = PortRanges::between(1024, 65535);
  bool gives_port_set = false;  // every free port of `ports` is found
  PortChoice port_choice = PortChoice::preserve;
  std::optional<Prefix> prefix;
  std::vector<AddressMapping> mappings;
};

/// Selects the handling of new connections by a full table.
enum class WhenFull : std::uint8_t { keep, lru, early_drop, collapse };

struct TableTruth {
  std::uint32_t capacity = 0;
  WhenFull when_full = WhenFull::keep;
  std::optional<double> max_connection_rate_cps;
  std::uint64_t connection_burst = 64;
  std::uint64_t without_state_every = 0;
  double flow_cost = 0;
  std::optional<double> lifetime_s;         // of an idle connection
  std::optional<double> closed_lifetime_s;  // of a TCP connection that both sides have closed, or one has reset
  bool forgets_on_fin = false;              // at the first FIN of any side
  std::optional<double> tear_down_rate_cps;
  double clear_s = 0;
};

struct RateTruth {
  std::optional<double> max_rate_fps;
  std::uint64_t buffer_frames = 64;
  bool aggregate = false;
  double recovery_s = 0;
};

struct DelayItem {
  double share = 1;
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
};

/// Describes loss of the last `frames` of each `every` frames.
struct LossPattern {
  std::uint64_t every = 0;
  std::uint64_t frames = 1;
};

struct Faults {
  LossPattern loss;
  double loss_ratio = 0;
  std::vector<DelayItem> delay;
  bool keep_order = false;
  std::uint64_t duplicate_every = 0;
  std::uint64_t reorder_every = 0;
  std::uint64_t reorder_by = 1;
  std::uint64_t corrupt_checksum_every = 0;
  std::uint64_t wrong_port_every = 0;
  std::uint64_t zero_checksum_every = 0;
};

/// Holds a value for each direction, indexed by the side from which frames come.
template <class T>
using BySide = std::array<T, 2>;
template <class T>
T& of(BySide<T>& both, Side side) {
  return both[static_cast<std::size_t>(side)];
}
template <class T>
const T& of(const BySide<T>& both, Side side) {
  return both[static_cast<std::size_t>(side)];
}

/// Describes times without forwarding, of one length, in which frames are lost.
struct OutageTruth {
  std::uint64_t every_ns = 0;  // mean time from the end of one to the next
  std::uint64_t duration_ns = 0;
};

/// Describes what goes wrong with segments of TCP alone.
struct TcpFaults {
  std::uint64_t drop_syn_ack_every = 0;
  std::uint64_t reset_every = 0;           // of the SYNs from the left, which are answered by an RST
  std::uint64_t shift_sequence_every = 0;  // whose sequence number is off by one
};

/// Describes how a core carries out a change of its subscribers' bindings.
struct BindingTruth {
  double delay_s = 0;   // after which it is in force
  double outage_s = 0;  // in which no frame passes
};

struct Truth {
  std::uint64_t seed = 0;
  RateTruth rate;
  OutageTruth outages;
  BindingTruth bindings;
  TcpFaults tcp;
  BySide<Faults> faults;
};

struct Link {
  Place place;
  std::vector<AnyAddress> addresses;
  std::vector<AnyAddress> neighbors;
};

/// Describes the end of softwires that the gateway is, and the faults of the frames that it sends there.
struct SoftwireSettings {
  Outer sends = Outer::from_edge;
  Softwire softwire;
  // The binding table of the subscribers in `softwire`, if a table lists them.
  std::shared_ptr<const std::vector<AddressHalves>> table;
  std::uint64_t wrong_subscriber_every = 0;  // a neighbour's end: of the next PSID, address, or bit
  std::uint64_t option_every = 0;            // a header of destination options between outer and inner header
  std::uint64_t leak_every = 0;              // the IPv4 packet without an outer header
  std::uint64_t interface_source_every = 0;  // the link's own address as the outer source
  LossPattern stale_binding;                 // the last ones of each so many: the end that a subscriber had before
  std::uint64_t hop_limit_every = 0;         // an outer hop limit of 1
  std::uint64_t inner_fragments_every = 0;   // two fragments of the IPv4 packet, each in a packet of its own
  std::uint64_t outer_fragments_every = 0;   // two fragments of the IPv6 packet
  bool accepts_any_subscriber = false;       // takes out packets whose subscriber's end is not that of the inner ones
};

/// Describes the end of MAP-T that the gateway is (RFC 7599), and the faults of the frames that it sends there.
struct MapSettings {
  Outer sends = Outer::from_edge;
  SubscriberRule subscribers;
  Prefix ipv4;    // of the subscribers
  Prefix prefix;  // of the hosts that are no subscribers
  std::uint64_t wrong_subscriber_every = 0;
  LossPattern stale_binding;
  std::uint64_t leak_every = 0;  // the IPv4 packet as it is
  bool accepts_any_subscriber = false;
};

struct Settings {
  Mode mode = Mode::forward;
  std::vector<Link> links;
  Translation translation;  // for all modes except `forward`
  TableTruth table;         // for modes that keep connections
  std::optional<SoftwireSettings> softwire;
  std::optional<MapSettings> map;
  Truth truth;
};

}  // namespace natxy::reference
