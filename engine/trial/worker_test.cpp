// SPDX-License-Identifier: Apache-2.0
#include "trial/worker.hpp"

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "packet/neighbor_messages.hpp"
#include "trial/runner/ring_bed.hpp"

// Runs a worker on a thread of the test, with a port looped back to itself. No frame passes between threads, so
// ThreadSanitizer sees everything that two threads share.
namespace natxy {
namespace {

constexpr std::uint64_t kFrames = 10'000;
constexpr double kRate_fps = 200'000;
constexpr std::uint16_t kRunId = 1;
constexpr auto kPatience = std::chrono::seconds(60);

/// Opens a port that receives what it sends.
class LoopedPort {
 public:
  LoopedPort() {
    eal();
    const std::string name = "loop" + std::to_string(++serial_);
    ring_ = rte_ring_create(name.c_str(), 8192, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    rte_eth_from_rings(name.c_str(), &ring_, 1, &ring_, 1, 0);
    PortOptions options;
    options.device = "net_ring_" + name;
    options.medium = Medium::loop;
    port_.emplace(options);
  }
  LoopedPort(const LoopedPort&) = delete;
  LoopedPort& operator=(const LoopedPort&) = delete;
  ~LoopedPort() {
    port_.reset();
    rte_ring_free(ring_);
  }
  const Port& operator*() const { return *port_; }

 private:
  inline static int serial_ = 0;
  rte_ring* ring_ = nullptr;
  std::optional<Port> port_;
};

std::unique_ptr<Sender> sender_on(const Port& port, const Clock& clock, std::uint64_t start) {
  constexpr Family F = Family::ipv4;
  const FrameWriter<kUdpIpv4> frame(Form::udp,
                                    {kUdpIpv4.smallest_frame(), 64, false, port.mac(), port.mac(), 0, kRunId});
  const TupleSpace<F> space({{0xC6120003, 0, 0, {}}, {0xC6120002, 0, 0, {}}, {80, 80}, {10000, 10000}}, 1);
  auto frames = std::make_unique<StreamFrames<kUdpIpv4>>(frame, std::make_unique<RandomFlows<F>>(space));
  const Schedule schedule(start, kFrames, kRate_fps, clock.hz());
  const std::uint64_t gives_up_at = start + clock.ticks(60);
  return std::make_unique<Sender>(
      port, 0, std::move(frames),
      Sender::Setup{{0}, Turns(kFrames, 0), start, schedule, {0, 1}, gives_up_at, clock.hz(), clock.hz(), clock.hz()});
}

TEST(Worker, IsWatchedWhileItWorksForManySeconds) {
  const LoopedPort port;
  const Neighbors nobody;
  const Clock clock{rte_get_tsc_hz()};
  // The receiver takes 10 µs for a second.
  const Clock hasty{clock.hz() / 100'000};
  const std::uint64_t start = now_ticks() + clock.ticks(0.01);
  WorkerSignals signals;
  signals.begin = true;
  Worker worker;
  worker.signals = &signals;
  worker.senders.push_back(sender_on(*port, clock, start));
  std::vector<Receiver::Stream> streams;
  constexpr std::array kPayloads = {kSignatureBytes};
  streams.push_back({true, Form::udp, Family::ipv4, kFrames, SizeCycle(kPayloads), std::nullopt, false, nullptr});
  worker.receivers.push_back(
      {0, std::make_unique<Receiver>(*port, std::array{Receiver::Source{0}}, false, nobody, kRunId, std::move(streams),
                                     Receiver::Period{start, start + clock.ticks(10)}, hasty)});
  const Sender& sender = *worker.senders.front();
  Receiver& receiver = *worker.receivers.front().task;

  std::thread thread(Worker::run, &worker);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  while ((!sender.done() || received < kFrames) && std::chrono::steady_clock::now() < deadline) {
    EXPECT_GE(sender.sent_so_far(), sent);
    sent = sender.sent_so_far();
    received = receiver.received_so_far();
    // Whoever looks without a break slows the worker down, most of all under ThreadSanitizer.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  signals.stop = true;
  thread.join();

  EXPECT_EQ(received, kFrames);
  TrialReport report;
  report.streams.resize(1);
  PortReport port_report;
  PauseMarks marks;
  sender.report(report.streams, marks);
  Receiver::report(std::array{&receiver}, marks, report, port_report);
  EXPECT_EQ(report.streams[0].sent, kFrames);
  const auto& seconds = report.streams[0].received_per_second;
  EXPECT_EQ(std::accumulate(seconds.begin(), seconds.end(), std::uint64_t{0}), kFrames);
  // Two frames are due in each second. The machine may delay them, but never sends them early.
  for (const std::ptrdiff_t some : {1000, 2000, 4000}) {
    EXPECT_LE(std::accumulate(seconds.begin(), seconds.begin() + some, std::uint64_t{0}),
              static_cast<std::uint64_t>(2 * some + 1));
  }
}

std::optional<NeighborMessage> received(const Port& port) {
  std::array<rte_mbuf*, 1> buffer{};
  if (port.receive(0, buffer) == 0) return std::nullopt;
  const auto message = parse_neighbor_message({rte_pktmbuf_mtod(buffer[0], const std::uint8_t*), buffer[0]->data_len});
  rte_pktmbuf_free(buffer[0]);
  return message;
}

TEST(AnswerQueue, TheWorkerThatSendsOnAQueueSendsTheAnswersToo) {
  const LoopedPort port;
  LinkNeighbor link;
  link.address = *parse_address("198.18.0.2");
  link.gateway = *parse_address("198.18.0.1");
  const Neighbors neighbors({link});
  AnswerQueue answers(*port, 0);
  const Clock clock{rte_get_tsc_hz()};
  Receiver receiver(*port, std::array{Receiver::Source{0, &answers}}, false, neighbors, kRunId, {},
                    {now_ticks(), now_ticks() + clock.hz()}, clock);
  ASSERT_TRUE((*port).send(0, make_neighbor_request(link.gateway, kGatewayMac, link.address)));
  receiver.poll();
  EXPECT_FALSE(received(*port)) << "the receiver has sent something itself";
  answers.send();
  const auto answer = received(*port);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->is_request);
  EXPECT_EQ(answer->target, link.address);
  EXPECT_EQ(answer->sender_mac, (*port).mac());
  EXPECT_FALSE(received(*port));
}

TEST(AnswerQueue, TakesEveryAnswerOnceAndInOrderBetweenTwoThreads) {
  constexpr std::uint32_t kAnswers = 20'000;
  const LoopedPort port;
  AnswerQueue answers(*port, 0);
  const auto address = [](std::uint32_t number) { return AnyAddress{Family::ipv4, number}; };
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::thread receiver([&] {
    for (std::uint32_t i = 0; i < kAnswers && std::chrono::steady_clock::now() < deadline;) {
      const NeighborMessage request{true, address(1), kGatewayMac, address(i)};
      if (answers.push(make_neighbor_answer(request, kGatewayMac))) ++i;
    }
  });
  std::uint32_t next = 0;
  bool in_order = true;
  while (next < kAnswers && std::chrono::steady_clock::now() < deadline) {
    answers.send();
    while (const auto answer = received(*port)) in_order = in_order && answer->target == address(next++);
  }
  receiver.join();
  EXPECT_EQ(next, kAnswers);
  EXPECT_TRUE(in_order);
}

TEST(AnswerQueue, LosesAnswersWhenItIsFull) {
  const LoopedPort port;
  AnswerQueue answers(*port, 0);
  int taken = 0;
  while (answers.push(make_neighbor_request({}, kGatewayMac, {}))) ++taken;
  EXPECT_EQ(taken, 256);
  answers.send();
  EXPECT_TRUE(answers.push(make_neighbor_request({}, kGatewayMac, {})));
  int sent = 0;
  while (received(*port)) ++sent;
  EXPECT_EQ(sent, 256);
}

}  // namespace
}  // namespace natxy
