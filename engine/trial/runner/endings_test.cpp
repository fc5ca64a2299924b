// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "trial/runner/ring_bed.hpp"

// Tests that a trial ends within two seconds of when it should, whatever goes wrong during it, and reports the cause.
namespace natxy {
namespace {

constexpr double kRate_fps = 20'000;  // of ring_bed.hpp's streams
constexpr double kGrace_s = 1;
constexpr double kPatience_s = 2;
constexpr double kBusy_s = 5;  // margin for a busy machine; a trial that hangs takes longer

/// Measures the seconds since its construction. Tests time events by it because a busy machine calls `observe` seldom.
class Stopwatch {
 public:
  [[nodiscard]] double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double seconds_of(const std::function<void()>& what) {
  const Stopwatch watch;
  what();
  return watch.elapsed_s();
}

StreamSpec forward(std::uint64_t frames) { return stream("forward", Side::left, Family::ipv4, frames); }

/// Keeps DPDK's first worker thread in a signal handler, as a driver might keep it in a system call.
class StoppedWorker {
 public:
  StoppedWorker() {
    held_ = true;
    std::signal(SIGUSR1, [](int) {
      while (held_) usleep(1000);
    });
    syscall(SYS_tgkill, getpid(), thread(), SIGUSR1);
  }
  StoppedWorker(const StoppedWorker&) = delete;
  StoppedWorker& operator=(const StoppedWorker&) = delete;
  ~StoppedWorker() {
    release();
    rte_eal_mp_wait_lcore();
  }
  static void release() { held_ = false; }

 private:
  static pid_t thread() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::ifstream(task.path() / "comm") >> name;
      if (name.ends_with("worker-1")) return static_cast<pid_t>(std::stol(task.path().filename().string()));
    }
    throw std::runtime_error("DPDK's first worker thread has an unknown name");
  }

  inline static std::atomic<bool> held_ = false;
};

// Returns the time until the engine reports a worker that was stopped in a trial.
double stuck_worker_s() {
  RingBed bed;
  bed.carries = false;
  std::optional<StoppedWorker> stopped;
  bed.observe = [&] {
    if (!stopped) stopped.emplace();
  };
  return seconds_of([&] { EXPECT_THROW(bed.run(hasty_trial({forward(10'000)})), WorkerStuck); });
}

TEST(Ending, AStuckWorkerIsReported) {
  constexpr double allowed_s = 10'000 / kRate_fps + kGrace_s + kPatience_s + kBusy_s;
  double took_s = stuck_worker_s();
  // Other programs may take the engine's cores away for long, but hardly each time.
  for (int again = 0; again < 4 && took_s >= allowed_s; ++again) took_s = stuck_worker_s();
  EXPECT_LT(took_s, allowed_s);
}

TEST(Ending, AWorkerThatStopsLateMakesTheTrialInvalid) {
  RingBed bed;
  std::optional<StoppedWorker> stopped;
  bed.carries = false;
  std::optional<Stopwatch> watch;
  // A wire holds them all, so they are sent at once.
  constexpr std::uint64_t frames = 6'000;
  bed.observe = [&] {
    if (!watch) {
      watch.emplace();
      stopped.emplace();
    }
    // After the last frame is due.
    if (watch->elapsed_s() > frames / kRate_fps + 0.2) {
      StoppedWorker::release();
      bed.carries = true;
    }
  };
  TrialSpec spec = trial({forward(frames)});
  spec.limits = {};
  spec.drain_s = 1;
  const auto report = bed.run(spec);
  EXPECT_EQ(report.verdict, Verdict::invalid) << report.reason;
  EXPECT_EQ(report.cause, Cause::late);
  EXPECT_EQ(report.streams[0].received, frames);
}

TEST(Ending, ARingThatStaysFullEndsWithTheSendersPatience) {
  RingBed bed(1, 1, Medium::nic);
  bed.carries = false;
  TrialReport report;
  const double took_s = seconds_of([&] { report = bed.run(hasty_trial({forward(30'000)})); });
  EXPECT_EQ(report.cause, Cause::unsent) << report.reason;
  EXPECT_LT(took_s, 30'000 / kRate_fps + kGrace_s + kPatience_s + kBusy_s);
}

TEST(Ending, APortThatGoesDownIsReported) {
  RingBed bed;
  bed.observe = [&] { bed.set_link(Side::right, false); };
  TrialReport report;
  constexpr std::uint64_t frames = 1'000'000;
  EXPECT_LT(seconds_of([&] { report = bed.run(trial({forward(frames)})); }), frames / kRate_fps / 2);
  EXPECT_EQ(report.verdict, Verdict::invalid) << report.reason;
  EXPECT_EQ(report.cause, Cause::link_down);
  EXPECT_EQ(report.reason, "the link of the right port went down; then the trial was ended");
}

TEST(Ending, ALinkThatMayGoDownLeavesTheTrialItsLength) {
  RingBed bed;
  bed.observe = [&, calls = 0]() mutable { bed.set_link(Side::right, ++calls > 1); };
  TrialSpec spec = trial({forward(2000)});
  spec.limits.link_may_fall = true;
  const TrialReport report = bed.run(spec);
  EXPECT_EQ(report.streams[0].sent, 2000U) << report.reason;
  EXPECT_FALSE(report.ended_early());
}

TEST(Ending, ALinkThatWasDownInBetweenIsReported) {
  RingBed bed;
  bed.observe = [&, calls = 0]() mutable { bed.set_link(Side::left, ++calls > 1); };
  // This loss would otherwise count against the gateway.
  bed.treat = [frames = 0](Side, Bytes) mutable { return frames++ == 0 ? 0 : 1; };
  const auto report = bed.run(trial({forward(4000)}));
  EXPECT_EQ(report.verdict, Verdict::invalid) << report.reason;
  EXPECT_EQ(report.cause, Cause::link_down);
  EXPECT_TRUE(report.ports[0].link_up);
}

/// Returns the machine's clocks, as they are once it has been suspended for 90 s.
Moment after_a_suspension() {
  Moment now = read_clocks();
  now.boot_before_ns += 90'000'000'000;
  now.boot_after_ns += 90'000'000'000;
  return now;
}

TEST(Ending, ASuspensionEndsTheTrialAtOnce) {
  RingBed bed;
  bed.moment = [looks = 0]() mutable { return ++looks < 4 ? read_clocks() : after_a_suspension(); };
  TrialReport report;
  const double took_s = seconds_of([&] { report = bed.run(trial({forward(1'000'000)})); });
  EXPECT_EQ(report.verdict, Verdict::invalid);
  EXPECT_EQ(report.cause, Cause::suspended) << report.reason;
  EXPECT_EQ(report.reason.find("the machine was suspended for "), 0U) << report.reason;
  EXPECT_LT(took_s, 1'000'000 / kRate_fps / 2);
}

TEST(Ending, ASuspensionInTheDrainExcusesTheGateway) {
  RingBed bed;
  bed.treat = [frames = 0](Side, Bytes) mutable { return frames++ == 0 ? 0 : 1; };
  bool asleep = false;
  bed.moment = [&] { return asleep ? after_a_suspension() : read_clocks(); };
  std::optional<Stopwatch> watch;
  bed.observe = [&] {
    if (!watch) watch.emplace();
    // After the last frame.
    asleep = watch->elapsed_s() > 1000 / kRate_fps + 0.1;
  };
  const auto report = bed.run(trial({forward(1000)}));
  EXPECT_EQ(report.cause, Cause::suspended) << report.reason;
}

/// Holds a drain that no busy machine can mistake for its own slowness, and half of it.
constexpr double kLongDrain_s = 60;
constexpr double kSoon_s = 30;
constexpr double kShortDrain_s = 0.5;

TrialSpec draining(TrialSpec spec, double drain_s, bool ends_early) {
  spec.drain_s = drain_s;
  spec.drain_ends_early = ends_early;
  return spec;
}

class DrainThatEndsEarly : public testing::TestWithParam<bool> {
 protected:
  /// Returns a trial of 1,000 frames from the left: phase 1, or traffic in both directions.
  static TrialSpec spec(double drain_s) {
    const TrialSpec traffic = trial({forward(1000), stream("reverse", Side::right, Family::ipv4, 500)});
    return draining(GetParam() ? phase1(Family::ipv4, 1000) : traffic, drain_s, true);
  }
  RingBed bed;
};
INSTANTIATE_TEST_SUITE_P(BothKinds, DrainThatEndsEarly, testing::Bool(),
                         [](const auto& learns) { return learns.param ? "Phase1" : "Traffic"; });

TEST_P(DrainThatEndsEarly, EndsWhenEveryFrameHasArrived) {
  TrialReport report;
  EXPECT_LT(seconds_of([&] { report = bed.run(spec(kLongDrain_s)); }), kSoon_s);
  EXPECT_EQ(report.cause, Cause::lossless) << report.reason;
  EXPECT_EQ(report.streams[0].received, 1000U);
}

TEST_P(DrainThatEndsEarly, WaitsForALateFrame) {
  std::vector<std::uint8_t> held;
  bed.treat = [&, frames = 0](Side from, Bytes frame) mutable {
    if (from != Side::left || ++frames != 10) return 1;
    held.assign(frame.begin(), frame.end());
    return 0;
  };
  std::optional<Stopwatch> watch;
  bed.observe = [&] {
    if (held.empty()) return;
    if (!watch) watch.emplace();
    if (watch->elapsed_s() < kShortDrain_s) return;
    bed.inject(Side::right, held);
    held.clear();
  };
  TrialReport report;
  EXPECT_LT(seconds_of([&] { report = bed.run(spec(kLongDrain_s)); }), kSoon_s);
  EXPECT_EQ(report.cause, Cause::lossless) << report.reason;
  EXPECT_EQ(report.streams[0].reordered, 1U);
}

TEST_P(DrainThatEndsEarly, HasItsFullLengthWhenAFrameIsMissing) {
  // Nor does the duplicate make up for it.
  bed.treat = [frames = 0](Side, Bytes) mutable {
    ++frames;
    return frames == 10 ? 0 : frames == 20 ? 2 : 1;
  };
  TrialReport report;
  EXPECT_GE(seconds_of([&] { report = bed.run(spec(kShortDrain_s)); }), kShortDrain_s);
  EXPECT_EQ(report.cause, Cause::loss) << report.reason;
}

TEST(Ending, WithoutLeaveToEndEarlyTheDrainHasItsFullLength) {
  RingBed bed;
  TrialReport report;
  const TrialSpec spec = draining(trial({forward(1000)}), kShortDrain_s, false);
  EXPECT_GE(seconds_of([&] { report = bed.run(spec); }), kShortDrain_s);
  EXPECT_EQ(report.cause, Cause::lossless) << report.reason;
}

/// Makes a trial of `frames` frames that ends as soon as it has lost too many.
TrialSpec impatient(std::uint64_t frames, double max_loss_ratio = 0) {
  TrialSpec spec = trial({forward(frames)});
  spec.streams[0].max_loss_ratio = max_loss_ratio;
  spec.drain_s = kShortDrain_s;
  spec.ends_early = EarlyEnd::lost;
  return spec;
}

/// Makes the same that ends only once it is invalid.
TrialSpec tolerant(std::uint64_t frames) {
  TrialSpec spec = impatient(frames);
  spec.ends_early = EarlyEnd::invalid;
  spec.limits.max_pause_s = 0.01;
  return spec;
}

TEST(EarlyEnding, ATrialEndsWhenAFrameIsCertainlyLost) {
  RingBed bed;
  bed.treat = [frames = 0](Side, Bytes) mutable { return ++frames == 10 ? 0 : 1; };
  TrialReport report;
  constexpr std::uint64_t frames = 1'000'000;
  EXPECT_LT(seconds_of([&] { report = bed.run(impatient(frames)); }), frames / kRate_fps / 2);
  const StreamReport& stream = report.streams[0];
  EXPECT_EQ(report.cause, Cause::loss) << report.reason;
  EXPECT_TRUE(stream.ended_early);
  // Every frame that had left has been waited for.
  EXPECT_EQ(stream.sent - stream.received, 1U);
  EXPECT_EQ(stream.lost, (SequenceRange{9, 9}));
  EXPECT_EQ(report.reason.find("forward: 1 of "), 0U) << report.reason;
}

TEST(EarlyEnding, AToleratedLossLeavesTheTrialItsLength) {
  RingBed bed;
  bed.treat = [frames = 0](Side, Bytes) mutable { return ++frames == 10 ? 0 : 1; };
  constexpr std::uint64_t frames = 40'000;
  const TrialReport report = bed.run(impatient(frames, 1.0 / frames));
  EXPECT_EQ(report.verdict, Verdict::pass) << report.reason;
  EXPECT_EQ(report.streams[0].received, frames - 1);
}

/// Returns the report of a trial whose tenth frame comes later than others, and before it counts as lost.
TrialReport with_a_late_frame(std::uint64_t frames) {
  RingBed bed;
  std::vector<std::uint8_t> held;
  std::optional<Stopwatch> watch;
  bed.treat = [&, frames = 0](Side, Bytes frame) mutable {
    if (++frames != 10) return 1;
    held.assign(frame.begin(), frame.end());
    watch.emplace();
    return 0;
  };
  bed.observe = [&] {
    if (held.empty() || watch->elapsed_s() < kShortDrain_s / 4) return;
    bed.inject(Side::right, held);
    held.clear();
  };
  return bed.run(impatient(frames));
}

TEST(EarlyEnding, ALateFrameIsNotLost) {
  constexpr std::uint64_t frames = 40'000;
  TrialReport report = with_a_late_frame(frames);
  // On a busy machine, the frame may come so late that it counts as lost.
  for (int again = 0; again < 4 && report.streams[0].ended_early; ++again) report = with_a_late_frame(frames);
  EXPECT_EQ(report.cause, Cause::lossless) << report.reason;
  EXPECT_EQ(report.streams[0].received, frames);
  EXPECT_EQ(report.streams[0].reordered, 1U);
}

/// Returns what makes the worker pause for 50 ms, once, when 0.1 s of a trial have passed, and then calls `after`.
std::function<void()> pausing(const std::function<void()>& after) {
  return [after, watch = std::optional<Stopwatch>(), stopped = std::shared_ptr<StoppedWorker>()]() mutable {
    if (!watch) watch.emplace();
    if (stopped || watch->elapsed_s() < 0.1) return;
    stopped = std::make_shared<StoppedWorker>();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    StoppedWorker::release();
    after();
  };
}

TEST(EarlyEnding, ATrialEndsOnceItIsInvalid) {
  RingBed bed;
  int to_lose = 0;  // of the burst that the tester sends after its pause
  bed.observe = pausing([&] { to_lose = 10; });
  bed.treat = [&](Side, Bytes) { return to_lose-- > 0 ? 0 : 1; };
  TrialReport report;
  constexpr std::uint64_t frames = 1'000'000;
  EXPECT_LT(seconds_of([&] { report = bed.run(tolerant(frames)); }), frames / kRate_fps / 2);
  EXPECT_EQ(report.cause, Cause::paused) << report.reason;
  EXPECT_TRUE(report.ended_early());
  EXPECT_TRUE(report.reason.ends_with("; then the trial was ended")) << report.reason;
  EXPECT_GE(report.streams[0].sent - report.streams[0].received, 10U);
}

/// Returns the report of a trial in which the worker pauses, and the gateway loses every twentieth frame.
TrialReport with_a_loss_that_goes_on(std::uint64_t frames) {
  RingBed bed;
  bed.observe = pausing([] {});
  bed.treat = [frame = 0](Side, Bytes) mutable { return ++frame % 20 == 0 ? 0 : 1; };
  return bed.run(tolerant(frames));
}

TEST(EarlyEnding, ALossThatGoesOnAfterAPauseLeavesTheTrialItsLength) {
  constexpr std::uint64_t frames = 60'000;
  TrialReport report = with_a_loss_that_goes_on(frames);
  // On a busy machine, the worker may pause for so long that nothing seems to be lost meanwhile.
  for (int again = 0; again < 4 && report.ended_early(); ++again) report = with_a_loss_that_goes_on(frames);
  EXPECT_EQ(report.streams[0].sent, frames) << report.reason;
  EXPECT_EQ(report.streams[0].received, frames - frames / 20);
}

TEST(EarlyEnding, ALossWithoutPauseLeavesTheTrialItsLength) {
  RingBed bed;
  // More than any pause of a busy machine could excuse.
  bed.treat = [frames = 0](Side, Bytes) mutable { return ++frames <= 15'000 ? 0 : 1; };
  constexpr std::uint64_t frames = 40'000;
  const TrialReport report = bed.run(tolerant(frames));
  EXPECT_FALSE(report.ended_early()) << report.reason;
  EXPECT_EQ(report.streams[0].sent, frames);
}

TEST(Schedule, IsNeverStretched) {
  // The sender is held up for far longer than the ring buffers frames, yet all frames leave before the last one is due.
  RingBed bed(1, 1, Medium::nic);
  std::optional<Stopwatch> watch;
  bed.observe = [&] {
    if (!watch) watch.emplace();
    const double elapsed_s = watch->elapsed_s();
    bed.carries = elapsed_s < 0.1 || elapsed_s > 2.1;
  };
  const std::uint64_t frames = 80'000;
  const auto report = bed.run(trial({forward(frames)}));
  const StreamReport& sent = report.streams[0];
  EXPECT_EQ(sent.sent, frames) << report.reason;
  EXPECT_GT(sent.pacing.refused, 0U);
  const Clock clock{rte_get_tsc_hz()};
  const double late_s = clock.seconds(sent.pacing.lateness.max());
  EXPECT_GT(late_s, 0.5);
  EXPECT_LT(report.duration_s, static_cast<double>(frames) / kRate_fps + late_s / 2);
}

}  // namespace
}  // namespace natxy
