// SPDX-License-Identifier: Apache-2.0
#include "measure/core_probe.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include "pace/tsc.hpp"

namespace natxy {

namespace {

const Clock& clock() {
  static const Clock calibrated(calibrate_tsc(sample_clocks()).hz);
  return calibrated;
}

unsigned own_core() { return static_cast<unsigned>(sched_getcpu()); }

std::vector<CoreSpeed> measured(std::vector<unsigned> cores, std::chrono::milliseconds length) {
  CoreProbe probe(cores, clock());
  std::this_thread::sleep_for(length);
  return probe.stop();
}

}  // namespace

TEST(CoreProbe, MeasuresTheCoreThatItIsGiven) {
  const unsigned core = own_core();
  const auto speeds = measured({core}, std::chrono::milliseconds(100));
  ASSERT_EQ(speeds.size(), 1U);
  EXPECT_EQ(speeds[0].core, core);
  EXPECT_GE(speeds[0].samples, 1U);
  EXPECT_LE(speeds[0].mean_hz, speeds[0].fastest_hz);
  // 150 rounds of 8 words: neither left out by the compiler, nor a hundred times slower than intended.
  EXPECT_LT(speeds[0].fastest_hz, 2e7);
  EXPECT_GT(speeds[0].fastest_hz, 2e4);
}

TEST(CoreProbe, LeavesOutCoresThatDoNotExist) {
  const unsigned core = own_core();
  const auto speeds = measured({CPU_SETSIZE - 1, core}, std::chrono::milliseconds(20));
  ASSERT_EQ(speeds.size(), 1U);
  EXPECT_EQ(speeds[0].core, core);
}

TEST(CoreProbe, MeasuresNothingWithoutCores) { EXPECT_TRUE(measured({}, std::chrono::milliseconds(0)).empty()); }

}  // namespace natxy
