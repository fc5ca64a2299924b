// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace natxy::reference {

/// Things that leave when they are due, those due together in the order in which they came. Takes its memory at once.
template <class T>
class DelayLine {
 public:
  explicit DelayLine(std::size_t capacity) : capacity_{capacity} { heap_.reserve(capacity); }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] bool full() const { return heap_.size() == capacity_; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  /// It must not be full.
  void put(std::uint64_t due, const T& thing) {
    heap_.push_back({due, came_++, thing});
    std::ranges::push_heap(heap_, later);
  }

  /// When the next one is due; it must not be empty.
  [[nodiscard]] std::uint64_t due() const { return heap_.front().due; }
  T take() {
    std::ranges::pop_heap(heap_, later);
    const T thing = heap_.back().thing;
    heap_.pop_back();
    return thing;
  }

 private:
  struct Item {
    std::uint64_t due;
    std::uint64_t came;
    T thing;
  };
  static bool later(const Item& one, const Item& other) {
    return one.due != other.due ? one.due > other.due : one.came > other.came;
  }

  std::size_t capacity_;
  std::uint64_t came_ = 0;
  std::vector<Item> heap_;
};

}  // namespace natxy::reference
