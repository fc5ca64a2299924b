// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "form/classifier.hpp"
#include "packet/address.hpp"
#include "packet/burst.hpp"
#include "packet/headers.hpp"
#include "packet/vectors.hpp"
#include "state/entry_form.hpp"

namespace natxy {

/// Implements the responder's state table (RFC 9693 §4.2). Entry i is connection i, so that the table knows for each
/// connection whether it was established.
///
/// Entries hold four bytes of an IPv6 address. The first connection to be recorded decides which other bytes
/// connections share. Those of a connection that has others are in a second array, which otherwise is never touched.
///
/// The kernel provides the memory page by page as entries are written, so that creating a table of any size costs
/// nothing. Several cores may record different connections at once. Until recording has ended, only a core that records
/// alone may read.
template <Family F>
class StateTable {
 public:
  StateTable() = default;
  StateTable(const StateTable&) = delete;
  StateTable& operator=(const StateTable&) = delete;
  ~StateTable() { release(); }

  /// Forgets all connections and makes room for `size`. `varying` has the bits of the addresses in which they are
  /// expected to differ; others may differ, too, and take more time and memory. Throws std::bad_alloc.
  void reset(std::uint64_t size, const Tuple<F>& varying = {});

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Stores `tuple` as connection `index`, which is below `size()`. Most connections are recorded in order, so it
  /// prefetches the entry that is a burst ahead.
  void record(std::uint64_t index, const Tuple<F>& tuple) {
    StateEntry& entry = entries_[index];
    prefetch_ahead(entry);
    std::uint32_t mark = epoch_;
    if constexpr (kLeavesOut) {
      const Rest rest = form_.rest_of(tuple);
      if (!share(rest)) [[unlikely]] {
        own_rests_[index] = rest;
        // Other workers read this line.
        if (!some_have_own_.load(kRelaxed)) some_have_own_.store(true, kRelaxed);
        mark |= kOwn;
      }
    }
    entry = form_.entry_of(tuple, mark);
  }

  /// Stores the tuple of `datagram_of(i)` as connection `indexes[i]` for each i. All are below `size()`. The datagrams
  /// are of family F, without options and extension headers.
  template <class DatagramOf>
  void record_plain(std::span<const std::uint64_t> indexes, const DatagramOf& datagram_of) {
    FourWords differences{};
    const bool fast = kFourWordsFitRegister && (!kLeavesOut || sharing_.load(kAcquire) == Sharing::decided);
    if (fast) {
      // The compiler does not have to reload local copies after other stores.
      const EntryForm<F> form = form_;
      StateEntry* const entries = entries_;
      const std::uint32_t mark = epoch_;
      for (std::size_t i = 0; i < indexes.size(); ++i) {
        const std::uint8_t* wire = datagram_of(i).ip + ip_bytes(F) - 2 * sizeof(Address<F>);
        differences |= form.differences(wire);
        StateEntry& entry = entries[indexes[i]];
        prefetch_ahead(entry);
        form.write(wire, mark, entry);
      }
    }
    if (fast && (differences[0] | differences[1] | differences[2] | differences[3]) == 0) return;
    for (std::size_t i = 0; i < indexes.size(); ++i) record(indexes[i], datagram_of(i).template tuple<F>());
  }

  /// Stores the tuple `tuple_of(i)` as connection `indexes[i]` for each i. All are below `size()`.
  template <class TupleOf>
  void record_all(std::span<const std::uint64_t> indexes, const TupleOf& tuple_of) {
    if constexpr (kLeavesOut) {
      for (std::size_t i = 0; i < indexes.size(); ++i) record(indexes[i], tuple_of(i));
    } else {
      // The compiler does not have to reload local copies after other stores.
      StateEntry* const entries = entries_;
      const std::uint32_t mark = epoch_;
      for (std::size_t i = 0; i < indexes.size(); ++i) {
        StateEntry& entry = entries[indexes[i]];
        prefetch_ahead(entry);
        entry = EntryForm<F>::entry_of(tuple_of(i), mark);
      }
    }
  }

  [[nodiscard]] bool is_established(std::uint64_t index) const { return entries_[index].mark / 2 == epoch_ / 2; }
  [[nodiscard]] Tuple<F> at(std::uint64_t index) const {
    const StateEntry& entry = entries_[index];
    return form_.tuple_of(entry, kLeavesOut && (entry.mark & kOwn) != 0 ? own_rests_[index] : form_.shared());
  }

  /// Sets `tuples` to those of connections `indexes`, at most kBurst, with source and destination swapped. By turns
  /// with reading them it prefetches as many connections `ahead`: the table is far larger than any cache, and a core
  /// that asks for those of a whole burst at once has to wait.
  void read_swapped(std::span<const std::uint64_t> indexes, std::span<const std::uint64_t> ahead,
                    TupleLanes<F>& tuples) const {
    std::size_t i = 0;
    OfFour marks{};
    const EntryForm<F> form = form_;
    for (; kFourWordsFitRegister && i + 4 <= indexes.size(); i += 4) {
      const auto entry = [&](std::size_t j) { return &entries_[indexes[i + j]]; };
      const auto [sources, destinations, ports, marks_of_four] = columns_of({entry(0), entry(1), entry(2), entry(3)});
      marks |= marks_of_four;
      form.set_destinations(destinations, i, tuples.source);
      form.set_sources(sources, i, tuples.destination);
      set_ports(ports >> 16, i, tuples.source_port);
      set_ports(ports & 0xFFFF, i, tuples.destination_port);
      for (std::size_t j = i; j < i + 4; ++j) prefetch(ahead[j]);
    }
    for (; i < indexes.size(); ++i) {
      tuples.set(i, at(indexes[i]).swapped());
      prefetch(ahead[i]);
    }
    if (!kLeavesOut || ((marks[0] | marks[1] | marks[2] | marks[3]) & kOwn) == 0) return;
    for (i = 0; i < indexes.size(); ++i) tuples.set(i, at(indexes[i]).swapped());
  }

  /// Prefetches an entry into the second-level cache, which can wait for more lines at once than the first.
  void prefetch(std::uint64_t index) const {
    __builtin_prefetch(&entries_[index], 0, kSecondLevel);
    if (kLeavesOut && some_have_own_.load(kRelaxed)) __builtin_prefetch(&own_rests_[index], 0, kSecondLevel);
  }

 private:
  using Rest = typename EntryForm<F>::Rest;
  static constexpr bool kLeavesOut = EntryForm<F>::kLeavesOut;

  /// Tells whether connections share a rest yet. While one core decides it, what others record has its own.
  enum class Sharing : std::uint8_t { undecided, being_decided, decided };

  // In an entry's mark, beside the epoch: the connection has a rest of its own.
  static constexpr std::uint32_t kOwn = 1;

  // As the compiler's built-in function calls them.
  static constexpr int kForWriting = 1;
  static constexpr int kSecondLevel = 2;

  // The bytes of a connection in both arrays, which are one piece of memory.
  static constexpr std::uint64_t kOwnBytes = kLeavesOut ? sizeof(Rest) : 0;
  static constexpr std::uint64_t kBytes = sizeof(StateEntry) + kOwnBytes;

  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr auto kAcquire = std::memory_order_acquire;

  /// Returns whether connections share this rest, which they do from now on if it is undecided.
  bool share(const Rest& rest) {
    if (sharing_.load(kAcquire) != Sharing::decided) [[unlikely]] {
      Sharing expected = Sharing::undecided;
      if (!sharing_.compare_exchange_strong(expected, Sharing::being_decided)) return false;
      form_.share(rest);
      sharing_.store(Sharing::decided, std::memory_order_release);
    }
    return form_.shares(rest);
  }

  static void prefetch_ahead(const StateEntry& entry) {
    // Computed as a number, because a pointer beyond the end of the table would be undefined.
    const auto ahead = reinterpret_cast<std::uintptr_t>(&entry) + kBurst * sizeof(StateEntry);
    __builtin_prefetch(reinterpret_cast<const void*>(ahead), kForWriting);
  }

  static void set_ports(OfFour ports, std::size_t i, Lanes<std::uint16_t>& lanes) {
    using FourPorts = std::uint16_t __attribute__((vector_size(8)));
    const auto narrow = __builtin_convertvector(ports, FourPorts);
    std::memcpy(&lanes[i], &narrow, sizeof narrow);
  }

  void release();

  EntryForm<F> form_;
  StateEntry* entries_ = nullptr;
  Rest* own_rests_ = nullptr;
  std::atomic<Sharing> sharing_ = Sharing::undecided;
  std::atomic<bool> some_have_own_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint32_t epoch_ = 0;  // even; entries of other epochs count as empty, so that `reset` need not clear them
};

extern template class StateTable<Family::ipv4>;
extern template class StateTable<Family::ipv6>;

}  // namespace natxy
