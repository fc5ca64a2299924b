// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "packet/address.hpp"
#include "packet/burst.hpp"

namespace natxy {

/// Holds the four-tuple of one connection as the responder received it. Packed: 16 bytes for IPv4, 40 for IPv6.
template <Family F>
struct [[gnu::packed]] StateEntry {
  Address<F> source;
  Address<F> destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint32_t epoch;
};

/// Implements the responder's state table (RFC 9693 §4.2). Entry i is connection i, so that the table knows for each
/// connection whether it was established.
///
/// The kernel provides the memory page by page as entries are written, so that creating a table of any size costs
/// nothing. Several cores may call `record` at once for different connections. Call `at` only after recording has
/// ended.
template <Family F>
class StateTable {
 public:
  StateTable() = default;
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;
  ~StateTable() { release(); }

  /// Forgets all connections and makes room for `size`. Throws std::bad_alloc.
  void reset(std::uint64_t size);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Stores `tuple` as connection `index`, which is below `size()`. Returns true if the connection was not established
  /// before. Most connections are recorded in order, so it prefetches the entry that is a burst ahead.
  bool record(std::uint64_t index, const Tuple<F>& tuple) {
    StateEntry<F>& entry = entries_[index];
    // Computed as a number, because a pointer beyond the end of the table would be undefined.
    const auto ahead = reinterpret_cast<std::uintptr_t>(&entry) + kBurst * sizeof(StateEntry<F>);
    __builtin_prefetch(reinterpret_cast<const void*>(ahead), kForWriting);
    const bool fresh = entry.epoch != epoch_;
    entry = {tuple.source, tuple.destination, tuple.source_port, tuple.destination_port, epoch_};
    return fresh;
  }

  [[nodiscard]] bool is_established(std::uint64_t index) const { return entries_[index].epoch == epoch_; }
  [[nodiscard]] Tuple<F> at(std::uint64_t index) const {
    const StateEntry<F>& entry = entries_[index];
    return {entry.source, entry.destination, entry.source_port, entry.destination_port};
  }
  /// Prefetches an entry into the second-level cache, which can wait for more lines at once than the first. An IPv6
  /// entry may span two lines.
  void prefetch(std::uint64_t index) const {
    __builtin_prefetch(&entries_[index], 0, kSecondLevel);
    if constexpr (F == Family::ipv6) __builtin_prefetch(&entries_[index].epoch, 0, kSecondLevel);
  }

 private:
  // As the compiler's built-in function calls them.
  static constexpr int kForWriting = 1;
  static constexpr int kSecondLevel = 2;

  void release();

  StateEntry<F>* entries_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint32_t epoch_ = 0;  // entries of other epochs count as empty, so that `reset` need not clear them
};

extern template class StateTable<Family::ipv4>;
extern template class StateTable<Family::ipv6>;

}  // namespace natxy
