// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace natxy {

/// The bytes that cores exchange at once. What one core writes shares none of them with what another core uses.
inline constexpr std::size_t kCacheLine = 64;

/// Allocates whole cache lines.
template <class T>
struct LineAllocator {
  static_assert(alignof(T) <= kCacheLine);
  using value_type = T;

  LineAllocator() = default;
  template <class Other>
  explicit LineAllocator(const LineAllocator<Other>& /*other*/) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return static_cast<T*>(::operator new (bytes, std::align_val_t{kCacheLine}));
  }
  void deallocate(T* values, std::size_t /*count*/) {
    ::operator delete (static_cast<void*>(values), std::align_val_t{kCacheLine});
  }

  template <class Other>
  bool operator==(const LineAllocator<Other>& /*other*/) const {
    return true;
  }
};

/// Holds what one worker writes while others run.
template <class T>
using OwnLines = std::vector<T, LineAllocator<T>>;

}  // namespace natxy
