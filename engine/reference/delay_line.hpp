// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace natxy::reference {

/// Holds items until they are due. Items due at the same time leave in the order of their arrival. It allocates all
/// memory at construction.
template <class T>
class DelayLine {
 public:
  explicit DelayLine(std::size_t capacity) : capacity_{capacity} { heap_.reserve(capacity); }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] bool full() const { return heap_.size() == capacity_; }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

  /// Adds an item. The line must not be full.
  void put(std::uint64_t due, const T& value) {
    heap_.push_back({due, arrivals_++, value});
    std::ranges::push_heap(heap_, later);
  }

  /// Returns the tick at which the next item is due. The line must not be empty.
  [[nodiscard]] std::uint64_t due() const { return heap_.front().due; }
  /// Removes and returns the next item. The line must not be empty.
  T take() {
    std::ranges::pop_heap(heap_, later);
    const T value = heap_.back().value;
    heap_.pop_back();
    return value;
  }

 private:
  struct Item {
    std::uint64_t due;
    std::uint64_t arrival;
    T value;
  };
  static bool later(const Item& one, const Item& other) {
    return one.due != other.due ? one.due > other.due : one.arrival > other.arrival;
  }

  std::size_t capacity_;
  std::uint64_t arrivals_ = 0;
  std::vector<Item> heap_;
};

}  // namespace natxy::reference
