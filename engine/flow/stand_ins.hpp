// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace natxy {

/// Names another connection for each one that does not exist, so that traffic uses those that do. They are few.
class StandIns {
 public:
  StandIns() = default;

  /// Finds the missing ones among `count` connections by asking `exists(number)`. The stand-in is the next lower
  /// connection that exists, or else the next higher one. If none exists, there are no stand-ins.
  template <class Exists>
  StandIns(std::uint64_t count, const Exists& exists) {
    std::optional<std::uint64_t> last;
    for (std::uint64_t number = 0; number < count; ++number) {
      if (exists(number)) {
        // Those before the first that exists wait for it.
        if (!last) std::ranges::fill(instead_, number);
        last = number;
      } else {
        missing_.push_back(number);
        instead_.push_back(last.value_or(number));
      }
    }
    if (!last) *this = {};
  }

  [[nodiscard]] bool empty() const { return missing_.empty(); }

  /// Replaces the numbers of connections that do not exist.
  void replace(std::span<std::uint64_t> numbers) const {
    for (std::uint64_t& number : numbers) {
      const auto found = std::ranges::lower_bound(missing_, number);
      if (found != missing_.end() && *found == number)
        number = instead_[static_cast<std::size_t>(found - missing_.begin())];
    }
  }

 private:
  std::vector<std::uint64_t> missing_;  // in order
  std::vector<std::uint64_t> instead_;
};

}  // namespace natxy
