// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "form/classifier.hpp"
#include "form/frame_reader.hpp"
#include "form/signature.hpp"
#include "form/tuple_reader.hpp"
#include "measure/own_lines.hpp"
#include "measure/pause_marks.hpp"
#include "measure/sequence_window.hpp"
#include "pace/clock.hpp"
#include "pace/schedule.hpp"
#include "port/neighbors.hpp"
#include "port/port.hpp"
#include "trial/answer_queue.hpp"
#include "trial/arrival_check.hpp"
#include "trial/queries.hpp"
#include "trial/report.hpp"
#include "trial/spec.hpp"
#include "trial/task.hpp"

namespace natxy {

/// Receives on queues of a port: classifies every frame, keeps the statistics of the streams that end at this port, and
/// answers ARP and neighbour solicitations.
///
/// A stream has distinct, lost and overtaken frames, on whichever queue they come. With several queues nobody can tell
/// which were overtaken: the order in which queues are polled is no order of arrival.
class Receiver final : public Task {
 public:
  /// The longest stream whose every frame several receivers of a port can remember, in 1 GiB each.
  static constexpr std::uint64_t kLongestShared = std::uint64_t{1} << 33;

  /// Says when a stream has certainly lost too many frames: more than `tolerated`, each of which a later frame preceded
  /// by at least `patience` ticks. One task sends all frames of the stream, so that a later frame left later.
  struct LossWatch {
    std::uint64_t tolerated;
    std::uint64_t patience;
  };

  /// Describes a stream of the trial. `expected` is true if it ends at this port.
  struct Stream {
    bool expected = false;
    Form form = Form::udp;         // in which it arrives
    Family family = Family::ipv4;  // in which it arrives
    std::uint64_t frames = 0;
    SizeCycle payloads;  // in bytes; translation does not change them
    std::optional<TaggedFrames> tagged;
    bool ipdv = false;
    std::unique_ptr<ArrivalCheck> check;  // null: any four-tuple is accepted
    std::uint64_t timeout = kMask48;      // ticks of delay up to which a frame is in time; no delay is longer than this
    Schedule schedule{0, 0, 1, 1};        // from the trial's start on
    Softwire softwire{};                  // in which it arrives, if its form has one
    Mapping mapping{};                    // with which it arrives, if its form has one
    Segment segment{};                    // of which it consists, if its form is TCP
    std::optional<LossWatch> loss_watch;  // none: nobody asks whether it has lost too many
    // Of which it consists, if it does; what arrives are then the answers.
    std::optional<QueryStream> queries;
    bool is_answered_here = false;  // the port is the authority that the DUT asks
  };

  /// Bounds the trial, in clock ticks. Frames that arrive after `end` count towards the last second.
  struct Period {
    std::uint64_t start;
    std::uint64_t end;
  };

  /// Names a queue to receive on. `answers` leads to the worker that sends on it; null: to this one.
  struct Source {
    std::uint16_t queue;
    AnswerQueue* answers = nullptr;
  };

  /// `shared`: other receivers receive on other queues of the port.
  Receiver(const Port& port, std::span<const Source> sources, bool shared, const Neighbors& neighbors,
           std::uint16_t run_id, std::vector<Stream> streams, Period period, const Clock& clock);

  void poll() override;
  void postpone(std::uint64_t ticks) override { start_ += ticks; }

  [[nodiscard]] std::uint64_t received_so_far() const { return received_.get(); }
  /// Returns whether a stream with a LossWatch has certainly lost too many frames. Other threads may read it at any
  /// time.
  [[nodiscard]] bool lost_too_many() const { return lost_too_many_.load(std::memory_order_relaxed); }
  /// Returns how many frames such streams have certainly lost too many, or 0 while their number grows. Other threads
  /// may read it at any time.
  [[nodiscard]] std::uint64_t settled_loss() const { return settled_loss_.load(std::memory_order_relaxed); }
  /// Adds the results of all receivers of a port to the reports. `marks` are those of all senders. Call it once, after
  /// the workers have stopped.
  static void report(std::span<Receiver* const> receivers, const PauseMarks& marks, TrialReport& trial,
                     PortReport& port);

 private:
  static constexpr std::size_t kMostSamples = 8;
  static constexpr std::size_t kMostSampleBytes = 256;

  struct Statistics {
    Statistics(const Stream& stream, std::size_t seconds, bool shared);
    std::uint64_t arrive(const Arrivals& distinct, std::uint64_t now);
    void note_silence(std::uint64_t now);

    SequenceWindow window;
    std::uint64_t timeout;
    Histogram delay;
    std::optional<DelayVariation> variation;
    std::optional<TaggedFrames> tagged;
    OwnLines<std::optional<std::uint64_t>> tagged_delays;
    OwnLines<std::uint64_t> per_second;
    std::uint64_t last_arrival = 0;
    std::uint64_t last_delay = 0;  // of the frame that arrived last; the least that it can have been
    std::uint64_t silence_start = 0;
    std::uint64_t silence = 0;
  };
  struct Counts {
    std::uint64_t received = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t duplicate = 0;
    std::uint64_t reordered = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t misrouted = 0;
    std::uint64_t beyond_window = 0;
  };
  /// Holds what was missing at one moment: the frames that later ones had overtaken, and how many of such frames had
  /// come after all.
  struct Missing {
    std::uint64_t at = 0;  // tick
    std::uint64_t frames = 0;
    std::uint64_t reordered = 0;
    std::uint64_t too_many = 0;  // of those of the look before, lost by now and not tolerated
    bool settled = false;        // no more than at the look before
  };
  struct Reception {
    Stream stream;
    FrameReader reader;
    std::optional<TupleReader> tuples;  // of forms that need it
    Counts counts;
    std::optional<Statistics> statistics;
    Missing missing{};
    std::array<std::uint64_t, dns::kAnswerKinds> answers{};

    [[nodiscard]] const TupleReader* tuple_reader() const { return tuples ? &*tuples : nullptr; }
    [[nodiscard]] Family header_family() const { return layout_of(stream.form, stream.family).header_family(); }
  };

  struct Queue {
    Source source;
    std::uint64_t polled = 0;    // when it was last asked for frames
    std::uint64_t received = 0;  // frames of any kind
  };

  using Frame = FrameReader::Frame;

  void poll(Queue& queue);
  void watch_loss(std::uint64_t now);
  void take(Queue& queue, std::span<const Frame> frames, std::uint64_t now);
  std::size_t take_plain(Queue& queue, std::span<const Frame> frames, std::uint64_t now);
  void take_odd(Queue& queue, Frame frame, std::uint64_t now);
  bool take_message(Queue& queue, Frame frame, std::uint64_t now);
  void take_answer(Queue& queue, std::size_t stream, const dns::Datagram& answer, std::uint64_t number,
                   std::uint64_t now);
  void record(Queue& queue, std::size_t stream, const Arrivals& arrivals, std::uint64_t now);
  [[nodiscard]] static std::uint64_t least_delay(const Queue& queue, std::uint64_t time, std::uint64_t now);
  void take_foreign(const Queue& queue, Frame frame, FrameKind kind, std::uint64_t now);
  void report_own(TrialReport& trial, PortReport& port) const;

  const Port& port_;
  OwnLines<Queue> queues_;
  const Neighbors& neighbors_;
  std::uint16_t run_id_;
  std::uint64_t start_;
  Clock clock_;
  OwnLines<Reception> receptions_;
  std::unique_ptr<Authority> authority_;  // null: the DUT asks none here
  Counter received_;
  std::uint64_t next_look_ = ~std::uint64_t{0};  // tick at which to look for losses again; never, if no stream asks
  std::atomic<bool> lost_too_many_ = false;
  std::atomic<std::uint64_t> settled_loss_ = 0;
  std::uint64_t stale_ = 0;
  std::array<std::uint64_t, kFrameKinds> foreign_{};
  // The current burst. As local variables these would be zeroed for each burst.
  std::array<Frame, kBurst> frames_;
  SignatureLanes signatures_;
  /// Holds the start of a foreign frame in preallocated memory.
  struct Sample {
    FrameKind kind;
    std::uint64_t ticks;
    std::size_t length;
    std::array<std::uint8_t, kMostSampleBytes> bytes;
  };
  std::array<Sample, kMostSamples> samples_{};
  std::size_t samples_kept_ = 0;
};

}  // namespace natxy
