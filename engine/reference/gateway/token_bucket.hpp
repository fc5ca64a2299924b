// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "packet/address.hpp"

namespace natxy::reference {

/// What one token is in the units of a price.
inline constexpr std::uint64_t kToken = 1U << 16;

/// A bucket of `depth` tokens that is full at first and fills at `rate` tokens a second, exact over any time: it keeps
/// the moment when it will be full again, in 2^-32 ticks, instead of a count of tokens.
class TokenBucket {
 public:
  TokenBucket(double rate, std::uint64_t depth, std::uint64_t ticks_per_second)
      : token_q32_{static_cast<uint128>(static_cast<long double>(ticks_per_second) / rate * 4294967296.0L)},
        depth_q32_{token_q32_ * depth} {}

  /// Takes `price` / kToken tokens if there are so many. `now` must not go back.
  bool take(std::uint64_t now, std::uint64_t price = kToken) {
    const uint128 now_q32 = uint128{now} << 32;
    const uint128 full_q32 = (full_q32_ > now_q32 ? full_q32_ : now_q32) + token_q32_ * price / kToken;
    if (full_q32 - now_q32 > depth_q32_) return false;
    full_q32_ = full_q32;
    return true;
  }

  /// The tick at which it is, or was, full again.
  [[nodiscard]] std::uint64_t full_at() const { return static_cast<std::uint64_t>((full_q32_ + 0xFFFFFFFF) >> 32); }

 private:
  uint128 token_q32_;
  uint128 depth_q32_;
  uint128 full_q32_ = 0;
};

}  // namespace natxy::reference
