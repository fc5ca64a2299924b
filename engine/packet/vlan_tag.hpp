// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "packet/bytes.hpp"
#include "packet/headers.hpp"

namespace natxy {

inline constexpr std::size_t kVlanTagBytes = 4;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint16_t kEtherTypeServiceVlan = 0x88A8;

/// Identifies a VLAN (IEEE 802.1Q), maybe within the VLAN of a service provider (802.1ad, QinQ). Ids are 1 to 4094.
struct Vlan {
  std::uint16_t id;
  std::optional<std::uint16_t> service;

  bool operator==(const Vlan&) const = default;
};

/// Tags the frames of one VLAN, and recognises them (IEEE 802.1Q §9). Everything else handles frames without their
/// tags.
class VlanTag {
 public:
  /// Frames have priority 0.
  explicit VlanTag(const Vlan& vlan) : vlan_{vlan} {}

  /// Returns the number of bytes that the tags of a frame take.
  [[nodiscard]] std::size_t bytes() const { return vlan_.service ? 2 * kVlanTagBytes : kVlanTagBytes; }

  /// Inserts the tags into a frame, before which `bytes()` bytes must be free: the addresses move there.
  void insert(std::uint8_t* frame) const {
    std::uint8_t* tagged = frame - bytes();
    std::memmove(tagged, frame, kAddressBytes);
    std::uint8_t* tag = tagged + kAddressBytes;
    if (vlan_.service) {
      store(tag, kEtherTypeServiceVlan, *vlan_.service);
      tag += kVlanTagBytes;
    }
    store(tag, kEtherTypeVlan, vlan_.id);
  }

  /// Returns whether an untrusted frame has these tags, of any priority. The outer of two may have the type of the
  /// inner, because kernels take an outer tag off and drivers put it back as they know it.
  [[nodiscard]] bool is_on(std::span<const std::uint8_t> frame) const {
    if (frame.size() < kEthernetBytes + bytes()) return false;
    const std::uint8_t* tag = frame.data() + kAddressBytes;
    if (vlan_.service) {
      const std::uint16_t type = load_be16(tag);
      if ((type != kEtherTypeServiceVlan && type != kEtherTypeVlan) || id_of(tag) != *vlan_.service) return false;
      tag += kVlanTagBytes;
    }
    return load_be16(tag) == kEtherTypeVlan && id_of(tag) == vlan_.id;
  }

  /// Removes the tags from a frame that has them, which then begins `bytes()` later.
  void remove(std::uint8_t* frame) const { std::memmove(frame + bytes(), frame, kAddressBytes); }

 private:
  static constexpr std::size_t kAddressBytes = 2 * sizeof(MacAddress);
  static constexpr std::uint16_t kIdMask = 0x0FFF;

  static void store(std::uint8_t* tag, std::uint16_t type, std::uint16_t id) {
    store_be16(tag, type);
    store_be16(tag + 2, id);
  }
  static std::uint16_t id_of(const std::uint8_t* tag) { return load_be16(tag + 2) & kIdMask; }

  Vlan vlan_;
};

}  // namespace natxy
