// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "form/signature.hpp"
#include "form/subscriber_rule.hpp"
#include "packet/vectors.hpp"

namespace natxy {

/// Compares the IPv6 addresses of subscribers in four mapped frames at once, but for their first 16 bits, with those
/// that a rule without a table computes. Frames are read in words, so that the rest of an address is in two: bits 16 to
/// 79, and bits 80 to 127.
///
/// Its numbers are vectors: a processor copies a number to the words of a vector no faster than it adds vectors.
class FourSubscribers {
 public:
  /// Returns nothing for rules with which addresses cannot be compared in this way: if the first 16 bits differ, if an
  /// identifier has more than an address and a PSID, or if addresses are turned over.
  static std::optional<FourSubscribers> of(const SubscriberRule& rule) {
    const std::uint64_t address_bits = rule.identifier ? std::uint64_t{0xFFFF'FFFF} << 16 : 0;
    if ((rule.high & kMask48) + rule.most_bits() > kMask48) return std::nullopt;
    if ((rule.low & address_bits) != 0 || rule.address_xor != 0) return std::nullopt;
    if ((rule.psid_mask << rule.psid_drop) > kMostPort) return std::nullopt;
    FourSubscribers four;
    four.middle_ += rule.high << 16 | rule.low >> 48;
    four.rest_ += rule.low & kMask48;
    four.rest_bits_ += ~address_bits;
    four.address_mask_ += rule.address_mask;
    four.psid_drop_ += rule.psid_drop;
    four.psid_mask_ += rule.psid_mask;
    four.psid_xor_ += rule.psid_xor;
    // Without bits, a shift may be too long for a word.
    if (rule.address_mask != 0) four.address_shift_ += rule.address_shift + 16;
    if (rule.psid_mask != 0) four.psid_shift_ += rule.psid_shift + 16;
    if (rule.identifier) four.psid_in_rest_ += rule.psid_mask;
    four.some_ports_ = (rule.ports.lowest | rule.ports.mask) != 0;
    four.lowest_port_ += rule.ports.lowest;
    four.port_mask_ += rule.ports.mask;
    four.port_value_ += rule.ports.value;
    return four;
  }

  /// Returns no bits for a frame whose subscriber has its address and its port. `middle` has bits 16 to 79 of the
  /// address, and `last` all others but for its last 16 bits. The last 16 bits of `port` are the port.
  [[nodiscard]] FourWords differences(const FourWords& middle, const FourWords& last, const FourWords& port) const {
    const FourWords psid = ((port >> psid_drop_) & psid_mask_) ^ psid_xor_;
    const FourWords due = middle_ + ((last >> 32 & address_mask_) << address_shift_) + (psid << psid_shift_);
    const FourWords rest = (last >> 16 & rest_bits_) - (psid & psid_in_rest_);
    FourWords differences = (middle ^ due) | (rest ^ rest_);
    if (some_ports_) {
      const FourWords number = port & kMostPort;
      differences |= ((number & port_mask_) ^ port_value_) | (number - lowest_port_) >> 63;
    }
    return differences;
  }

 private:
  static constexpr std::uint64_t kMostPort = 0xFFFF;

  FourWords middle_{};
  FourWords rest_{};       // of bits 80 to 127 without the IPv4 address
  FourWords rest_bits_{};  // all bits but those of the IPv4 address, if it is there
  FourWords address_mask_{};
  FourWords address_shift_{};
  FourWords psid_drop_{};
  FourWords psid_mask_{};
  FourWords psid_xor_{};
  FourWords psid_shift_{};
  FourWords psid_in_rest_{};
  FourWords lowest_port_{};
  FourWords port_mask_{};
  FourWords port_value_{};
  bool some_ports_ = false;  // but not all
};

}  // namespace natxy
