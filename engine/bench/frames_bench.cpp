// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <vector>

#include "flow/mix.hpp"
#include "form/classifier.hpp"
#include "form/frame_reader.hpp"
#include "form/frame_writer.hpp"
#include "measure/histogram.hpp"
#include "measure/sequence_window.hpp"
#include "packet/checksum.hpp"
#include "trial/flow_source.hpp"

// Measures the time that each step of sending and receiving takes per frame.
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

/// Makes the printed rate count frames, of which each iteration processes a burst.
void count_frames(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBurst));
}

void permutation(benchmark::State& state) {
  const Permutation permutation(4'000'000, 1);
  Lanes<std::uint64_t> indexes{};
  while (state.KeepRunning()) {
    permutation(indexes);
    benchmark::DoNotOptimize(indexes);
  }
  count_frames(state);
}
BENCHMARK(permutation);

template <class Source, Family F>
void tuples(benchmark::State& state) {
  Source source(wide_space<F>());
  TupleLanes<F> made;
  std::uint64_t first = 0;
  while (state.KeepRunning()) {
    source.fill({first, 1}, kBurst, made);
    benchmark::DoNotOptimize(made);
    first += kBurst;
  }
  count_frames(state);
}
BENCHMARK(tuples<RandomFlows<Family::ipv4>, Family::ipv4>);
BENCHMARK(tuples<RandomFlows<Family::ipv6>, Family::ipv6>);
BENCHMARK(tuples<EnumeratedFlows<Family::ipv4>, Family::ipv4>);
BENCHMARK(tuples<EnumeratedFlows<Family::ipv6>, Family::ipv6>);

template <Form kForm, Family F>
class Burst {
 public:
  static constexpr Layout kLayout = layout_of(kForm, F);

  Burst() : writer_{kForm, {.size = kLayout.smallest_frame()}} {
    for (std::size_t i = 0; i < kBurst; ++i) frames_[i] = bytes_.data() + i * kApart;
    RandomFlows<F>(wide_space<F>()).fill({0, 1}, kBurst, tuples_);
  }
  void write(std::uint64_t first) { writer_.write(frames_, tuples_, Series{first, 1}, first); }
  [[nodiscard]] std::array<std::span<const std::uint8_t>, kBurst> frames() const {
    std::array<std::span<const std::uint8_t>, kBurst> frames;
    for (std::size_t i = 0; i < kBurst; ++i) frames[i] = {frames_[i], writer_.length()};
    return frames;
  }

 private:
  static constexpr std::size_t kApart = 2368;
  FrameWriter<kLayout> writer_;
  TupleLanes<F> tuples_;
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(kBurst * kApart);
  std::array<std::uint8_t*, kBurst> frames_{};
};

template <Form kForm, Family F>
void frame_writer(benchmark::State& state) {
  Burst<kForm, F> burst;
  std::uint64_t first = 0;
  while (state.KeepRunning()) {
    burst.write(first);
    first += kBurst;
    benchmark::ClobberMemory();
  }
  count_frames(state);
}
BENCHMARK(frame_writer<Form::udp, Family::ipv4>);
BENCHMARK(frame_writer<Form::udp, Family::ipv6>);
BENCHMARK(frame_writer<Form::both_options, Family::ipv6>);
BENCHMARK(frame_writer<Form::map_from_edge, Family::ipv4>);

void checksum(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(state.range(0)), 0xAB);
  const std::uint8_t* data = bytes.data();
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(data);
    benchmark::DoNotOptimize(udp_checksum(checksum_of(data, bytes.size())));
  }
}
BENCHMARK(checksum)->ArgName("bytes")->Arg(38)->Arg(1480);

template <Form kForm, Family F>
void frame_reader(benchmark::State& state) {
  Burst<kForm, F> burst;
  burst.write(0);
  const auto frames = burst.frames();
  const FrameReader reader(kForm, F, SizeCycle(std::array{kSignatureBytes}), 0, 0);
  SignatureLanes signatures;
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(reader.read(frames, signatures));
    benchmark::DoNotOptimize(signatures);
  }
  if (reader.read(frames, signatures) != kBurst) state.SkipWithError("frames do not have the form of their stream");
  count_frames(state);
}
BENCHMARK(frame_reader<Form::udp, Family::ipv4>);
BENCHMARK(frame_reader<Form::udp, Family::ipv6>);
BENCHMARK(frame_reader<Form::both_options, Family::ipv6>);
BENCHMARK(frame_reader<Form::map_from_edge, Family::ipv4>);

template <Form kForm, Family F>
void classifier(benchmark::State& state) {
  Burst<kForm, F> burst;
  burst.write(0);
  const auto frames = burst.frames();
  while (state.KeepRunning()) {
    for (const auto frame : frames) benchmark::DoNotOptimize(classify(frame));
  }
  count_frames(state);
}
BENCHMARK(classifier<Form::udp, Family::ipv4>);
BENCHMARK(classifier<Form::udp, Family::ipv6>);
BENCHMARK(classifier<Form::both_options, Family::ipv6>);

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
