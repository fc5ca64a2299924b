// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "packet/address.hpp"
#include "packet/burst.hpp"
#include "packet/bytes.hpp"
#include "packet/classifier.hpp"
#include "packet/headers.hpp"
#include "packet/test_frame/transpose.hpp"
#include "state/state_entry.hpp"

namespace natxy {

/// Implements the responder's state table (RFC 9693 §4.2). Entry i is connection i, so that the table knows for each
/// connection whether it was established.
///
/// Connections seldom differ in the prefixes, here all but the last 32 bits, of both IPv6 addresses. The first one to
/// be recorded decides which prefixes connections share. Those of a connection that has others are in a second array,
/// which otherwise is never touched.
///
/// The kernel provides the memory page by page as entries are written, so that creating a table of any size costs
/// nothing. Several cores may call `record` at once for different connections. Call `at` and `prefetch` only after
/// recording has ended.
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

  /// Stores `tuple` as connection `index`, which is below `size()`. Most connections are recorded in order, so it
  /// prefetches the entry that is a burst ahead.
  void record(std::uint64_t index, const Tuple<F>& tuple) {
    StateEntry& entry = entries_[index];
    prefetch_ahead(entry);
    std::uint32_t mark = epoch_;
    if constexpr (kHasPrefixes) {
      if (!share(prefixes_of(tuple))) [[unlikely]] {
        own_prefixes_[index] = prefixes_of(tuple);
        some_have_own_.store(true, kRelaxed);
        ++mark;
      }
    }
    entry = {static_cast<std::uint32_t>(tuple.source), static_cast<std::uint32_t>(tuple.destination), tuple.source_port,
             tuple.destination_port, mark};
  }

  /// Stores the tuple of `datagram_of(i)` as connection `indexes[i]` for each i. All are below `size()`. The datagrams
  /// are of family F, without options and extension headers.
  template <class DatagramOf>
  void record_plain(std::span<const std::uint64_t> indexes, const DatagramOf& datagram_of) {
    if (!kFourWordsFitRegister || (kHasPrefixes && sharing_.load(std::memory_order_acquire) != Sharing::decided)) {
      record_one_by_one(indexes, datagram_of);
      return;
    }
    StateEntry* const entries = entries_;
    const EntryWords mark = {0, 0, 0, epoch_};
    const FourWords shared = on_wire(shared_prefixes_);
    FourWords differences{};
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      const std::uint8_t* tuple = datagram_of(i).ip + kTupleAt;
      if constexpr (kHasPrefixes) differences |= (load_raw<FourWords>(tuple) ^ shared) & kPrefixesOnWire;
      StateEntry& entry = entries[indexes[i]];
      prefetch_ahead(entry);
      store_raw(reinterpret_cast<std::uint8_t*>(&entry), entry_of<F>(tuple, mark));
    }
    if ((differences[0] | differences[1] | differences[2] | differences[3]) != 0)
      record_one_by_one(indexes, datagram_of);
  }

  [[nodiscard]] bool is_established(std::uint64_t index) const { return entries_[index].mark / 2 == epoch_ / 2; }
  [[nodiscard]] Tuple<F> at(std::uint64_t index) const {
    const StateEntry& entry = entries_[index];
    Tuple<F> tuple{entry.source, entry.destination, entry.source_port, entry.destination_port};
    if constexpr (kHasPrefixes) {
      const Prefixes& prefixes = entry.mark % 2 != 0 ? own_prefixes_[index] : shared_prefixes_;
      tuple.source |= prefixes.source;
      tuple.destination |= prefixes.destination;
    }
    return tuple;
  }

  /// Sets `tuples` to those of connections `indexes`, at most kBurst, with source and destination swapped. By turns
  /// with reading them it prefetches as many connections `ahead`: the table is far larger than any cache, and a core
  /// that asks for those of a whole burst at once has to wait.
  void read_swapped(std::span<const std::uint64_t> indexes, std::span<const std::uint64_t> ahead,
                    TupleLanes<F>& tuples) const {
    std::size_t i = 0;
    EntryWords marks{};
    for (; kFourWordsFitRegister && i + 4 <= indexes.size(); i += 4) {
      std::array<EntryWords, 4> entries;
      for (std::size_t j = 0; j < 4; ++j) {
        entries[j] = load_raw<EntryWords>(reinterpret_cast<const std::uint8_t*>(&entries_[indexes[i + j]]));
      }
      const auto [sources, destinations, ports, marks_of_four] = columns_of(entries);
      marks |= marks_of_four;
      set_four(tuples.source, i, destinations, shared_prefixes_.destination);
      set_four(tuples.destination, i, sources, shared_prefixes_.source);
      set_four(tuples.source_port, i, ports >> 16);
      set_four(tuples.destination_port, i, ports & 0xFFFF);
      for (std::size_t j = i; j < i + 4; ++j) prefetch(ahead[j]);
    }
    for (; i < indexes.size(); ++i) {
      tuples.set(i, at(indexes[i]).swapped());
      prefetch(ahead[i]);
    }
    if (!kHasPrefixes || ((marks[0] | marks[1] | marks[2] | marks[3]) & 1) == 0) return;
    for (i = 0; i < indexes.size(); ++i) tuples.set(i, at(indexes[i]).swapped());
  }

  /// Prefetches an entry into the second-level cache, which can wait for more lines at once than the first.
  void prefetch(std::uint64_t index) const {
    __builtin_prefetch(&entries_[index], 0, kSecondLevel);
    if (kHasPrefixes && some_have_own_.load(kRelaxed)) __builtin_prefetch(&own_prefixes_[index], 0, kSecondLevel);
  }

 private:
  static constexpr bool kHasPrefixes = F == Family::ipv6;

  /// Holds both addresses without their last 32 bits.
  struct Prefixes {
    Address<F> source;
    Address<F> destination;
  };

  /// Tells whether connections share prefixes yet. While one core decides it, what others record has its own.
  enum class Sharing : std::uint8_t { undecided, being_decided, decided };

  // As the compiler's built-in function calls them.
  static constexpr int kForWriting = 1;
  static constexpr int kSecondLevel = 2;

  // The bytes of a connection in both arrays, which are one piece of memory.
  static constexpr std::uint64_t kBytes = sizeof(StateEntry) + (kHasPrefixes ? sizeof(Prefixes) : 0);

  static constexpr auto kRelaxed = std::memory_order_relaxed;

  static Prefixes prefixes_of(const Tuple<F>& tuple) {
    constexpr Address<F> kLast = 0xFFFF'FFFF;
    return {tuple.source & ~kLast, tuple.destination & ~kLast};
  }

  /// Returns whether connections share these prefixes, which they do from now on if it is undecided.
  bool share(Prefixes prefixes) {
    if (sharing_.load(std::memory_order_acquire) != Sharing::decided) [[unlikely]] {
      Sharing expected = Sharing::undecided;
      if (!sharing_.compare_exchange_strong(expected, Sharing::being_decided)) return false;
      shared_prefixes_ = prefixes;
      sharing_.store(Sharing::decided, std::memory_order_release);
    }
    // Compared as numbers: compilers would compare the structures in memory, and wait for the stores to it.
    return ((shared_prefixes_.source ^ prefixes.source) | (shared_prefixes_.destination ^ prefixes.destination)) == 0;
  }

  static void prefetch_ahead(const StateEntry& entry) {
    // Computed as a number, because a pointer beyond the end of the table would be undefined.
    const auto ahead = reinterpret_cast<std::uintptr_t>(&entry) + kBurst * sizeof(StateEntry);
    __builtin_prefetch(reinterpret_cast<const void*>(ahead), kForWriting);
  }

  template <class DatagramOf>
  void record_one_by_one(std::span<const std::uint64_t> indexes, const DatagramOf& datagram_of) {
    for (std::size_t i = 0; i < indexes.size(); ++i) record(indexes[i], datagram_of(i).template tuple<F>());
  }

  // Where the addresses begin in an IP header; without options and extension headers, the ports follow them.
  static constexpr std::size_t kTupleAt = ip_bytes(F) - 2 * sizeof(Address<F>);

  static void set_four(AddressLanes<Family::ipv4>& lanes, std::size_t i, EntryWords last, std::uint32_t /*prefix*/) {
    std::memcpy(&lanes.values[i], &last, sizeof last);
  }
  static void set_four(AddressLanes<Family::ipv6>& lanes, std::size_t i, EntryWords last, uint128 prefix) {
    const FourWords low = __builtin_convertvector(last, FourWords) | static_cast<std::uint64_t>(prefix);
    const FourWords high = FourWords{} + static_cast<std::uint64_t>(prefix >> 64);
    std::memcpy(&lanes.low[i], &low, sizeof low);
    std::memcpy(&lanes.high[i], &high, sizeof high);
  }
  static void set_four(Lanes<std::uint16_t>& lanes, std::size_t i, EntryWords ports) {
    using FourPorts = std::uint16_t __attribute__((vector_size(8)));
    const FourPorts narrow = __builtin_convertvector(ports, FourPorts);
    std::memcpy(&lanes[i], &narrow, sizeof narrow);
  }

  static constexpr FourWords kPrefixesOnWire = {~std::uint64_t{0}, 0xFFFF'FFFF, ~std::uint64_t{0}, 0xFFFF'FFFF};

  static FourWords on_wire(const Prefixes& prefixes) {
    FourWords words{};
    if constexpr (kHasPrefixes) {
      words[0] = __builtin_bswap64(static_cast<std::uint64_t>(prefixes.source >> 64));
      words[1] = __builtin_bswap64(static_cast<std::uint64_t>(prefixes.source));
      words[2] = __builtin_bswap64(static_cast<std::uint64_t>(prefixes.destination >> 64));
      words[3] = __builtin_bswap64(static_cast<std::uint64_t>(prefixes.destination));
    }
    return words;
  }

  void release();

  StateEntry* entries_ = nullptr;
  Prefixes* own_prefixes_ = nullptr;
  Prefixes shared_prefixes_{};
  std::atomic<Sharing> sharing_ = Sharing::undecided;
  std::atomic<bool> some_have_own_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint32_t epoch_ = 0;  // even; entries of other epochs count as empty, so that `reset` need not clear them
};

extern template class StateTable<Family::ipv4>;
extern template class StateTable<Family::ipv6>;

}  // namespace natxy
