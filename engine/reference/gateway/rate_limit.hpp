// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/gateway/token_bucket.hpp"

namespace natxy::reference {

enum class Passage : std::uint8_t { passes, over_rate, recovering };

/// Limits the rate of forwarded frames. After an overload, which ends when the bucket is full again, nothing is
/// forwarded for `recovery_ticks`.
class RateLimit {
 public:
  RateLimit(TokenBucket bucket, std::uint64_t recovery_ticks) : bucket_{bucket}, recovery_{recovery_ticks} {}

  Passage take(std::uint64_t now, std::uint64_t price) {
    if (overloaded_ && bucket_.full_at() <= now) {
      overloaded_ = false;
      recovered_at_ = bucket_.full_at() + recovery_;
    }
    if (now < recovered_at_) return Passage::recovering;
    if (bucket_.take(now, price)) return Passage::passes;
    overloaded_ = recovery_ > 0;
    return Passage::over_rate;
  }

 private:
  TokenBucket bucket_;
  std::uint64_t recovery_;
  std::uint64_t recovered_at_ = 0;
  bool overloaded_ = false;
};

}  // namespace natxy::reference
