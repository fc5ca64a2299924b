// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "trial/ring_bed.hpp"

// Whatever goes wrong in the middle of a trial, it ends within two seconds of when it had to, and says how.
namespace natxy {
namespace {

constexpr double kRate_fps = 20'000;  // of ring_bed.hpp's streams
constexpr double kGrace_s = 1;
constexpr double kPatience_s = 2;
constexpr double kBusy_s = 5;  // a test's machine keeps everybody waiting; who hangs, hangs for longer

double seconds_of(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
    throw std::runtime_error("DPDK has named its first worker another way");
  }

  inline static std::atomic<bool> held_ = false;
};

TEST(Ending, AWorkerThatDoesNotComeBackIsReported) {
  RingBed bed;
  bed.carries = false;
  std::optional<StoppedWorker> stopped;
  bed.observe = [&] {
    if (!stopped) stopped.emplace();
  };
  const double took_s = seconds_of([&] { EXPECT_THROW(bed.run(trial({forward(1000)})), WorkerStuck); });
  EXPECT_LT(took_s, 1000 / kRate_fps + kGrace_s + kPatience_s + kBusy_s);
}

TEST(Ending, AWorkerThatComesBackLateMakesTheTrialInvalid) {
  RingBed bed;
  std::optional<StoppedWorker> stopped;
  bed.carries = false;
  int calls = 0;
  bed.observe = [&] {
    if (++calls == 1) stopped.emplace();
    // Later than the last frame is due.
    if (calls == 40) {
      StoppedWorker::release();
      bed.carries = true;
    }
  };
  TrialSpec spec = trial({forward(4000)});
  spec.limits = {};
  const auto report = bed.run(spec);
  EXPECT_EQ(report.verdict, Verdict::invalid) << report.reason;
  EXPECT_EQ(report.cause, Cause::late);
  EXPECT_EQ(report.streams[0].received, 4000U);
}

TEST(Ending, ARingThatStaysFullEndsWithTheSendersPatience) {
  RingBed bed(1, 1, Medium::nic);
  bed.carries = false;
  TrialReport report;
  const double took_s = seconds_of([&] { report = bed.run(trial({forward(30'000)})); });
  EXPECT_EQ(report.cause, Cause::unsent) << report.reason;
  EXPECT_LT(took_s, 30'000 / kRate_fps + kGrace_s + kPatience_s + kBusy_s);
}

TEST(Ending, APortThatGoesDownIsReported) {
  RingBed bed;
  bed.observe = [&] { bed.set_link(Side::right, false); };
  TrialReport report;
  const double took_s = seconds_of([&] { report = bed.run(trial({forward(2000)})); });
  EXPECT_EQ(report.verdict, Verdict::invalid) << report.reason;
  EXPECT_EQ(report.cause, Cause::link_down);
  EXPECT_LT(took_s, 2000 / kRate_fps + kGrace_s + kPatience_s + kBusy_s);
}

TEST(Schedule, IsNeverStretched) {
  // Held up in the middle for far longer than the ring holds frames, they all leave by when the last one is due.
  RingBed bed(1, 1, Medium::nic);
  int calls = 0;
  bed.observe = [&] { bed.carries = ++calls < 10 || calls > 130; };
  const std::uint64_t frames = 40'000;
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
