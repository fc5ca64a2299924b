// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <vector>

#include "flow/cycle.hpp"
#include "flow/permutation.hpp"
#include "flow/tuple_space.hpp"
#include "measure/histogram.hpp"
#include "measure/sequence_window.hpp"
#include "packet/classifier.hpp"
#include "packet/frame_template.hpp"

// What one frame costs, part by part.
namespace natxy {
namespace {

template <Family F>
TupleSpace<F> wide_space() {
  typename TupleSpace<F>::Fields fields;
  fields.source_address = {1, 0, 16, {2, 65534, Order::pseudorandom}};
  fields.destination_address = {2, 0, 16, {2, 65534, Order::pseudorandom}};
  fields.source_port = {1024, 65535, Order::pseudorandom};
  fields.destination_port = {80, 80, Order::pseudorandom};
  return TupleSpace<F>(fields, 1);
}

void permutation(benchmark::State& state) {
  const Permutation permutation(4'000'000, 1);
  std::uint64_t i = 0;
  while (state.KeepRunning()) benchmark::DoNotOptimize(permutation(i++ % 4'000'000));
}
BENCHMARK(permutation);

template <Family F>
void tuple_enumerated(benchmark::State& state) {
  const auto space = wide_space<F>();
  std::uint64_t i = 0;
  while (state.KeepRunning()) benchmark::DoNotOptimize(space.at(i++));
}
BENCHMARK(tuple_enumerated<Family::ipv4>);
BENCHMARK(tuple_enumerated<Family::ipv6>);

template <Family F>
void tuple_random(benchmark::State& state) {
  const auto space = wide_space<F>();
  std::uint64_t i = 0;
  while (state.KeepRunning()) benchmark::DoNotOptimize(space.random(i++));
}
BENCHMARK(tuple_random<Family::ipv4>);

template <Family F>
void template_write(benchmark::State& state) {
  FrameFormat format;
  format.size = smallest_frame(F);
  const FrameTemplate<F> frame(format);
  std::vector<std::uint8_t> bytes(2048);
  std::uint64_t i = 0;
  while (state.KeepRunning()) {
    frame.write(bytes.data(), {1, 2, 3, static_cast<std::uint16_t>(i)}, i, i);
    ++i;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(template_write<Family::ipv4>);
BENCHMARK(template_write<Family::ipv6>);

template <Family F>
void classifier(benchmark::State& state) {
  FrameFormat format;
  format.size = smallest_frame(F);
  const FrameTemplate<F> frame(format);
  std::vector<std::uint8_t> bytes(frame.length());
  frame.write(bytes.data(), {1, 2, 3, 4}, 5, 6);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(bytes.data());
    benchmark::DoNotOptimize(classify(bytes));
  }
}
BENCHMARK(classifier<Family::ipv4>);
BENCHMARK(classifier<Family::ipv6>);

void histogram_record(benchmark::State& state) {
  Histogram histogram;
  std::uint64_t i = 0;
  while (state.KeepRunning()) histogram.record(mix(i++) >> 44);
}
BENCHMARK(histogram_record);

void sequence_window(benchmark::State& state) {
  SequenceWindow window(1'000'000'000);
  std::uint64_t i = 0;
  while (state.KeepRunning()) benchmark::DoNotOptimize(window.arrive(i++));
}
BENCHMARK(sequence_window);

}  // namespace
}  // namespace natxy

BENCHMARK_MAIN();
