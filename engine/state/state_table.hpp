// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "packet/address.hpp"
#include "packet/burst.hpp"

namespace natxy {

/// Holds an address in an entry of the state table. Of an IPv6 address it holds all but the prefix, the first 32 bits,
/// in which connections seldom differ.
template <Family F>
struct EntryAddress;

template <>
struct EntryAddress<Family::ipv4> {
  static constexpr unsigned kPrefixBits = 0;
  std::uint32_t value;

  static EntryAddress of(std::uint32_t address) { return {address}; }
  static std::uint32_t prefix_of(std::uint32_t /*address*/) { return 0; }
  [[nodiscard]] std::uint32_t with_prefix(std::uint32_t /*prefix*/) const { return value; }
};

template <>
struct [[gnu::packed]] EntryAddress<Family::ipv6> {
  static constexpr unsigned kPrefixBits = 32;
  std::uint64_t low;
  std::uint32_t middle;

  static EntryAddress of(uint128 address) {
    return {static_cast<std::uint64_t>(address), static_cast<std::uint32_t>(address >> 64)};
  }
  static std::uint32_t prefix_of(uint128 address) { return static_cast<std::uint32_t>(address >> 96); }
  [[nodiscard]] uint128 with_prefix(std::uint32_t prefix) const {
    return uint128{std::uint64_t{prefix} << 32 | middle} << 64 | low;
  }
};

/// Holds the four-tuple of one connection as the responder received it. Packed: 16 bytes for IPv4, 32 for IPv6, so that
/// no entry lies on two cache lines.
template <Family F>
struct [[gnu::packed]] StateEntry {
  EntryAddress<F> source;
  EntryAddress<F> destination;
  std::uint16_t source_port;
  std::uint16_t destination_port;
  std::uint32_t mark;  // the epoch, plus 1 if the connection has prefixes of its own
};

/// Implements the responder's state table (RFC 9693 §4.2). Entry i is connection i, so that the table knows for each
/// connection whether it was established.
///
/// The first connection to be recorded decides which prefixes, the first 32 bits of both IPv6 addresses, entries share.
/// The prefixes of a connection that has others are in a second array, which otherwise is never touched.
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
    const bool fresh = !is_established(index);
    const bool own = kHasPrefixes && !share(prefixes_of(tuple));
    if (own) [[unlikely]]
      own_prefixes_[index] = prefixes_of(tuple);
    entry = {EntryAddress<F>::of(tuple.source), EntryAddress<F>::of(tuple.destination), tuple.source_port,
             tuple.destination_port, epoch_ + own};
    return fresh;
  }

  [[nodiscard]] bool is_established(std::uint64_t index) const { return entries_[index].mark / 2 == epoch_ / 2; }
  [[nodiscard]] Tuple<F> at(std::uint64_t index) const {
    const StateEntry<F>& entry = entries_[index];
    const Prefixes prefixes = prefixes_at(index);
    return {entry.source.with_prefix(static_cast<std::uint32_t>(prefixes >> 32)),
            entry.destination.with_prefix(static_cast<std::uint32_t>(prefixes)), entry.source_port,
            entry.destination_port};
  }
  /// Prefetches an entry into the second-level cache, which can wait for more lines at once than the first.
  void prefetch(std::uint64_t index) const { __builtin_prefetch(&entries_[index], 0, kSecondLevel); }

 private:
  /// Holds the prefix of the source in the upper half, and that of the destination in the lower one. IPv4 has none.
  using Prefixes = std::uint64_t;

  static constexpr bool kHasPrefixes = EntryAddress<F>::kPrefixBits > 0;

  // As the compiler's built-in function calls them.
  static constexpr int kForWriting = 1;
  static constexpr int kSecondLevel = 2;

  // The bytes of an entry in both arrays, which are one piece of memory.
  static constexpr std::uint64_t kBytes = sizeof(StateEntry<F>) + 2 * EntryAddress<F>::kPrefixBits / 8;

  static constexpr auto kRelaxed = std::memory_order_relaxed;
  // No connection shares it: these addresses would be multicast.
  static constexpr Prefixes kNotYetKnown = ~Prefixes{0};

  static Prefixes prefixes_of(const Tuple<F>& tuple) {
    return Prefixes{EntryAddress<F>::prefix_of(tuple.source)} << 32 | EntryAddress<F>::prefix_of(tuple.destination);
  }

  /// Returns whether these are the shared prefixes, which they become if they are the first.
  bool share(Prefixes prefixes) {
    Prefixes shared = shared_prefixes_.load(kRelaxed);
    if (shared == kNotYetKnown) [[unlikely]] {
      if (shared_prefixes_.compare_exchange_strong(shared, prefixes, kRelaxed)) shared = prefixes;
    }
    return shared == prefixes && prefixes != kNotYetKnown;
  }

  [[nodiscard]] Prefixes prefixes_at(std::uint64_t index) const {
    if constexpr (!kHasPrefixes) return 0;
    const bool own = entries_[index].mark % 2 != 0;
    return own ? own_prefixes_[index] : shared_prefixes_.load(kRelaxed);
  }

  void release();

  StateEntry<F>* entries_ = nullptr;
  Prefixes* own_prefixes_ = nullptr;
  std::atomic<Prefixes> shared_prefixes_ = kNotYetKnown;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint32_t epoch_ = 0;  // even; entries of other epochs count as empty, so that `reset` need not clear them
};

extern template class StateTable<Family::ipv4>;
extern template class StateTable<Family::ipv6>;

}  // namespace natxy
