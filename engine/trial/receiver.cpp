// SPDX-License-Identifier: Apache-2.0
#include "trial/receiver.hpp"

#include <algorithm>

namespace natxy {

namespace {

bool is_neighbor_kind(FrameKind kind) { return kind == FrameKind::arp || kind == FrameKind::neighbor_solicitation; }

}  // namespace

Receiver::Receiver(const Port& port, std::uint16_t queue, const Neighbors& neighbors, std::uint16_t run_id,
                   std::vector<Stream> streams, Period period, const Clock& clock)
    : port_{port}, queue_{queue}, neighbors_{neighbors}, run_id_{run_id}, start_{period.start}, clock_{clock} {
  const std::size_t seconds = (period.end - period.start) / clock.hz() + 1;
  for (auto& stream : streams) {
    Reception reception{std::move(stream), {}, std::nullopt};
    if (reception.stream.expected) reception.books.emplace(reception.stream, seconds);
    receptions_.push_back(std::move(reception));
  }
}

Receiver::Books::Books(const Stream& stream, std::size_t seconds)
    : window{stream.frames}, tagged{stream.tagged}, per_second(seconds) {
  if (stream.ipdv) variation.emplace();
  if (tagged) tagged_delays.resize(tagged->count);
}

/// Of a distinct frame.
void Receiver::Books::arrive(std::uint64_t sequence, std::uint64_t ticks) {
  delay.record(ticks);
  if (variation) variation->arrive(sequence, ticks);
  if (tagged && sequence >= tagged->first && (sequence - tagged->first) % tagged->stride == 0) {
    const std::uint64_t index = (sequence - tagged->first) / tagged->stride;
    if (index < tagged->count) tagged_delays[index] = ticks;
  }
}

/// Of the time before distinct frames that arrive now.
void Receiver::Books::note_silence(std::uint64_t now) {
  if (last_arrival != 0 && now - last_arrival > silence) {
    silence = now - last_arrival;
    silence_start = last_arrival;
  }
  last_arrival = now;
}

void Receiver::poll() {
  std::array<rte_mbuf*, kBurst> buffers;
  const std::size_t count = port_.receive(queue_, buffers);
  if (count == 0) return;
  const std::uint64_t now = now_ticks();
  std::array<std::span<const std::uint8_t>, kBurst> frames;
  for (std::size_t i = 0; i < count; ++i) {
    frames[i] = {rte_pktmbuf_mtod(buffers[i], const std::uint8_t*), buffers[i]->data_len};
  }
  take(std::span(frames).first(count), now);
  rte_pktmbuf_free_bulk(buffers.data(), static_cast<unsigned>(count));
}

void Receiver::take(std::span<const std::span<const std::uint8_t>> frames, std::uint64_t now) {
  classify(frames, judged_);
  // Frames of one stream that follow each other are booked together.
  std::array<Arrival, kBurst> arrivals;
  std::size_t waiting = 0;
  Reception* waiting_for = nullptr;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Classified& judged = judged_[i];
    if (judged.kind != FrameKind::test && judged.kind != FrameKind::corrupt_test) {
      take_foreign(frames[i], judged.kind, now);
      continue;
    }
    const Signature signature = judged.signature();
    if (signature.run_id != run_id_ || signature.stream >= receptions_.size()) {
      ++stale_;
      continue;
    }
    Reception& reception = receptions_[signature.stream];
    if (judged.kind == FrameKind::corrupt_test || judged.payload_bytes != reception.stream.payload_bytes) {
      ++reception.counts.corrupt;
      take_foreign(frames[i], FrameKind::corrupt_test, now);
      continue;
    }
    if (!reception.books || judged.family != reception.stream.family || signature.sequence >= reception.stream.frames) {
      ++reception.counts.misrouted;
      continue;
    }
    if (&reception != waiting_for) {
      if (waiting > 0) book(*waiting_for, std::span(arrivals).first(waiting), now);
      waiting = 0;
      waiting_for = &reception;
    }
    arrivals[waiting++] = {signature.sequence, signature.time, &judged};
  }
  if (waiting > 0) book(*waiting_for, std::span(arrivals).first(waiting), now);
}

void Receiver::book(Reception& reception, std::span<const Arrival> arrivals, std::uint64_t now) {
  Counts& counts = reception.counts;
  Books& books = *reception.books;
  Lanes<bool> accepted;
  if (reception.stream.check) {
    reception.stream.check->accept(arrivals, accepted);
  } else {
    accepted.fill(true);
  }
  std::uint64_t distinct = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (!accepted[i]) {
      ++counts.misrouted;
      continue;
    }
    switch (books.window.arrive(arrivals[i].sequence)) {
      case SequenceWindow::Arrival::duplicate:
        ++counts.duplicate;
        continue;
      case SequenceWindow::Arrival::beyond_window:
        ++counts.beyond_window;
        continue;
      case SequenceWindow::Arrival::distinct_reordered:
        ++counts.reordered;
        break;
      case SequenceWindow::Arrival::distinct:
        break;
    }
    ++distinct;
    books.arrive(arrivals[i].sequence, (now - arrivals[i].time) & kMask48);
  }
  if (distinct == 0) return;
  counts.received += distinct;
  received_.add(distinct);
  books.note_silence(now);
  if (now < start_) return;
  const std::size_t second = std::min((now - start_) / clock_.hz(), books.per_second.size() - 1);
  books.per_second[second] += distinct;
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
    stream.received_per_second.resize(books.per_second.size());
    for (std::size_t second = 0; second < books.per_second.size(); ++second) {
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
