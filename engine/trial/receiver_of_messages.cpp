// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "trial/receiver.hpp"

// The part of a Receiver that takes what a DNS64 server sends: its answers, and its own queries to the authority.
namespace natxy {

/// Takes a message between the tester and a DNS64 server. Returns false if the frame has none.
bool Receiver::take_message(Queue& queue, Frame frame, std::uint64_t now) {
  const auto asks = [](const Reception& reception) { return reception.stream.queries && reception.statistics; };
  if (!authority_ && std::ranges::none_of(receptions_, asks)) return false;
  const auto datagram = dns::read_datagram(frame);
  if (!datagram) return false;
  if (authority_ && datagram->way.destination_port == dns::kPort) {
    authority_->take(*datagram);
    return true;
  }
  for (std::size_t stream = 0; stream < receptions_.size(); ++stream) {
    const Receiver::Stream& asked = receptions_[stream].stream;
    if (!asks(receptions_[stream]) || now < start_) continue;
    const auto number = asked.queries->number_of(*datagram, asked.schedule.due(now - start_));
    if (!number) continue;
    take_answer(queue, stream, *datagram, *number, now);
    return true;
  }
  return false;
}

/// Records the answer to query `number` of a stream if it is right, as the arrival of a frame that was made when the
/// query was due.
void Receiver::take_answer(Queue& queue, std::size_t stream, const dns::Datagram& answer, std::uint64_t number,
                           std::uint64_t now) {
  Reception& reception = receptions_[stream];
  const dns::AnswerKind kind = reception.stream.queries->queries.judge(answer.message, number);
  ++reception.answers.at(static_cast<std::size_t>(kind));
  if (kind != dns::AnswerKind::right) return;
  const std::uint64_t due = (start_ + reception.stream.schedule.due_at(number)) & kMask48;
  const Frame frame = answer.message;
  record(queue, stream, {{&number, 1}, {&due, 1}, {&frame, 1}}, now);
}

}  // namespace natxy
