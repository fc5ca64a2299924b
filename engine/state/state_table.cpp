// SPDX-License-Identifier: Apache-2.0
#include "state/state_table.hpp"

#include <sys/mman.h>

#include <limits>
#include <new>

namespace natxy {

static_assert(sizeof(StateEntry<Family::ipv4>) == 16);
static_assert(sizeof(StateEntry<Family::ipv6>) == 40);

template <Family F>
void StateTable<F>::reset(std::uint64_t size) {
  if (size > capacity_ || epoch_ == std::numeric_limits<std::uint32_t>::max()) {
    release();
    const std::uint64_t bytes = size * sizeof(StateEntry<F>);
    if (size > std::numeric_limits<std::uint64_t>::max() / sizeof(StateEntry<F>)) throw std::bad_alloc{};
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    madvise(memory, bytes, MADV_HUGEPAGE);
    entries_ = static_cast<StateEntry<F>*>(memory);
    capacity_ = size;
    epoch_ = 0;
  }
  size_ = size;
  ++epoch_;
}

template <Family F>
void StateTable<F>::release() {
  if (entries_ != nullptr) munmap(entries_, capacity_ * sizeof(StateEntry<F>));
  entries_ = nullptr;
  capacity_ = 0;
  size_ = 0;
}

template class StateTable<Family::ipv4>;
template class StateTable<Family::ipv6>;

}  // namespace natxy
