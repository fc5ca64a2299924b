// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_cycles.h>
#include <rte_launch.h>

#include <atomic>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/tuple_space.hpp"
#include "port/port.hpp"
#include "trial/sender.hpp"
#include "trial/worker.hpp"

// Runs the tasks of a trial without a trial, for benchmarks.
namespace natxy {

inline constexpr std::uint64_t kManyFrames = kMask48;
inline constexpr double kUnreachable_fps = 1e9;
inline constexpr double kLongest_s = 3600;
inline constexpr double kBeforeStart_s = 0.01;
inline constexpr unsigned kLook_us = 10'000;
inline constexpr std::uint16_t kRunId = 1;
inline constexpr const char* kNowhere = "net_null0,no-rx=1";
inline constexpr MacAddress kMac = {2, 0, 0, 0, 0, 1};

/// Returns the CPU time of this thread in seconds, because on a shared machine it does not always have its core.
inline double own_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline Clock the_clock() { return Clock{rte_get_tsc_hz()}; }

/// Selects the fields of the four-tuple that vary from frame to frame.
struct Variation {
  bool addresses = false;
  bool ports = false;
};

template <Family F>
TupleSpace<F> space_of(const Variation& variation) {
  const auto address = [&](Address<F> base) {
    AddressField<F> field{base, 0, 0, {}};
    if (variation.addresses) field = {base, F == Family::ipv6 ? 16U : 0U, 16, {2, 65533, Order::pseudorandom}};
    return field;
  };
  const auto port = [&](std::uint32_t min, std::uint32_t max) {
    return FieldRange{min, variation.ports ? max : min, Order::pseudorandom};
  };
  // With all ports as well as addresses, there would be too many tuples to enumerate.
  const std::uint32_t last_port = variation.addresses ? 1024 + 255 : 65535;
  return TupleSpace<F>({address(0xC6120000), address(0x0A000000), port(1, 1), port(1024, last_port)}, 1);
}

/// Says what frames a benchmark sends. Without `sizes`, all are the smallest.
struct Shape {
  Form form = Form::udp;
  std::vector<std::size_t> sizes;
  Softwire softwire{};
  Mapping mapping{};

  [[nodiscard]] SizeCycle cycle(Family family) const {
    return SizeCycle(sizes.empty() ? std::vector{layout_of(form, family).smallest_frame()} : sizes);
  }
};

template <Family F>
std::unique_ptr<FrameSource> frames_of(const Shape& shape, std::unique_ptr<FlowSource<F>> flows) {
  std::unique_ptr<FrameSource> frames;
  with_layout(shape.form, F, [&]<Layout L>() {
    if constexpr (L.family == F) {
      const FrameSettings settings{.source_mac = kMac,
                                   .destination_mac = kMac,
                                   .run_id = kRunId,
                                   .softwire = shape.softwire,
                                   .mapping = shape.mapping};
      frames = make_frame_source<L>(shape.form, shape.cycle(F), settings, std::move(flows));
    }
  });
  return frames;
}

/// Describes the cores and the device of a benchmark, and its duration.
struct Bed {
  double seconds = 0;
  std::vector<unsigned> workers;  // DPDK's ids
  std::string device;             // empty: one that discards all frames
  std::optional<unsigned> drain;  // DPDK's id of the core that fetches frames looped back by the device
};

/// Waits for the link, because some drivers connect to their other side only after they are opened.
inline void wait_for_link(const Port& port) {
  for (int tries = 0; tries < 500 && !port.link_up(); ++tries) rte_delay_us_sleep(kLook_us);
}

inline Sender::Setup setup_of(const Schedule& schedule, Series slice = {0, 1}) {
  const Clock clock = the_clock();
  return {{0},
          Turns(schedule.frames(), 0),
          schedule.start(),
          schedule,
          slice,
          schedule.start() + clock.ticks(kLongest_s),
          clock.hz(),
          clock.ticks(kNotablePause_s),
          clock.hz()};
}

/// Calls `job` on another core.
template <class Job>
void launch(Job& job, unsigned lcore) {
  const auto run = [](void* argument) {
    (*static_cast<Job*>(argument))();
    return 0;
  };
  rte_eal_remote_launch(run, &job, lcore);
}

/// Waits until `lcore` has ended, which takes about `seconds`. It sleeps, because this thread may share the core and
/// would disturb the job by polling.
inline void await(unsigned lcore, double seconds) {
  rte_delay_us_sleep(static_cast<unsigned>(1e6 * seconds));
  while (rte_eal_get_lcore_state(lcore) == RUNNING) rte_delay_us_sleep(kLook_us);
  rte_eal_wait_lcore(lcore);
}

/// Runs a worker and measures the CPU time that it had.
struct TimedWorker {
  Worker worker;
  double seconds = 0;

  /// `signals` have to say `begin` already.
  TimedWorker(std::unique_ptr<Sender> sender, WorkerSignals& signals) {
    worker.senders.push_back(std::move(sender));
    worker.signals = &signals;
    worker.high_priority = true;
  }

  [[nodiscard]] const Sender& sender() const { return *worker.senders.front(); }

  void operator()() {
    const double before = own_seconds();
    Worker::run(&worker);
    seconds = own_seconds() - before;
  }
};

}  // namespace natxy
