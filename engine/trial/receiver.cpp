// SPDX-License-Identifier: Apache-2.0
#include "trial/receiver.hpp"

#include <algorithm>
#include <cstring>

namespace natxy {

namespace {

constexpr std::size_t kBuffersAhead = 8;  // how many buffers before it is read each is prefetched

/// Returns how many of `numbers`, at least one, are in order from the first on, each greater by `step` than the one
/// before it.
std::size_t leading(std::span<const std::uint64_t> numbers, std::uint64_t step) {
  const std::uint64_t first = numbers.front();
  std::size_t count = 1;
  // Nearly always, it is all of them, and compilers vectorize a loop that asks this alone.
  if (numbers.back() == first + step * (numbers.size() - 1)) {
    std::uint64_t differences = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) differences |= numbers[i] ^ (first + step * i);
    if (differences == 0) return numbers.size();
  }
  while (count < numbers.size() && numbers[count] == first + step * count) ++count;
  return count;
}

/// Counts the stream's frames, and its lost frames, that were due when a pause may have harmed them. Nobody knows when
/// those were due that left the window.
void note_marked(const SequenceWindow& window, const Receiver::Stream& expected, const PauseMarks& marks,
                 StreamReport& stream) {
  stream.near_pauses = marks.frames(expected.schedule, 0, stream.due(expected.frames));
  stream.lost_near_pauses = window.forgotten();
  window.for_each_lost(stream.due(expected.frames), [&](std::uint64_t first, std::uint64_t end) {
    if (end - first == 1) {
      stream.lost_near_pauses += static_cast<std::uint64_t>(marks.at(expected.schedule.due_at(first)));
    } else {
      stream.lost_near_pauses += marks.frames(expected.schedule, first, end);
    }
  });
}

LostSample sample_of_lost(const SequenceWindow& window, std::uint64_t frames) {
  LostSample sample;
  // The window has forgotten which of the earlier frames were lost.
  if (window.forgotten() > 0) sample.first = window.lowest_known();
  std::uint64_t lost = 0;
  window.for_each_lost(frames, [&](std::uint64_t first, std::uint64_t end) { lost += end - first; });
  const std::uint64_t step = (lost + LostSample::kMost - 1) / LostSample::kMost;
  std::uint64_t skipped = 0;
  window.for_each_lost(frames, [&](std::uint64_t first, std::uint64_t end) {
    std::uint64_t next = first + skipped;
    for (; next < end; next += step) sample.sequences.push_back(next);
    skipped = next - end;
  });
  sample.all = step == 1 && window.forgotten() == 0;
  return sample;
}

/// Notes in which bursts, and at which distance, the stream lost the frames that the window knows. Lost frames belong
/// to the same burst if they are less than a millisecond apart, or beside each other.
void note_bursts(const SequenceWindow& window, const Receiver::Stream& expected, const Clock& clock,
                 StreamReport& stream) {
  constexpr double kApart_s = 0.001;
  const std::uint64_t apart = expected.schedule.due(expected.schedule.start() + clock.ticks(kApart_s));
  LostBursts bursts(std::max<std::uint64_t>(2, apart));
  LostStride stride;
  window.for_each_lost(stream.due(expected.frames), [&](std::uint64_t first, std::uint64_t end) {
    stride.add(first, end);
    if (!bursts.full()) bursts.add(first, end);
  });
  stream.lost_bursts = std::move(bursts).take();
  if (window.forgotten() == 0) stream.lost_stride = stride.take();
}

/// Returns what is wrong with the IPv6 addresses of an intact test frame of a subscriber, whose four-tuple is `tuple`;
/// `test` if nothing is. `other` is the address that the other one has to be, and `wrong` names another address.
FrameKind judge_addresses(const std::uint8_t* header, bool from_edge, const SubscriberRule& rule,
                          const Tuple<Family::ipv4>& tuple, uint128 other, FrameKind wrong) {
  const std::uint64_t address = from_edge ? tuple.source : tuple.destination;
  const std::uint64_t port = from_edge ? tuple.source_port : tuple.destination_port;
  if (rule.ports.differences(port) != 0) return FrameKind::outside_port_set;
  const uint128 subscriber = uint128{rule.high_of(address, port)} << 64 | rule.low_of(address, port);
  const uint128 source = load_be128(header + 8);
  const uint128 destination = load_be128(header + 24);
  const bool right = (from_edge ? source : destination) == subscriber && (from_edge ? destination : source) == other;
  return right ? FrameKind::test : wrong;
}

FrameKind judge_softwire(const Classified& judged, const Receiver::Stream& stream, const TupleReader* tuples) {
  if (judged.outer == nullptr) return FrameKind::not_in_softwire;
  if (judged.between > 0) return FrameKind::headers_in_softwire;
  if (judged.outer[kHopLimitAt] <= kSpentHopLimit) return FrameKind::spent_hop_limit;
  const auto inner = judged.datagram.tuple<Family::ipv4>();
  const bool from_edge = outer_of(stream.form) == Outer::from_edge;
  const Softwire& softwire = stream.softwire;
  if (softwire.inner_address && (from_edge ? inner.source : inner.destination) != *softwire.inner_address) {
    return FrameKind::wrong_softwire;
  }
  return judge_addresses(judged.outer, from_edge, softwire.subscribers,
                         tuples == nullptr ? inner : tuples->tuple(judged.datagram), softwire.core,
                         FrameKind::wrong_softwire);
}

FrameKind judge_mapping(const Classified& judged, const Receiver::Stream& stream, const TupleReader& tuples) {
  if (judged.outer != nullptr) return FrameKind::in_softwire;
  if (judged.family == Family::ipv4) return FrameKind::not_mapped;
  const auto tuple = tuples.tuple(judged.datagram);
  const bool from_edge = mapped_of(stream.form) == Mapped::from_edge;
  const std::uint64_t host = from_edge ? tuple.destination : tuple.source;
  const EmbeddingPrefix& prefix = stream.mapping.prefix;
  const uint128 far = uint128{prefix.high_of(host)} << 64 | prefix.low_of(host);
  return judge_addresses(judged.datagram.ip, from_edge, stream.mapping.subscribers, tuple, far,
                         FrameKind::wrong_mapping);
}

/// Returns what is wrong with the IPv6 header of an intact test frame, or with there being one or none; `test` if
/// nothing is.
FrameKind judge(const Classified& judged, const Receiver::Stream& stream, const TupleReader* tuples) {
  if (outer_of(stream.form) != Outer::none) return judge_softwire(judged, stream, tuples);
  if (mapped_of(stream.form) != Mapped::none) return judge_mapping(judged, stream, *tuples);
  return judged.outer == nullptr ? FrameKind::test : FrameKind::in_softwire;
}

bool is_neighbor_kind(FrameKind kind) { return kind == FrameKind::arp || kind == FrameKind::neighbor_solicitation; }

}  // namespace

Receiver::Receiver(const Port& port, std::span<const Source> sources, bool shared, const Neighbors& neighbors,
                   std::uint16_t run_id, std::vector<Stream> streams, Period period, const Clock& clock)
    : port_{port}, neighbors_{neighbors}, run_id_{run_id}, start_{period.start}, clock_{clock} {
  for (const Source& source : sources) queues_.push_back({.source = source});
  const std::size_t seconds = (period.end - period.start) / clock.hz() + 1;
  for (auto& stream : streams) {
    const FrameReader reader(stream.form, stream.family, stream.payloads, run_id,
                             static_cast<std::uint8_t>(receptions_.size()), stream.softwire, stream.mapping,
                             stream.segment);
    std::optional<TupleReader> tuples;
    if (TupleReader::is_needed(stream.form, stream.softwire)) tuples.emplace(stream.form, stream.mapping);
    Reception reception{std::move(stream), reader, tuples, {}, std::nullopt};
    if (reception.stream.loss_watch) next_look_ = 0;
    if (reception.stream.is_answered_here && !authority_) authority_ = std::make_unique<Authority>(port);
    if (reception.stream.expected) reception.statistics.emplace(reception.stream, seconds, shared);
    receptions_.push_back(std::move(reception));
  }
}

Receiver::Statistics::Statistics(const Stream& stream, std::size_t seconds, bool shared)
    : window{stream.frames, shared ? kLongestShared : SequenceWindow::kWidest},
      timeout{stream.timeout},
      tagged{stream.tagged},
      per_second(seconds) {
  if (stream.ipdv) variation.emplace();
  if (tagged) tagged_delays.resize(tagged->count);
}

/// Records the delays of frames that have not arrived before. Returns how many of them are in time.
std::uint64_t Receiver::Statistics::arrive(const Arrivals& distinct, std::uint64_t now) {
  std::uint64_t in_time = 0;
  // Frames that were sent together and arrive together have the same delay.
  for (auto times = distinct.times; !times.empty();) {
    const std::size_t frames = leading(times, 0);
    const std::uint64_t ticks = (now - times.front()) & kMask48;
    delay.record(ticks, frames);
    if (ticks <= timeout) in_time += frames;
    times = times.subspan(frames);
  }
  if (!variation && !tagged) return in_time;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    const std::uint64_t sequence = distinct.sequences[i];
    const std::uint64_t ticks = (now - distinct.times[i]) & kMask48;
    if (variation) variation->arrive(sequence, ticks);
    if (tagged && sequence >= tagged->first && (sequence - tagged->first) % tagged->stride == 0) {
      const std::uint64_t index = (sequence - tagged->first) / tagged->stride;
      if (index < tagged->count) tagged_delays[index] = ticks;
    }
  }
  return in_time;
}

/// Records the time without distinct frames that ends now.
void Receiver::Statistics::note_silence(std::uint64_t now) {
  if (last_arrival != 0 && now - last_arrival > silence) {
    silence = now - last_arrival;
    silence_start = last_arrival;
  }
  last_arrival = now;
}

void Receiver::poll() {
  for (Queue& queue : queues_) poll(queue);
  if (const std::uint64_t now = queues_.front().polled; now >= next_look_) watch_loss(now);
}

/// Finds out whether a stream has certainly lost too many frames. What was missing a while ago, although later frames
/// had arrived, is lost, but for as many frames as have come out of order since.
void Receiver::watch_loss(std::uint64_t now) {
  next_look_ = ~std::uint64_t{0};
  std::uint64_t too_many = 0;
  bool settled = true;
  for (Reception& reception : receptions_) {
    if (!reception.stream.loss_watch || !reception.statistics) continue;
    const LossWatch& watch = *reception.stream.loss_watch;
    const Counts& counts = reception.counts;
    Missing& before = reception.missing;
    if (now >= before.at + watch.patience) {
      const std::uint64_t allowed = watch.tolerated + counts.reordered - before.reordered;
      const std::uint64_t excess = before.frames - std::min(before.frames, allowed);
      before = {now, reception.statistics->window.next() - counts.received - counts.timed_out, counts.reordered, excess,
                excess <= before.too_many};
    }
    too_many += before.too_many;
    settled = settled && before.settled;
    next_look_ = std::min(next_look_, before.at + watch.patience);
  }
  if (too_many > 0) lost_too_many_.store(true, std::memory_order_relaxed);
  settled_loss_.store(settled ? too_many : 0, std::memory_order_relaxed);
}

void Receiver::poll(Queue& queue) {
  std::array<rte_mbuf*, kBurst> buffers;
  const std::size_t count = port_.receive(queue.source.queue, buffers);
  const std::uint64_t now = now_ticks();
  if (count == 0) {
    queue.polled = now;
    return;
  }
  BufferReturn buffer_return(*buffers.front());
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kBuffersAhead < count) __builtin_prefetch(buffers[i + kBuffersAhead]);
    frames_[i] = {rte_pktmbuf_mtod(buffers[i], const std::uint8_t*), buffers[i]->data_len};
    __builtin_prefetch(frames_[i].data());
    buffer_return.look_at(*buffers[i]);
  }
  take(queue, std::span(frames_).first(count), now);
  if (authority_ && authority_->waits()) authority_->send(queue.source.queue);
  queue.polled = now;
  queue.received += count;
  buffer_return.give_back(std::span(buffers).first(count));
}

void Receiver::take(Queue& queue, std::span<const Frame> frames, std::uint64_t now) {
  while (!frames.empty()) {
    const std::size_t taken = take_plain(queue, frames, now);
    if (taken == 0) take_odd(queue, frames.front(), now);
    frames = frames.subspan(std::max<std::size_t>(taken, 1));
  }
}

/// Processes the first of `frames` that have the form of one stream that ends here. Returns their number.
std::size_t Receiver::take_plain(Queue& queue, std::span<const Frame> frames, std::uint64_t now) {
  for (std::size_t stream = 0; stream < receptions_.size(); ++stream) {
    Reception& reception = receptions_[stream];
    if (!reception.statistics) continue;
    const std::size_t intact = reception.reader.read(frames, signatures_);
    if (intact == 0) continue;
    const auto sequences = std::span<const std::uint64_t>(signatures_.sequence).first(intact);
    const auto beyond = std::ranges::find_if(sequences, [&](std::uint64_t n) { return n >= reception.stream.frames; });
    const auto count = static_cast<std::size_t>(beyond - sequences.begin());
    if (count == 0) {
      const auto within = std::ranges::find_if(sequences, [&](std::uint64_t n) { return n < reception.stream.frames; });
      const auto misrouted = static_cast<std::size_t>(within - sequences.begin());
      reception.counts.misrouted += misrouted;
      return misrouted;
    }
    record(queue, stream,
           {sequences.first(count), std::span(signatures_.time).first(count), frames.first(count),
            reception.reader.ip_at(), reception.reader.transport_at(), reception.tuple_reader()},
           now);
    return count;
  }
  return 0;
}

void Receiver::take_odd(Queue& queue, Frame frame, std::uint64_t now) {
  const Classified judged = classify(frame);
  if (judged.kind == FrameKind::udp && take_message(queue, frame, now)) return;
  if (judged.kind != FrameKind::test && judged.kind != FrameKind::corrupt_test) {
    take_foreign(queue, frame, judged.kind, now);
    return;
  }
  const Signature signature = judged.signature();
  if (signature.run_id != run_id_ || signature.stream >= receptions_.size()) {
    ++stale_;
    return;
  }
  Reception& reception = receptions_[signature.stream];
  const auto ip_at = static_cast<std::size_t>(judged.datagram.ip - frame.data());
  const auto transport_at = static_cast<std::size_t>(judged.datagram.transport - frame.data());
  const bool of_form =
      judged.family == reception.header_family() && judged.protocol == transport_of(reception.stream.form);
  if (judged.kind == FrameKind::test && reception.statistics && (of_form || judged.family == reception.stream.family)) {
    if (const FrameKind kind = judge(judged, reception.stream, reception.tuple_reader()); kind != FrameKind::test) {
      take_foreign(queue, frame, kind, now);
      return;
    }
  }
  // A gateway must not remove or insert headers between IP and the datagram, nor change the sequence numbers of TCP,
  // and every frame has the length that it was sent with.
  const bool altered = of_form && (transport_at - ip_at != reception.reader.transport_at() - reception.reader.ip_at() ||
                                   !reception.reader.has_segment(judged.datagram.transport));
  // The tester sends none without a checksum, and an end of a softwire takes none away.
  const bool unsummed =
      judged.outer != nullptr && !reception.stream.softwire.may_lack_checksum && judged.lacks_checksum();
  if (judged.kind == FrameKind::corrupt_test || altered || unsummed ||
      judged.payload.size() != reception.reader.payload_bytes(signature.sequence)) {
    ++reception.counts.corrupt;
    take_foreign(queue, frame, FrameKind::corrupt_test, now);
    return;
  }
  if (!reception.statistics || !of_form || signature.sequence >= reception.stream.frames) {
    ++reception.counts.misrouted;
    return;
  }
  record(queue, signature.stream,
         {{&signature.sequence, 1}, {&signature.time, 1}, {&frame, 1}, ip_at, transport_at, reception.tuple_reader()},
         now);
}

/// Records intact frames of a stream that ends here, with numbers that it has.
void Receiver::record(Queue& queue, std::size_t stream, const Arrivals& arrivals, std::uint64_t now) {
  Reception& reception = receptions_[stream];
  Counts& counts = reception.counts;
  Statistics& statistics = *reception.statistics;
  Lanes<bool> accepted;
  if (reception.stream.check) reception.stream.check->accept(arrivals, accepted);
  std::uint64_t distinct = 0;
  std::uint64_t in_time = 0;
  const auto keep = [&](const Arrivals& kept) {
    distinct += kept.size();
    in_time += statistics.arrive(kept, now);
  };
  for (std::size_t next = 0; next < arrivals.size();) {
    // Consecutive numbers, as nearly all are, are looked up together.
    std::size_t count = leading(arrivals.sequences.subspan(next), 1);
    if (reception.stream.check) {
      // Looks at many at once, which std::ranges::find does not.
      const bool* first = &accepted[next];
      const auto* refused = static_cast<const bool*>(std::memchr(first, false, count));
      if (refused != nullptr) count = static_cast<std::size_t>(refused - first);
      if (count == 0) {
        ++counts.misrouted;
        ++next;
        continue;
      }
    }
    const Arrivals run = arrivals.part(next, count);
    next += count;
    if (statistics.window.arrive_in_order(run.sequences.front(), run.size())) {
      keep(run);
      continue;
    }
    for (std::size_t i = 0; i < run.size(); ++i) {
      const bool overtaken = run.sequences[i] < statistics.window.next();
      switch (statistics.window.arrive(run.sequences[i])) {
        case SequenceWindow::Arrival::duplicate:
          ++counts.duplicate;
          continue;
        case SequenceWindow::Arrival::beyond_window:
          ++counts.beyond_window;
          continue;
        case SequenceWindow::Arrival::distinct:
          break;
      }
      if (overtaken) ++counts.reordered;
      keep(run.part(i, 1));
    }
  }
  if (distinct == 0) return;
  counts.received += in_time;
  counts.timed_out += distinct - in_time;
  received_.add(distinct);
  statistics.note_silence(now);
  statistics.last_delay = least_delay(queue, arrivals.times.back(), now);
  if (now < start_) return;
  const std::size_t second = std::min((now - start_) / clock_.hz(), statistics.per_second.size() - 1);
  statistics.per_second[second] += in_time;
}

/// Returns the delay of a frame built at `time` as if it had arrived just after the last poll: while the tester's core
/// is away, frames that have arrived wait for it.
std::uint64_t Receiver::least_delay(const Queue& queue, std::uint64_t time, std::uint64_t now) {
  const std::uint64_t delay = (now - time) & kMask48;
  const std::uint64_t waited = queue.polled == 0 ? 0 : now - queue.polled;
  return delay > waited ? delay - waited : 0;
}

void Receiver::take_foreign(const Queue& queue, Frame frame, FrameKind kind, std::uint64_t now) {
  ++foreign_[static_cast<std::size_t>(kind)];
  if (is_neighbor_kind(kind)) {
    if (queue.source.answers == nullptr) {
      neighbors_.answer(port_, queue.source.queue, frame);
    } else if (const auto answer = neighbors_.answer_to(port_, frame)) {
      queue.source.answers->push(*answer);
    }
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

void Receiver::report(std::span<Receiver* const> receivers, const PauseMarks& marks, TrialReport& trial,
                      PortReport& port) {
  for (const Receiver* receiver : receivers) receiver->report_own(trial, port);
  Receiver& all = *receivers.front();
  for (std::size_t i = 0; i < all.receptions_.size(); ++i) {
    if (!all.receptions_[i].statistics) continue;
    StreamReport& stream = trial.streams.at(i);
    Statistics& statistics = *all.receptions_[i].statistics;
    for (const Receiver* other : receivers.subspan(1)) {
      // A frame that two of them took for distinct was duplicated. Its second delay stays in the histogram.
      const std::uint64_t both = statistics.window.merge(other->receptions_[i].statistics->window);
      const std::uint64_t both_in_time = std::min(both, stream.received);
      stream.received -= both_in_time;
      stream.timed_out -= both - both_in_time;
      stream.duplicate += both;
    }
    const Stream& expected = all.receptions_[i].stream;
    const std::uint64_t due = stream.due(expected.frames);
    stream.arrived = statistics.window.arrived();
    stream.lost = statistics.window.lost(due);
    if (stream.lost) {
      stream.lost_sample = sample_of_lost(statistics.window, due);
      note_bursts(statistics.window, expected, all.clock_, stream);
    }
    if (marks.any()) note_marked(statistics.window, expected, marks, stream);
    // Without frames on one core, there may have been some on another.
    if (receivers.size() > 1) continue;
    stream.silence = statistics.silence;
    stream.silence_start = statistics.silence == 0 ? 0 : statistics.silence_start - all.start_;
  }
}

/// Adds what each receiver of a port knows without the others.
void Receiver::report_own(TrialReport& trial, PortReport& port) const {
  for (std::size_t i = 0; i < receptions_.size(); ++i) {
    const Counts& counts = receptions_[i].counts;
    StreamReport& stream = trial.streams.at(i);
    stream.received += counts.received;
    stream.timed_out += counts.timed_out;
    stream.duplicate += counts.duplicate;
    stream.reordered = stream.reordered.value_or(0) + counts.reordered;
    stream.corrupt += counts.corrupt;
    stream.misrouted += counts.misrouted;
    stream.beyond_window += counts.beyond_window;
    if (receptions_[i].stream.queries) {
      if (!stream.queries) stream.queries.emplace();
      for (std::size_t kind = 0; kind < dns::kAnswerKinds; ++kind) {
        stream.queries->answers.at(kind) += receptions_[i].answers.at(kind);
      }
      if (receptions_[i].stream.is_answered_here) authority_->report(*stream.queries);
    }
    if (!receptions_[i].statistics) continue;
    const Statistics& statistics = *receptions_[i].statistics;
    stream.delay.add(statistics.delay);
    if (statistics.delay.count() > 0 && statistics.last_delay > statistics.delay.min()) {
      stream.backlog = std::max(stream.backlog, statistics.last_delay - statistics.delay.min());
    }
    if (statistics.variation) stream.ipdv.add(statistics.variation->variation());
    stream.tagged_delays.resize(statistics.tagged_delays.size());
    for (std::size_t tag = 0; tag < statistics.tagged_delays.size(); ++tag) {
      if (statistics.tagged_delays[tag]) stream.tagged_delays[tag] = statistics.tagged_delays[tag];
    }
    stream.received_per_second.resize(statistics.per_second.size());
    for (std::size_t second = 0; second < statistics.per_second.size(); ++second) {
      stream.received_per_second[second] += statistics.per_second[second];
    }
  }
  port.received_by_queue.resize(port_.options().queues);
  for (const Queue& queue : queues_) port.received_by_queue.at(queue.source.queue) = queue.received;
  trial.stale += stale_;
  for (std::size_t kind = 0; kind < kFrameKinds; ++kind) {
    if (foreign_.at(kind) != 0) port.foreign[static_cast<FrameKind>(kind)] += foreign_.at(kind);
  }
  for (const Sample& sample : std::span(samples_).first(samples_kept_)) {
    const auto bytes = std::span(sample.bytes).first(sample.length);
    trial.samples.push_back(
        {port_.options().place(), sample.kind, clock_.nanoseconds(sample.ticks), {bytes.begin(), bytes.end()}});
  }
}

}  // namespace natxy
