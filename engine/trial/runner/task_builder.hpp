// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trial/connections.hpp"
#include "trial/runner/resources.hpp"
#include "trial/spec.hpp"
#include "trial/worker.hpp"

namespace natxy {

/// Builds the senders and receivers of a trial and spreads them over its workers. The arguments of the constructor must
/// outlive the tasks.
class TaskBuilder {
 public:
  /// `start` is the clock tick at which the trial starts.
  TaskBuilder(const TrialSpec& spec, const TrialResources& resources, std::span<const Connections> connections,
              std::uint16_t run_id, std::uint64_t start)
      : spec_{spec}, resources_{resources}, connections_{connections}, run_id_{run_id}, start_{start} {}

  /// Adds a sender for each stream, or pair of interleaved streams, and each queue of its port.
  void add_senders(std::span<Worker> workers) const;

  /// Adds a receiver for each port to each of its workers. `end` is the tick until which frames are waited for.
  void add_receivers(std::span<Worker> workers, std::uint64_t end) const;

 private:
  [[nodiscard]] Receiver::Source source_of(std::size_t port, std::uint16_t queue, std::size_t receiver,
                                           std::span<Worker> workers) const;
  [[nodiscard]] bool is_authority(std::size_t port) const;
  [[nodiscard]] std::unique_ptr<Sender> sender_of(std::size_t stream, const Port& port, std::uint16_t queue) const;
  [[nodiscard]] Sender::Setup setup_of(const std::vector<std::size_t>& streams, const Turns& turns, std::uint64_t count,
                                       double rate_fps, const Port& port, std::uint16_t queue) const;
  [[nodiscard]] std::unique_ptr<FrameSource> frames_of(std::size_t stream, const Port& port) const;
  [[nodiscard]] QueryStream queries_of(std::size_t stream) const;
  [[nodiscard]] bool is_in_order(std::size_t stream) const;
  [[nodiscard]] std::vector<Receiver::Stream> streams_at(const Port& port) const;

  const TrialSpec& spec_;
  const TrialResources& resources_;
  std::span<const Connections> connections_;  // by pair
  std::uint16_t run_id_;
  std::uint64_t start_;
};

}  // namespace natxy
