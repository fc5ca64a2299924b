// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "pace/clock.hpp"
#include "packet/address.hpp"
#include "reference/gateway/settings.hpp"

namespace natxy::reference {

/// Holds successive addresses of subscribers.
struct AddressSpan {
  uint128 first = 0;
  uint128 last = 0;
};

/// Knows which subscribers of a core have no binding (RFC 7596 §6.1), by their IPv4 addresses. All have one at first.
/// All times are in ticks.
class Bindings {
 public:
  Bindings(const BindingTruth& truth, const Clock& clock)
      : delay_{clock.ticks(truth.delay_s)}, outage_{clock.ticks(truth.outage_s)} {}

  /// Makes `without` the addresses that have no binding. The change is asked for at `now`, and in force after the
  /// truth's delay.
  void change(std::vector<AddressSpan> without, std::uint64_t now) {
    if (now >= since_) before_ = std::move(without_);
    without_ = std::move(without);
    since_ = now + delay_;
    silent_until_ = now + outage_;
  }

  /// Returns whether the address of a subscriber has a binding for a frame that arrives at this time.
  [[nodiscard]] bool has(uint128 address, std::uint64_t arrival) const {
    return std::ranges::none_of(arrival < since_ ? before_ : without_,
                                [&](const AddressSpan& span) { return span.first <= address && address <= span.last; });
  }

  /// Returns whether a change keeps all frames from passing at this time.
  [[nodiscard]] bool silent(std::uint64_t arrival) const { return arrival < silent_until_; }

 private:
  std::uint64_t delay_;
  std::uint64_t outage_;
  std::vector<AddressSpan> before_;   // without a binding until `since_`
  std::vector<AddressSpan> without_;  // and from then on
  std::uint64_t since_ = 0;
  std::uint64_t silent_until_ = 0;
};

}  // namespace natxy::reference
