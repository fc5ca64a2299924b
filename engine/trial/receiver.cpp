// SPDX-License-Identifier: Apache-2.0
#include "trial/receiver.hpp"

#include <rte_prefetch.h>

#include <algorithm>

namespace natxy {

namespace {

/// Seconds of a trial that the series can hold without growing while traffic runs.
constexpr std::size_t kSeriesSeconds = 16384;

bool is_neighbor_kind(FrameKind kind) { return kind == FrameKind::arp || kind == FrameKind::neighbor_solicitation; }

}  // namespace

Receiver::Receiver(const Port& port, std::uint16_t queue, const Neighbors& neighbors, std::uint16_t run_id,
                   std::vector<Stream> streams, std::uint64_t start_ticks, const Clock& clock)
    : port_{port}, queue_{queue}, neighbors_{neighbors}, run_id_{run_id}, start_{start_ticks}, clock_{clock} {
  for (auto& stream : streams) {
    Reception reception{std::move(stream), {}, std::nullopt};
    if (reception.stream.expected) reception.books.emplace(reception.stream);
    receptions_.push_back(std::move(reception));
  }
}

Receiver::Books::Books(const Stream& stream)
    : window{stream.frames}, tagged{stream.tagged}, per_second(kSeriesSeconds) {
  if (stream.ipdv) variation.emplace();
  if (tagged) tagged_delays.resize(tagged->count);
}

/// Of a distinct frame.
void Receiver::Books::arrive(std::uint64_t sequence, std::uint64_t ticks, std::uint64_t now) {
  delay.record(ticks);
  if (variation) variation->arrive(sequence, ticks);
  if (tagged && sequence >= tagged->first && (sequence - tagged->first) % tagged->stride == 0) {
    const std::uint64_t index = (sequence - tagged->first) / tagged->stride;
    if (index < tagged->count) tagged_delays[index] = ticks;
  }
  if (last_arrival != 0 && now - last_arrival > silence) {
    silence = now - last_arrival;
    silence_start = last_arrival;
  }
  last_arrival = now;
}

void Receiver::poll() {
  std::array<rte_mbuf*, kBatch> frames;
  const std::size_t count = port_.receive(queue_, frames);
  if (count == 0) return;
  const std::uint64_t now = now_ticks();
  for (std::size_t i = 0; i < count; ++i) {
    take({rte_pktmbuf_mtod(frames[i], const std::uint8_t*), frames[i]->data_len}, now);
  }
  rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
}

void Receiver::take(std::span<const std::uint8_t> frame, std::uint64_t now) {
  const Classified classified = classify(frame);
  if (classified.kind != FrameKind::test && classified.kind != FrameKind::corrupt_test) {
    take_foreign(frame, classified.kind, now);
    return;
  }
  const bool known = classified.signature.stream < receptions_.size();
  if (classified.signature.run_id != run_id_ || !known) {
    ++stale_;
    return;
  }
  Reception& reception = receptions_[classified.signature.stream];
  if (classified.kind == FrameKind::corrupt_test || classified.payload_bytes != reception.stream.payload_bytes) {
    ++reception.counts.corrupt;
    take_foreign(frame, FrameKind::corrupt_test, now);
    return;
  }
  take_test(reception, classified, now);
}

void Receiver::take_test(Reception& reception, const Classified& frame, std::uint64_t now) {
  Counts& counts = reception.counts;
  const std::uint64_t sequence = frame.signature.sequence;
  if (!reception.books || frame.family != reception.stream.family || sequence >= reception.stream.frames) {
    ++counts.misrouted;
    return;
  }
  if (reception.stream.check && !reception.stream.check->accept(sequence, frame)) {
    ++counts.misrouted;
    return;
  }
  Books& books = *reception.books;
  switch (books.window.arrive(sequence)) {
    case SequenceWindow::Arrival::duplicate:
      ++counts.duplicate;
      return;
    case SequenceWindow::Arrival::beyond_window:
      ++counts.beyond_window;
      return;
    case SequenceWindow::Arrival::distinct_reordered:
      ++counts.reordered;
      break;
    case SequenceWindow::Arrival::distinct:
      break;
  }
  ++counts.received;
  received_.add(1);
  books.arrive(sequence, (now - frame.signature.time) & kMask48, now);
  if (now >= start_) {
    const std::size_t second = std::min((now - start_) / clock_.hz(), kSeriesSeconds - 1);
    ++books.per_second[second];
  }
}

void Receiver::take_foreign(std::span<const std::uint8_t> frame, FrameKind kind, std::uint64_t now) {
  ++foreign_[static_cast<std::size_t>(kind)];
  if (is_neighbor_kind(kind)) {
    neighbors_.answer(port_, queue_, frame);
    return;
  }
  if (samples_kept_ < kMostSamples) {
    Sample& sample = samples_.at(samples_kept_++);
    sample.kind = kind;
    sample.ticks = now > start_ ? now - start_ : 0;
    sample.length = std::min(frame.size(), kMostSampleBytes);
    std::copy_n(frame.begin(), sample.length, sample.bytes.begin());
  }
}

void Receiver::report(TrialReport& trial, PortReport& port) const {
  for (std::size_t i = 0; i < receptions_.size(); ++i) {
    const Counts& counts = receptions_[i].counts;
    StreamReport& stream = trial.streams.at(i);
    stream.received += counts.received;
    stream.duplicate += counts.duplicate;
    stream.reordered += counts.reordered;
    stream.corrupt += counts.corrupt;
    stream.misrouted += counts.misrouted;
    stream.beyond_window += counts.beyond_window;
    if (!receptions_[i].books) continue;
    const Books& books = *receptions_[i].books;
    stream.delay.add(books.delay);
    if (books.variation) stream.ipdv.add(books.variation->variation());
    stream.tagged_delays.resize(books.tagged_delays.size());
    for (std::size_t tag = 0; tag < books.tagged_delays.size(); ++tag) {
      if (books.tagged_delays[tag]) stream.tagged_delays[tag] = books.tagged_delays[tag];
    }
    // With several queues each sees only some of the frames: what is missing from one may be in another.
    if (port_.options().queues == 1) {
      stream.lost = books.window.lost(receptions_[i].stream.frames);
      stream.silence = books.silence;
      stream.silence_start = books.silence == 0 ? 0 : books.silence_start - start_;
    }
    stream.received_per_second.resize(kSeriesSeconds);
    for (std::size_t second = 0; second < kSeriesSeconds; ++second) {
      stream.received_per_second[second] += books.per_second[second];
    }
  }
  trial.stale += stale_;
  for (std::size_t kind = 0; kind < kFrameKinds; ++kind) {
    if (foreign_.at(kind) != 0) port.foreign[static_cast<FrameKind>(kind)] += foreign_.at(kind);
  }
  for (const Sample& sample : std::span(samples_).first(samples_kept_)) {
    const auto bytes = std::span(sample.bytes).first(sample.length);
    trial.samples.push_back(
        {port_.options().side, sample.kind, clock_.nanoseconds(sample.ticks), {bytes.begin(), bytes.end()}});
  }
}

}  // namespace natxy
