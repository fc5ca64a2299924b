// SPDX-License-Identifier: Apache-2.0
#include "state/state_table.hpp"

#include <sys/mman.h>

#include <limits>
#include <new>

namespace natxy {

namespace {

constexpr std::uint32_t kLastEpoch = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

template <Family F>
void StateTable<F>::reset(std::uint64_t size, const Tuple<F>& varying) {
  if (size > capacity_ || epoch_ == kLastEpoch) {
    release();
    if (size > std::numeric_limits<std::uint64_t>::max() / kBytes) throw std::bad_alloc{};
    void* memory =
        mmap(nullptr, size * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    madvise(memory, size * kBytes, MADV_HUGEPAGE);
    own_rests_ = static_cast<Rest*>(memory);
    entries_ = reinterpret_cast<StateEntry*>(static_cast<char*>(memory) + size * kOwnBytes);
    capacity_ = size;
    epoch_ = 0;
  }
  size_ = size;
  epoch_ += 2;
  form_ = EntryForm<F>::for_varying(varying);
  sharing_ = Sharing::undecided;
  some_have_own_ = false;
}

template <Family F>
void StateTable<F>::release() {
  if (entries_ != nullptr) munmap(own_rests_, capacity_ * kBytes);
  entries_ = nullptr;
  capacity_ = 0;
  size_ = 0;
}

template class StateTable<Family::ipv4>;
template class StateTable<Family::ipv6>;

}  // namespace natxy
