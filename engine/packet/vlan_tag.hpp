// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"

namespace natxy {

inline constexpr std::size_t kVlanTagBytes = 4;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;

/// Tags the frames of one VLAN, and recognises them (IEEE 802.1Q §9). Everything else handles frames without their tag.
class VlanTag {
 public:
  /// `id` is that of a VLAN, 1 to 4094. Frames have priority 0.
  explicit VlanTag(std::uint16_t id) : id_{id} {}

  [[nodiscard]] std::uint16_t id() const { return id_; }

  /// Inserts the tag into a frame, before which `kVlanTagBytes` bytes must be free: the addresses move there.
  void insert(std::uint8_t* frame) const {
    std::uint8_t* tagged = frame - kVlanTagBytes;
    std::memmove(tagged, frame, kAddressBytes);
    store_be16(tagged + kAddressBytes, kEtherTypeVlan);
    store_be16(tagged + kAddressBytes + 2, id_);
  }

  /// Returns whether an untrusted frame has this tag, of any priority.
  [[nodiscard]] bool is_on(std::span<const std::uint8_t> frame) const {
    return frame.size() >= kEthernetBytes + kVlanTagBytes &&
           load_be16(frame.data() + kAddressBytes) == kEtherTypeVlan &&
           (load_be16(frame.data() + kAddressBytes + 2) & kIdMask) == id_;
  }

  /// Removes the tag from a frame that has one, which then begins `kVlanTagBytes` later.
  static void remove(std::uint8_t* frame) { std::memmove(frame + kVlanTagBytes, frame, kAddressBytes); }

 private:
  static constexpr std::size_t kAddressBytes = 2 * sizeof(MacAddress);
  static constexpr std::uint16_t kIdMask = 0x0FFF;

  std::uint16_t id_;
};

}  // namespace natxy
