// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "measure/own_lines.hpp"
#include "packet/neighbor_messages.hpp"
#include "port/port.hpp"

namespace natxy {

/// Takes answers to ARP requests and neighbour solicitations from the worker that receives on a queue of a port to the
/// worker that sends on it, without a lock. Only the first calls `push`, and only the second calls `send`.
class AnswerQueue {
 public:
  AnswerQueue(const Port& port, std::uint16_t queue) : port_{port}, queue_{queue} {}

  [[nodiscard]] const Port& port() const { return port_; }
  [[nodiscard]] std::uint16_t queue() const { return queue_; }

  /// Returns false if the queue is full. The answer is then lost, and the DUT asks again.
  bool push(const NeighborFrame& answer) {
    const std::uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    if (pushed - sent_.load(std::memory_order_acquire) == kMost) return false;
    answers_.at(pushed % kMost) = answer;
    pushed_.store(pushed + 1, std::memory_order_release);
    return true;
  }

  /// Sends the answers that wait.
  void send() {
    std::uint64_t sent = sent_.load(std::memory_order_relaxed);
    for (const std::uint64_t pushed = pushed_.load(std::memory_order_acquire); sent != pushed; ++sent) {
      port_.send(queue_, answers_.at(sent % kMost));
      sent_.store(sent + 1, std::memory_order_release);
    }
  }

 private:
  static constexpr std::size_t kMost = 256;

  const Port& port_;
  std::uint16_t queue_;
  std::array<NeighborFrame, kMost> answers_;
  // Each worker writes one of them, so each has its own cache line.
  alignas(kCacheLine) std::atomic<std::uint64_t> pushed_ = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> sent_ = 0;
};

}  // namespace natxy
