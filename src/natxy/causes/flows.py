# SPDX-License-Identifier: Apache-2.0
"""Puts into words which flows lose frames: those of some hosts, destinations or ports, or the same ones each time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from natxy.causes.facts import Facts, missing
from natxy.causes.shape import percent
from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.results import FieldLosses, StreamResult
from natxy.plan.model.terms import Order
from natxy.plan.model.traffic import ActiveConnections
from natxy.results.trials import TrialRecord

# Nearly all of the loss has to be within the values that are named, and these are not nearly all values.
_NEARLY: Final = 0.95
_MOST_VALUES: Final = 0.8
# Among several fields and many ranges, chance has to be this unlikely.
_CHANCE: Final = 1e-5
# What is lost has to be lost over more than this part of a trial.
_MOST_OF_IT: Final = 0.5
# Of so small a share of the loss no explanation is asked for.
_FEW: Final = 0.05
# The smallest of so many hashes estimate how many there are (Bar-Yossef and others, 2002).
_MARKS: Final = 32
_MARK_BITS: Final = 53
# The engine's parts of a field's values, where these are more.
_PARTS: Final = 64
_SAME: Final = 0.8
_WORDS: Final = {
    "source_address": ("source addresses", "source address"),
    "destination_address": ("destination addresses", "destination address"),
    "source_port": ("source ports", "source port"),
    "destination_port": ("destination ports", "destination port"),
    "frame_size": ("frame sizes", "frame size"),
}
_REVERSED: Final = {
    name: name.replace("source", "?").replace("destination", "source").replace("?", "destination") for name in _WORDS
}


@dataclass(frozen=True)
class Values:
    """Holds the ends of the values of a field that have nearly all of a stream's lost frames, and what share of the
    frames with these values was lost. `name` is that of the field from left to right."""

    name: str
    field: FieldLosses
    ends: tuple[int, int]
    share: float

    @property
    def text(self) -> str:
        """The values, such as `source ports 33280 to 65535` or `source port 7`."""
        kind = type(self.field.lowest)
        ends = [*dict.fromkeys(str(kind(end)) for end in self.ends)]
        several, one = _WORDS[self.name]
        return f"{several if len(ends) > 1 else one} {' to '.join(ends)}"

    @property
    def are_too_long(self) -> bool:
        """True if these are the sizes of the longest frames, nearly all of which are lost."""
        return self.name == "frame_size" and self.ends[1] == int(self.field.highest) and self.share >= _NEARLY

    def is_like(self, other: Values | None) -> bool:
        """Returns True if these are about the same values, as those of another stream or trial are."""
        if other is None or other.name != self.name:
            return False
        near = _width(self.field) + _width(other.field)
        return all(abs(one - another) <= near for one, another in zip(self.ends, other.ends, strict=True))


def which(facts: Facts) -> str:
    """Returns a clause on the flows that lose frames; an empty text if they have nothing in common."""
    lost = facts.what if facts.of_connections else "flows"
    again = f"the same {lost} {'are lost' if facts.of_connections else 'lose frames'} each time"
    again = again if same_each_time(facts) else ""
    values = lossy_values(facts)
    if not values:
        return again
    of = f"have the {values.text}, where {percent(values.share)} are lost"
    return f"{again}; nearly all lost {facts.what} {of}" if again else f"nearly all lost {facts.what} {of}"


def lossy_values(facts: Facts) -> Values | None:
    """Returns the values of one field that have nearly all of the lost frames, in every failure at the lowest rate."""
    found = _of_trial(facts, facts.typical)
    if found is None or not all(found.is_like(_of_trial(facts, trial)) for trial in facts.lowest):
        return None
    return found


def same_each_time(facts: Facts) -> bool:
    """Returns True if all failures lost the same flows, which chance does not explain."""
    by_stream: dict[str, list[tuple[StreamResult, Sequence[int]]]] = {}
    for trial in facts.failures:
        for stream in trial.result.streams:
            known = stream.lost_flows if _gone(stream) and stream.role != StreamRole.BACKGROUND else None
            if known and known.marks:
                by_stream.setdefault(stream.name, []).append((stream, known.marks))
    several = [trials for trials in by_stream.values() if len(trials) > 1]
    return bool(several) and all(
        all(common(one, other) >= _SAME for (_, one), (_, other) in combinations(trials, 2))
        and by_chance(_share_of_flows(facts, *trials[0]), min(len(marks) for _, marks in trials), len(trials)) < _CHANCE
        for trials in several
    )


def common(one: Sequence[int], other: Sequence[int]) -> float:
    """Estimates which share of the flows that either of two trials lost both of them lost (Broder 1997)."""
    smallest = sorted({*one, *other})[:_MARKS]
    return len({*smallest} & {*one} & {*other}) / len(smallest)


def by_chance(share: float, flows: int, trials: int) -> float:
    """Returns how likely it is that all later trials lose nearly all of some flows again, if each loses any `share`."""
    counts = range(math.ceil(_SAME * flows), flows + 1)
    ways = ((math.comb(flows, count), share**count, (1 - share) ** (flows - count)) for count in counts)
    return sum(map(math.prod, ways)) ** (trials - 1)


def _share_of_flows(facts: Facts, stream: StreamResult, marks: Sequence[int]) -> float:
    """Returns about which share of a stream's flows lost frames."""
    lost = len(marks) if len(marks) < _MARKS else (len(marks) - 1) / (max(marks) / 2**_MARK_BITS)
    return min(1.0, lost / min(_flows_of(facts, stream), stream.planned))


def _flows_of(facts: Facts, stream: StreamResult) -> float:
    """Returns how many flows a stream has at most."""
    own = facts.experiment
    reverse = _is_reverse(stream)
    if own.connections is None:
        return own.reverse_flow_space_size if reverse else own.flow_space_size
    active = own.active_connections or ActiveConnections()
    used = None if facts.of_connections else active.reverse if reverse else active.forward
    return used or own.distinct_connections or own.connections


def _is_reverse(stream: StreamResult) -> bool:
    return stream.source == Side.RIGHT


def _gone(stream: StreamResult) -> int:
    """Returns the frames that never came; those that came too late are lost as well."""
    return stream.lost - stream.timed_out - stream.unsent


def _of_trial(facts: Facts, trial: TrialRecord) -> Values | None:
    """Returns the values of which all streams that lost frames lost them."""
    lossy = [stream for stream in trial.result.streams if _gone(stream) > _FEW * missing(trial)]
    if sum(map(_gone, lossy)) < _NEARLY * missing(trial):
        return None
    found = [_of_stream(facts, trial, stream) for stream in lossy]
    first = found[0]
    return first if first and all(first.is_like(each) for each in found) else None


def _of_stream(facts: Facts, trial: TrialRecord, stream: StreamResult) -> Values | None:
    if stream.lost_flows is None or stream.role == StreamRole.BACKGROUND or not _all_the_time(stream, trial):
        return None
    turned = facts.experiment.connections is None and _is_reverse(stream)
    orders = facts.experiment.orders.in_reverse if turned else facts.experiment.orders
    # Where values come in their order, those of frames that are lost together lie side by side.
    drawn = [
        each
        for each in stream.lost_flows.fields
        if each.field == "frame_size" or getattr(orders, each.field) == Order.PSEUDORANDOM
    ]
    fields = ((_REVERSED[each.field] if turned else each.field, each) for each in drawn)
    return next(filter(None, (_of_field(name, each, stream) for name, each in fields)), None)


def _all_the_time(stream: StreamResult, trial: TrialRecord) -> bool:
    """Returns True if a stream lost frames from early to late in a trial."""
    first, last = stream.first_lost, stream.last_lost
    traffic_s = min(trial.duration_s, stream.planned / stream.intended_rate_fps)
    return first is not None and last is not None and last.due_s - first.due_s > _MOST_OF_IT * traffic_s


def _of_field(name: str, field: FieldLosses, stream: StreamResult) -> Values | None:
    sent, lost = _shares(field.sent), _shares(field.lost)
    looked_at = sum(field.lost)
    first, last = densest(sent, lost)
    inside, weight = sum(lost[first : last + 1]), sum(sent[first : last + 1])
    chance = looked_at * weight ** max(0, looked_at - 1)
    if inside < _NEARLY or weight > _MOST_VALUES or chance > _CHANCE:
        return None
    # The parts at the ends may have values that lose nothing. There are few sizes, and no values between them.
    inner = last - first > 1 and name != "frame_size"
    interior = slice(first + 1, last) if inner else slice(first, last + 1)
    share = min(1.0, _gone(stream) * sum(lost[interior]) / (stream.planned * (sum(sent[interior]) or 1.0)))
    low, high, width = int(field.lowest), int(field.highest), _width(field)
    # They are exact if no lost frame is elsewhere but in the parts at the ends, which may belong to them in part.
    if sum(field.lost[max(0, first - 1) : last + 2]) == looked_at:
        return Values(name, field, (int(field.lost_lowest), int(field.lost_highest)), share)
    return Values(name, field, (low + first * width, min(high, low + (last + 1) * width - 1)), share)


def densest(sent: Sequence[float], lost: Sequence[float]) -> tuple[int, int]:
    """Returns the first and last of the neighbouring parts whose share of the loss exceeds that of the frames most."""
    best, ends = float("-inf"), (0, 0)
    total, begun = 0.0, 0
    for number, (all_of_them, missed) in enumerate(zip(sent, lost, strict=True)):
        if total <= 0:
            total, begun = 0.0, number
        total += missed - all_of_them
        if total > best:
            best, ends = total, (begun, number)
    return ends


def _width(field: FieldLosses) -> int:
    """Returns how many values a part has."""
    return (int(field.highest) - int(field.lowest)) // _PARTS + 1


def _shares(counts: Iterable[int]) -> list[float]:
    known = [*counts]
    return [count / max(1, sum(known)) for count in known]
