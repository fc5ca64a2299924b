// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "flow/mix.hpp"
#include "pace/clock.hpp"
#include "reference/gateway/settings.hpp"

// Sequences that select the frames with a fault. They depend only on the settings and the seed.
namespace natxy::reference {

/// Selects every nth frame, or none if n is 0.
class EveryNth {
 public:
  explicit EveryNth(std::uint64_t n) : n_{n} {}
  bool next() {
    if (n_ == 0 || ++count_ < n_) return false;
    count_ = 0;
    return true;
  }

 private:
  std::uint64_t n_;
  std::uint64_t count_ = 0;
};

/// Selects the last k of every n frames.
class LastOfEvery {
 public:
  explicit LastOfEvery(const LossPattern& pattern) : pattern_{pattern} {}
  bool next() {
    if (pattern_.every == 0) return false;
    const bool last = index_ >= pattern_.every - pattern_.frames;
    if (++index_ == pattern_.every) index_ = 0;
    return last;
  }

 private:
  LossPattern pattern_;
  std::uint64_t index_ = 0;
};

/// Selects each frame with a given probability, independently of the others.
class WithRatio {
 public:
  WithRatio(double ratio, std::uint64_t seed)
      : bound_{static_cast<std::uint64_t>(static_cast<long double>(ratio) * 9223372036854775808.0L)}, seed_{seed} {}
  bool next() { return bound_ > 0 && random_word(seed_, index_++) >> 1 < bound_; }

 private:
  std::uint64_t bound_;  // the ratio times 2^63
  std::uint64_t seed_;
  std::uint64_t index_ = 0;
};

/// Generates delays in ticks. Any number of consecutive frames has nearly the exact shares, because multiples of the
/// golden ratio modulo 1 are spread evenly over intervals.
class Delays {
 public:
  Delays(const std::vector<DelayItem>& items, std::uint64_t seed, const Clock& clock) : seed_{seed} {
    long double upper = 0;
    for (const DelayItem& item : items) {
      upper += item.share;
      const std::uint64_t bound =
          upper >= 0.999999999999L ? ~std::uint64_t{0} : static_cast<std::uint64_t>(upper * 18446744073709551616.0L);
      const std::uint64_t least = ticks(item.min_ns, clock);
      items_.push_back({bound, least, ticks(item.max_ns, clock) - least + 1});
    }
  }

  std::uint64_t next() {
    if (items_.empty()) return 0;
    const std::uint64_t word = random_word(seed_, index_);
    const std::uint64_t position = mix(seed_) + ++index_ * 0x9E3779B97F4A7C15;
    for (const Item& item : items_) {
      if (position <= item.bound) return item.least + scale(word, item.values);
    }
    return items_.back().least;
  }

 private:
  struct Item {
    std::uint64_t bound;  // highest position of the item, of 2^64 positions
    std::uint64_t least;
    std::uint64_t values;
  };

  static std::uint64_t ticks(std::uint64_t ns, const Clock& clock) {
    return static_cast<std::uint64_t>(uint128{ns} * clock.hz() / 1'000'000'000);
  }

  std::vector<Item> items_;
  std::uint64_t seed_;
  std::uint64_t index_ = 0;
};

/// Draws the outages: after each one, the time to the next is exponentially distributed.
class Outages {
 public:
  Outages(const OutageTruth& truth, std::uint64_t seed, const Clock& clock)
      : every_{static_cast<double>(truth.every_ns) * 1e-9 * static_cast<double>(clock.hz())},
        duration_{static_cast<std::uint64_t>(uint128{truth.duration_ns} * clock.hz() / 1'000'000'000)},
        seed_{seed} {}

  /// Returns whether an outage covers the tick `now`, which may be earlier than that of the last call, because both
  /// sides' frames of one poll are spread over the time since the poll before, but not earlier than the last outage.
  bool covers(std::uint64_t now) {
    if (every_ == 0) return false;
    if (begin_ == 0) begin_ = last_begin_ = now + interval();
    while (now >= begin_ + duration_) {
      last_begin_ = begin_;
      begin_ += duration_ + interval();
    }
    return now >= begin_ || (now >= last_begin_ && now < last_begin_ + duration_);
  }

 private:
  std::uint64_t interval() {
    // From (0, 1], so that the logarithm is finite.
    const double uniform = (static_cast<double>(random_word(seed_, index_++) >> 11) + 1) * 0x1p-53;
    return static_cast<std::uint64_t>(-every_ * std::log(uniform));
  }

  double every_;  // ticks; 0: no outages
  std::uint64_t duration_;
  std::uint64_t seed_;
  std::uint64_t index_ = 0;
  std::uint64_t begin_ = 0;  // of the next outage, or of the present one
  std::uint64_t last_begin_ = 0;
};

}  // namespace natxy::reference
