// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "packet/address.hpp"

namespace natxy::reference {

/// The price of one token; prices are fixed-point numbers.
inline constexpr std::uint64_t kToken = 1U << 16;

/// Implements a bucket of `depth` tokens that is full at first and fills at `rate` tokens a second. It is exact for any
/// length of time, because it stores the time at which it will be full again, in units of 2^-32 ticks, instead of a
/// number of tokens.
class TokenBucket {
 public:
  TokenBucket(double rate, std::uint64_t depth, std::uint64_t ticks_per_second)
      : token_q32_{static_cast<uint128>(static_cast<long double>(ticks_per_second) / rate * 4294967296.0L)},
        depth_q32_{token_q32_ * depth} {}

  /// Takes `price` / kToken tokens and returns true if there are enough. `now` must never decrease.
  bool take(std::uint64_t now, std::uint64_t price = kToken) {
    const uint128 now_q32 = uint128{now} << 32;
    const uint128 full_q32 = (full_q32_ > now_q32 ? full_q32_ : now_q32) + token_q32_ * price / kToken;
    if (full_q32 - now_q32 > depth_q32_) return false;
    full_q32_ = full_q32;
    return true;
  }

  /// Returns the tick at which the bucket is, or was, full again.
  [[nodiscard]] std::uint64_t full_at() const { return static_cast<std::uint64_t>((full_q32_ + 0xFFFFFFFF) >> 32); }

 private:
  uint128 token_q32_;
  uint128 depth_q32_;
  uint128 full_q32_ = 0;
};

}  // namespace natxy::reference
