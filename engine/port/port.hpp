// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"
#include "packet/vectors.hpp"
#include "packet/vlan_tag.hpp"
#include "port/packet_sockets.hpp"
#include "port/vlan_reception.hpp"

namespace natxy {

enum class Side : std::uint8_t { left, right };
constexpr Side opposite(Side side) { return side == Side::left ? Side::right : Side::left; }

/// Lists the kinds of ports. The kind decides whether the tester or the DUT is at fault if a port refuses frames.
enum class Medium : std::uint8_t { veth, memif, nic, loop };

/// The tester has at most so many pairs of ports, a left and a right one each; a trial's streams fit one byte.
constexpr unsigned kMostPairs = 16;

/// Names one of the testbed's ports by its pair, from 0 on, and by its side.
struct Place {
  Side side = Side::left;
  unsigned pair = 0;

  bool operator==(const Place&) const = default;
};
constexpr Place opposite(Place place) { return {opposite(place.side), place.pair}; }

struct PortOptions {
  Side side = Side::left;
  unsigned pair = 0;
  std::string device;  // a DPDK device with its arguments, or a PCI address
  Medium medium = Medium::veth;
  std::optional<MacAddress> mac;
  std::optional<Vlan> vlan;  // the only one whose frames the port sends and receives, with its tags
  unsigned queues = 1;
  std::optional<std::uint16_t> mtu;
  // Which of the engine's workers send and receive, by their numbers from 0 on; none: the engine spreads its ports over
  // its workers.
  std::vector<std::size_t> senders;
  std::vector<std::size_t> receivers;

  [[nodiscard]] Place place() const { return {side, pair}; }
};

class PortError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Counts the frames that the tester itself lost on reception since the port was opened.
struct ReceiveDrops {
  std::uint64_t missed = 0;
  std::uint64_t no_buffer = 0;
  std::uint64_t kernel = 0;
};

/// Returns received buffers to their pools. Nearly all of them have one pool, one owner and one segment, and can be
/// returned unchanged, by one call.
class BufferReturn {
 public:
  explicit BufferReturn(const rte_mbuf& first)
      : pool_{first.pool}, first_counts_and_flags_{counts_and_flags(first)}, first_pool_{pool(first)} {}

  /// Looks at one of the buffers, the first one included. Two comparisons of 16 bytes, while a buffer is being read
  /// anyway, take less time than those of its fields.
  void look_at(const rte_mbuf& buffer) {
    counts_and_flags_ |= counts_and_flags(buffer) ^ first_counts_and_flags_;
    pools_ |= pool(buffer) ^ first_pool_;
  }

  /// Returns the buffers, after it has looked at each.
  void give_back(std::span<rte_mbuf*> buffers) const {
    const auto count = static_cast<unsigned>(buffers.size());
    if (are_unchanged()) {
      rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(buffers.data()), count);
    } else {
      rte_pktmbuf_free_bulk(buffers.data(), count);
    }
  }

 private:
  // The first word has the numbers of owners and segments, the second one the flags.
  static TwoWords counts_and_flags(const rte_mbuf& buffer) { return words_at<offsetof(rte_mbuf, rearm_data)>(buffer); }
  static_assert(offsetof(rte_mbuf, ol_flags) == offsetof(rte_mbuf, rearm_data) + 8);
  // The second word has the pool.
  static TwoWords pool(const rte_mbuf& buffer) { return words_at<offsetof(rte_mbuf, pool) - 8>(buffer); }
  template <std::size_t kOffset>
  static TwoWords words_at(const rte_mbuf& buffer) {
    return load_raw<TwoWords>(reinterpret_cast<const std::uint8_t*>(&buffer) + kOffset);
  }

  [[nodiscard]] bool are_unchanged() const {
    constexpr std::uint64_t kCounts = 0x0000'FFFF'FFFF'0000;
    constexpr std::uint64_t kOneOfEach = 0x0000'0001'0001'0000;
    static_assert(offsetof(rte_mbuf, refcnt) == offsetof(rte_mbuf, rearm_data) + 2);
    static_assert(offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, rearm_data) + 4);
    const std::uint64_t flags = first_counts_and_flags_[1] | counts_and_flags_[1];
    return pools_[1] == 0 && (flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0 &&
           (first_counts_and_flags_[0] & kCounts) == kOneOfEach && (counts_and_flags_[0] & kCounts) == 0;
  }

  rte_mempool* pool_;
  TwoWords first_counts_and_flags_;
  TwoWords first_pool_;
  TwoWords counts_and_flags_{};  // bits in which buffers differ from the first
  TwoWords pools_{};             // likewise
};

/// Owns an open Ethernet port and its buffers. The destructor closes and removes the port. A port with a VLAN tags what
/// it sends and removes the tag of what it receives, so that its users handle frames without it.
class Port {
 public:
  /// Opens, configures and starts the port. Throws PortError.
  explicit Port(const PortOptions& options);
  /// Makes a port with another VLAN on the device of `carrier`, which has one too and outlives it.
  Port(const PortOptions& options, const Port& carrier);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] const PortOptions& options() const { return options_; }
  [[nodiscard]] const MacAddress& mac() const { return mac_; }
  [[nodiscard]] const std::string& driver() const { return driver_; }
  /// Returns the MTU, or 0 if the device has none.
  [[nodiscard]] std::uint16_t mtu() const;
  /// Returns whether the port is on the device of another one, which counts what the device drops.
  [[nodiscard]] bool is_carried() const { return carried_; }
  /// Returns the length of the longest frame that the port supports, in bytes without FCS and tag.
  [[nodiscard]] std::size_t longest_frame() const;
  [[nodiscard]] bool link_up() const;
  [[nodiscard]] ReceiveDrops drops() const;
  /// Returns the number of frames that the kernel accepted and then refused to send since the port was opened.
  [[nodiscard]] std::uint64_t rejected() const { return sockets_.rejected(); }
  /// Returns the number of frames that arrived without the tag of a port on the device. Call it while no worker
  /// receives.
  [[nodiscard]] std::uint64_t of_other_vlans() const { return vlans_ && !carried_ ? vlans_->others() : 0; }

  /// Allocates buffers for sending frames of `length` bytes, all of `buffers` or none. Returns whether it succeeded.
  [[nodiscard]] bool allocate(std::span<rte_mbuf*> buffers, std::uint16_t length) const {
    const auto count = static_cast<unsigned>(buffers.size());
    if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(buffers.data()), count) != 0) return false;
    // A buffer from the pool has one segment and one owner. The other fields that drivers read are adjacent, so one
    // store sets them all. A store for each would take as long as writing the frame.
    rte_mbuf fresh;
    fresh.data_off = RTE_PKTMBUF_HEADROOM;
    rte_mbuf_refcnt_set(&fresh, 1);
    fresh.nb_segs = 1;
    fresh.port = RTE_MBUF_PORT_INVALID;
    fresh.ol_flags = 0;
    fresh.packet_type = 0;
    fresh.pkt_len = length;
    fresh.data_len = length;
    fresh.vlan_tci = 0;
    fresh.hash.rss = 0;
    for (rte_mbuf* buffer : buffers) std::memcpy(&buffer->rearm_data, &fresh.rearm_data, kSideBySide);
    return true;
  }
  /// Returns where the frame begins in an allocated buffer that has no tag yet. It is computed, because to read it from
  /// the buffer takes 5 % of the time of sending.
  static std::uint8_t* frame_of(rte_mbuf* buffer) {
    return reinterpret_cast<std::uint8_t*>(buffer + 1) + RTE_PKTMBUF_HEADROOM;
  }
  /// Inserts the VLAN's tags into frames that were written into allocated buffers, once; without a VLAN, does nothing.
  void tag(std::span<rte_mbuf* const> frames) const {
    if (!tag_) return;
    for (rte_mbuf* frame : frames) {
      tag_->insert(rte_pktmbuf_mtod(frame, std::uint8_t*));
      rte_pktmbuf_prepend(frame, static_cast<std::uint16_t>(tag_->bytes()));
    }
  }
  /// Sends frames, which have their tags. Returns how many of `frames`, from the first on, the port took; the caller
  /// keeps the others.
  [[nodiscard]] std::size_t transmit(std::uint16_t queue, std::span<rte_mbuf*> frames) const {
    return rte_eth_tx_burst(id_, queue, frames.data(), static_cast<std::uint16_t>(frames.size()));
  }
  [[nodiscard]] std::size_t receive(std::uint16_t queue, std::span<rte_mbuf*> frames) const {
    if (vlans_) return vlans_->receive(number_, queue, frames);
    return rte_eth_rx_burst(id_, queue, frames.data(), static_cast<std::uint16_t>(frames.size()));
  }
  /// Copies, tags and sends one frame. Returns false if the port did not take it.
  bool send(std::uint16_t queue, std::span<const std::uint8_t> frame) const;

 private:
  /// Returns DPDK's name of the bus that the device is on.
  [[nodiscard]] const char* bus() const { return is_pci_ ? "pci" : "vdev"; }
  /// Attaches the device to DPDK if it is not there yet, and configures and starts it.
  void start(const std::string& arguments);
  void configure();
  /// Detaches the device, and frees its sockets and buffers.
  void detach();

  static constexpr std::size_t kSideBySide = offsetof(rte_mbuf, hash) + 4 - offsetof(rte_mbuf, rearm_data);
  static_assert(kSideBySide == 32);

  PortOptions options_;
  std::string name_;
  bool is_pci_ = false;
  std::string interface_;
  std::uint16_t id_ = 0;
  rte_mempool* pool_ = nullptr;
  std::size_t buffer_bytes_ = 0;  // room for a frame in a buffer
  MacAddress mac_{};
  std::string driver_;
  PacketSockets sockets_;
  std::optional<VlanTag> tag_;
  std::shared_ptr<VlanReception> vlans_;  // of the device; null without VLANs
  std::size_t number_ = 0;                // of the port there
  bool carried_ = false;
};

}  // namespace natxy
