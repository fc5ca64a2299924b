// SPDX-License-Identifier: Apache-2.0
#include "trial/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace natxy {

namespace {

// So few of the frames that arrive change a rate by less than it varies.
constexpr double kFewDrops = 0.01;

void set(TrialReport& report, Verdict verdict, Cause cause, std::string reason) {
  report.verdict = verdict;
  report.cause = cause;
  report.reason = std::move(reason);
}

std::uint64_t lost(const StreamSpec& spec, const StreamReport& stream) {
  const std::uint64_t due = stream.due(spec.frames);
  return due - std::min(due, stream.received);
}

const PortReport* port_of(const TrialReport& report, Place place) {
  const auto port = std::ranges::find(report.ports, place, &PortReport::place);
  return port == report.ports.end() ? nullptr : &*port;
}

/// Names a port as users count them: the first pair has the left and the right port.
std::string name_of(Place place) {
  const std::string port = place.side == Side::left ? "left port" : "right port";
  return place.pair == 0 ? port : fmt::format("{} of pair {}", port, place.pair + 1);
}

/// Formats a number with thousands separators.
std::string grouped(std::uint64_t count) {
  std::string digits = fmt::to_string(count);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

std::string frames(std::uint64_t count) { return grouped(count) + (count == 1 ? " frame" : " frames"); }

/// Returns what a reason says of an early end, if the trial had one.
std::string_view of_early_end(const TrialReport& report) {
  return report.ended_early() ? "; then the trial was ended" : "";
}

/// Tells which of a stream's lost frames a pause of the tester may have cost.
struct LossByPause {
  std::uint64_t near = 0;   // due when a pause may have harmed them, or it is not known when
  std::uint64_t apart = 0;  // due at other times
  bool steady = false;      // the losses apart do not come from the pauses
};

/// Finds the part of a stream's loss that pauses cannot explain. A burst that overflows a queue costs frames at once,
/// and while the queue stays nearly full, few in comparison. So losses apart from pauses are the gateway's if they are
/// nearly as frequent as near the pauses. Frames that came too late may have been due at any time.
LossByPause by_pause(const StreamSpec& spec, const StreamReport& stream) {
  constexpr double nearly = 0.25;
  const std::uint64_t missing = lost(spec, stream) - std::min(lost(spec, stream), stream.corrupt);
  LossByPause loss;
  loss.near = std::min(missing, stream.lost_near_pauses + stream.timed_out);
  loss.apart = missing - loss.near;
  const std::uint64_t due = stream.due(spec.frames);
  const auto near_frames = static_cast<double>(std::min(stream.near_pauses, due));
  const double apart_frames = static_cast<double>(due) - near_frames;
  loss.steady = loss.apart > 0 &&
                static_cast<double>(loss.apart) * near_frames >= nearly * static_cast<double>(loss.near) * apart_frames;
  return loss;
}

/// Describes the wrong answers to a stream's queries, kind by kind; empty if there are none.
std::string describe_answers(const QueryReport& queries) {
  constexpr std::array<const char*, dns::kAnswerKinds> kinds = {
      "right",    "malformed",   "to another question", "truncated",
      "SERVFAIL", "other error", "without an address",  "with a wrong address"};
  std::vector<std::string> wrong;
  for (std::size_t kind = 1; kind < kinds.size(); ++kind) {
    if (queries.answers.at(kind) > 0)
      wrong.push_back(fmt::format("{} {}", grouped(queries.answers.at(kind)), kinds.at(kind)));
  }
  return wrong.empty() ? "" : fmt::format(", wrong answers: {}", fmt::join(wrong, ", "));
}

/// Describes the queries of a stream that had no right answer in time.
std::string describe_unanswered(const StreamSpec& spec, const StreamReport& stream) {
  const std::uint64_t missing = lost(spec, stream);
  const std::uint64_t due = stream.due(spec.frames);
  return fmt::format("{}: {} of {} queries had no right answer in time ({:.4f} %)", spec.name, grouped(missing),
                     grouped(due), 100.0 * static_cast<double>(missing) / static_cast<double>(due)) +
         describe_answers(*stream.queries);
}

/// Describes a stream's lost frames, those of them that arrived late or corrupt, and whether the loss is tolerated.
std::string describe_loss(const StreamSpec& spec, const StreamReport& stream) {
  const std::uint64_t missing = lost(spec, stream);
  const std::uint64_t due = stream.due(spec.frames);
  std::string loss = stream.queries
                         ? describe_unanswered(spec, stream)
                         : fmt::format("{}: {} of {} lost ({:.4f} %)", spec.name, grouped(missing), frames(due),
                                       100.0 * static_cast<double>(missing) / static_cast<double>(due));
  if (stream.absent > 0) {
    loss += fmt::format(", {} not sent, because what they reply to had not arrived", grouped(stream.absent));
  }
  if (spec.frame_timeout_s && stream.timed_out > 0) {
    loss += fmt::format(", {} came later than {:g} ms", frames(stream.timed_out), *spec.frame_timeout_s * 1e3);
  }
  if (const LossByPause pauses = by_pause(spec, stream); stream.near_pauses > 0 && pauses.steady) {
    loss += fmt::format(", {} of them apart from the tester's pauses", grouped(pauses.apart));
  }
  if (stream.corrupt > 0) loss += fmt::format(", {} arrived with a wrong checksum or length", grouped(stream.corrupt));
  return missing > spec.tolerated_loss() ? loss : loss + ", which is tolerated";
}

/// Describes the lost frames of all streams that lost any which had to pass; empty if none did. Of connections that the
/// trial makes and uses, only the first step that lost too many is described, or the first that lost any.
std::string describe_losses(const TrialSpec& spec, const TrialReport& report) {
  std::vector<std::size_t> losing;
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    if (spec.streams[i].role != StreamRole::spoofed && lost(spec.streams[i], report.streams[i]) > 0)
      losing.push_back(i);
  }
  const auto describe = [&](std::size_t i) { return describe_loss(spec.streams[i], report.streams[i]); };
  const bool lives = std::ranges::any_of(spec.streams, [&](const auto& stream) { return spec.is_prompt(stream); });
  std::vector<std::string> losses;
  if (!lives || losing.size() < 2) {
    std::ranges::transform(losing, std::back_inserter(losses), describe);
    return fmt::format("{}", fmt::join(losses, "; "));
  }
  const auto too_many = std::ranges::find_if(losing, [&](std::size_t i) {
    return lost(spec.streams[i], report.streams[i]) > spec.streams[i].tolerated_loss();
  });
  const std::size_t first = too_many == losing.end() ? losing.front() : *too_many;
  std::uint64_t others = 0;
  for (const std::size_t i : losing) others += i == first ? 0 : lost(spec.streams[i], report.streams[i]);
  return fmt::format("{}; and {} of other steps", describe(first), frames(others));
}

std::uint64_t total(const ReceiveDrops& drops) { return drops.missed + drops.no_buffer + drops.kernel; }

/// Returns how many frames the tester itself may have cost a stream on reception; of queries, also those that the
/// authority did not receive or answer.
std::uint64_t dropped_of(const StreamSpec& spec, const StreamReport& stream, const TrialReport& report) {
  std::uint64_t dropped = 0;
  const auto add = [&](Place place) {
    if (const PortReport* port = port_of(report, place)) dropped += total(port->drops);
  };
  add(spec.to());
  if (stream.queries) {
    add(opposite(spec.from()));
    dropped += stream.queries->unsent;
  }
  return dropped;
}

/// Sets the verdict if a stream was not sent as requested. Returns whether it did.
bool judge_sending(const TrialSpec& spec, std::size_t index, const Clock& clock, TrialReport& report) {
  const StreamSpec& asked = spec.streams[index];
  const StreamReport& stream = report.streams[index];
  const double planned_s = static_cast<double>(asked.frames) / asked.rate_fps;
  const double bound_s = spec.limits.overrun_s(planned_s);
  const std::uint64_t unsent = stream.due(asked.frames) - stream.sent - stream.absent;
  const double overrun_s = clock.seconds(stream.pacing.overrun);
  if (unsent == 0 && overrun_s <= bound_s) return false;

  // The port is to blame only if waiting for it explains at least half of the delay.
  const double blocked_s = clock.seconds(stream.pacing.blocked);
  const PortReport* port = port_of(report, asked.from());
  const bool blocked = stream.pacing.refused > 0 && blocked_s * 2 >= overrun_s;
  const bool dut_fetches = port != nullptr && (port->medium == Medium::veth || port->medium == Medium::memif);
  if (blocked && dut_fetches) {
    set(report, Verdict::fail, Cause::back_pressure,
        fmt::format("{}: the DUT's path took {} of {} in time; frames waited {:.3f} s for it", asked.name,
                    grouped(stream.sent), frames(asked.frames), blocked_s));
  } else if (unsent > 0) {
    set(report, Verdict::invalid, Cause::unsent,
        fmt::format("{}: {} of {} were not sent at {:.0f} frames/s: the tester is too slow or was disturbed",
                    asked.name, grouped(unsent), frames(asked.frames), asked.rate_fps));
  } else {
    set(report, Verdict::invalid, Cause::late,
        fmt::format(
            "{}: the last frame left {:.3f} ms late ({:.3f} ms are allowed) at {:.0f} frames/s: the tester is too slow "
            "or was disturbed",
            asked.name, 1e3 * overrun_s, 1e3 * bound_s, asked.rate_fps));
  }
  return true;
}

}  // namespace

void judge(const TrialSpec& spec, const Clock& clock, TrialReport& report) {
  // This also ends the trial, as an abort does.
  if (report.suspended) {
    set(report, Verdict::invalid, Cause::suspended, *report.suspended);
    return;
  }
  if (report.aborted) {
    set(report, Verdict::invalid, Cause::aborted, "the trial was aborted");
    return;
  }
  for (const PortReport& port : report.ports) {
    if (port.link_up && (!port.link_fell || spec.limits.link_may_fall)) continue;
    set(report, Verdict::invalid, Cause::link_down,
        fmt::format("the link of the {} went down{}{}", name_of(port.place), port.link_up ? " and up again" : "",
                    of_early_end(report)));
    return;
  }
  for (const PortReport& port : report.ports) {
    if (port.rejected == 0) continue;
    set(report, Verdict::invalid, Cause::unsent,
        fmt::format("the kernel rejected {} that the tester sent on the {}", frames(port.rejected),
                    name_of(port.place)));
    return;
  }
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    if (judge_sending(spec, i, clock, report)) return;
  }

  double burst_frames = 0;  // sent in bursts after the tester's pauses, in all streams
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    burst_frames += clock.seconds(report.streams[i].pacing.paused) * spec.streams[i].rate_fps;
  }
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    const StreamSpec& asked = spec.streams[i];
    const std::uint64_t missing = lost(asked, report.streams[i]);
    const std::uint64_t dropped = dropped_of(asked, report.streams[i], report);
    if (missing <= asked.tolerated_loss()) {
      // The loss of an overload is a result, and has to be the DUT's.
      const double few = kFewDrops * static_cast<double>(report.streams[i].received);
      if (asked.role == StreamRole::spoofed || static_cast<double>(std::min(dropped, missing)) <= few) continue;
      set(report, Verdict::invalid, Cause::tester_drops,
          fmt::format("{}: of {} lost, the tester itself dropped {} on reception", asked.name, frames(missing),
                      dropped));
      continue;
    }
    const std::uint64_t too_many = missing - asked.tolerated_loss();
    // Frames that came after their time-out were not dropped, though a pause may have delayed them.
    const auto drops = static_cast<double>(std::min(dropped, missing - std::min(missing, report.streams[i].timed_out)));
    // Frames that arrived corrupt were neither dropped by the tester nor lost in its bursts.
    const std::uint64_t absent = missing - std::min(missing, report.streams[i].corrupt);
    const LossByPause pauses = by_pause(asked, report.streams[i]);
    const double spoilt = pauses.steady ? std::min(burst_frames, static_cast<double>(pauses.near)) : burst_frames;
    if (too_many > absent || static_cast<double>(too_many) > drops + spoilt) {
      set(report, Verdict::fail, Cause::loss, fmt::format("{}{}", describe_losses(spec, report), of_early_end(report)));
      return;
    }
    if (drops >= spoilt) {
      set(report, Verdict::invalid, Cause::tester_drops,
          fmt::format("{}: {} lost, but the tester itself dropped {} {}{}", asked.name, frames(missing), dropped,
                      asked.queries ? "on reception, or as the authority" : "on reception", of_early_end(report)));
    } else {
      set(report, Verdict::invalid, Cause::paused,
          fmt::format("{}: {} lost, but the tester paused for {:.3f} ms and sent {} in bursts afterwards{}", asked.name,
                      frames(missing), clock.seconds(report.streams[i].pacing.paused) * 1e3,
                      frames(static_cast<std::uint64_t>(std::ceil(burst_frames))), of_early_end(report)));
    }
  }
  if (report.cause == Cause::tester_drops || report.cause == Cause::paused) return;
  for (std::size_t i = 0; i < spec.streams.size(); ++i) {
    const StreamSpec& asked = spec.streams[i];
    const double backlog_s = clock.seconds(report.streams[i].backlog);
    if (!asked.max_backlog_s || backlog_s <= *asked.max_backlog_s) continue;
    set(report, Verdict::fail, Cause::backlog,
        fmt::format("{}: the last frame took {:.3f} ms longer than the fastest, {:.3f} ms are allowed; the DUT's queue "
                    "grows, so that longer traffic would lose frames",
                    asked.name, backlog_s * 1e3, *asked.max_backlog_s * 1e3));
    return;
  }
  if (report.ended_early()) {
    set(report, Verdict::invalid, Cause::aborted,
        "the trial was ended because frames were lost, and they arrived after all");
  } else if (const std::string losses = describe_losses(spec, report); !losses.empty()) {
    set(report, Verdict::pass, Cause::loss, losses);
  } else {
    const bool asked = std::ranges::any_of(spec.streams, [](const auto& stream) { return stream.queries.has_value(); });
    set(report, Verdict::pass, Cause::lossless, asked ? "every query was answered" : "every frame arrived");
  }
}

}  // namespace natxy
