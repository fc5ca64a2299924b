// SPDX-License-Identifier: Apache-2.0
#include "measure/core_probe.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>

namespace natxy {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(3);
// An interrupt makes a piece of work longer. Of so many in a row, the shortest has most likely met none.
constexpr int kPieces = 16;
constexpr int kRounds = 150;  // about 0.5 µs

/// Executes a piece of work that occupies all arithmetic units of a core, as only such work notices that the other
/// hardware thread needs them too. The caches and memory have no part in it.
void work(std::array<std::uint64_t, 8>& words) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (auto& word : words) {
      word = (word ^ (word << 3)) + round;
      asm volatile("" : "+r"(word));  // neither left out nor joined in one vector
    }
  }
}

}  // namespace

CoreProbe::CoreProbe(std::span<const unsigned> cores, const Clock& clock) : clock_{clock} {
  for (const unsigned core : cores) {
    samples_.push_back(std::make_unique<Samples>());
    Samples& samples = *samples_.back();
    samples.core = core;
    samples.thread = std::thread([this, &samples] { measure(samples); });
  }
}

void CoreProbe::finish() {
  {
    const std::scoped_lock lock{mutex_};
    finished_ = true;
  }
  ended_.notify_all();
}

std::vector<CoreSpeed> CoreProbe::stop() {
  finish();
  std::vector<CoreSpeed> speeds;
  for (const auto& samples : samples_) {
    if (samples->thread.joinable()) samples->thread.join();
    const auto& all = samples->speeds_hz;
    if (all.empty()) continue;
    const double mean_hz = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    const double fastest_hz = *std::ranges::max_element(all);
    // Of equal samples, the mean may be rounded up.
    speeds.push_back({.core = samples->core,
                      .samples = all.size(),
                      .mean_hz = std::min(mean_hz, fastest_hz),
                      .fastest_hz = fastest_hz});
  }
  return speeds;
}

void CoreProbe::measure(Samples& samples) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(samples.core, &only);
  if (pthread_setaffinity_np(pthread_self(), sizeof only, &only) != 0) return;
  // Otherwise it would have to wait for the DUT's tasks, and measure only the moments without traffic. Without the
  // permission it has the usual priority.
  const sched_param priority{.sched_priority = 1};
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
  std::array<std::uint64_t, 8> words{};
  const auto ended = [this] {
    std::unique_lock lock{mutex_};
    return ended_.wait_for(lock, kInterval, [this] { return finished_; });
  };
  do {
    std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
    for (int piece = 0; piece < kPieces; ++piece) {
      const std::uint64_t begin = now_ticks();
      work(words);
      shortest = std::min(shortest, now_ticks() - begin);
    }
    samples.speeds_hz.push_back(1 / clock_.seconds(shortest));
  } while (!ended());
}

}  // namespace natxy
