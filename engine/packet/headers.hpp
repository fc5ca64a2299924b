// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "packet/address.hpp"

// Header sizes and protocol numbers.
namespace natxy {

using MacAddress = std::array<std::uint8_t, 6>;

std::optional<MacAddress> parse_mac(std::string_view text);
std::string format_mac(const MacAddress& mac);

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kFcsBytes = 4;
inline constexpr std::size_t kIpv4Bytes = 20;
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kTcpBytes = 20;       // without options
inline constexpr std::size_t kMinFrameBytes = 64;  // FCS included (IEEE 802.3)

constexpr std::size_t ip_bytes(Family family) { return family == Family::ipv4 ? kIpv4Bytes : kIpv6Bytes; }

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
inline constexpr std::uint16_t kEtherTypeLldp = 0x88CC;

inline constexpr std::uint16_t kIpv4FragmentMask = 0x3FFF;  // more fragments, and the offset
inline constexpr std::uint16_t kIpv4DontFragment = 0x4000;

inline constexpr std::size_t kHopLimitAt = 7;      // in the header of IPv6
inline constexpr std::uint8_t kSpentHopLimit = 1;  // the highest with which no router forwards a packet

// The header of an extension of IPv6 counts the units of 8 bytes behind the first.
inline constexpr std::size_t kExtensionUnitBytes = 8;

inline constexpr std::uint8_t kProtocolHopByHop = 0;
inline constexpr std::uint8_t kProtocolIcmp = 1;
inline constexpr std::uint8_t kProtocolIgmp = 2;
inline constexpr std::uint8_t kProtocolIpv4 = 4;  // in another packet
inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kProtocolRouting = 43;
inline constexpr std::uint8_t kProtocolFragment = 44;
inline constexpr std::uint8_t kProtocolIcmpv6 = 58;
inline constexpr std::uint8_t kProtocolDestinationOptions = 60;

}  // namespace natxy
