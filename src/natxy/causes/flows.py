# SPDX-License-Identifier: Apache-2.0
"""Puts into words which flows lose frames: those of some hosts, destinations or ports, or the same ones each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from natxy.causes.facts import Facts, missing
from natxy.causes.shape import percent
from natxy.engine.messages.results import FieldLosses, StreamResult
from natxy.results.trials import TrialRecord

# Nearly all of the loss has to be within the values that are named, and these are not nearly all values.
_NEARLY: Final = 0.95
_MOST_VALUES: Final = 0.8
# Among several fields and many ranges, chance has to be this unlikely.
_CHANCE: Final = 1e-5
# The smallest of so many hashes estimate how many there are (Bar-Yossef and others, 2002).
_MARKS: Final = 32
_MARK_BITS: Final = 53
# The engine's parts of a field's values, where these are more.
_PARTS: Final = 64
_SAME: Final = 0.8
_MOST_BY_CHANCE: Final = 0.5
_WORDS: Final = {
    "source_address": "source addresses",
    "destination_address": "destination addresses",
    "source_port": "source ports",
    "destination_port": "destination ports",
}


@dataclass(frozen=True)
class Values:
    """Holds the ends of the values of a field that have nearly all of a stream's lost frames, and what share of the
    frames with these values was lost."""

    field: FieldLosses
    ends: tuple[int, int]
    share: float

    @property
    def text(self) -> str:
        """The values, such as `source ports 33280 to 65535`."""
        kind = type(self.field.lowest)
        return f"{_WORDS[self.field.field]} {' to '.join(dict.fromkeys(str(kind(end)) for end in self.ends))}"

    def is_like(self, other: Values | None) -> bool:
        """Returns True if these are about the same values, as those of another trial are."""
        if other is None or other.field.field != self.field.field:
            return False
        near = _width(self.field) + _width(other.field)
        return all(abs(one - another) <= near for one, another in zip(self.ends, other.ends, strict=True))


def which(facts: Facts) -> str:
    """Returns a clause on the flows that lose frames; an empty text if they have nothing in common."""
    again = f"the same {facts.what} are lost each time" if same_each_time(facts) else ""
    values = lossy_values(facts)
    if not values:
        return again
    of = f"have {values.text}, where {percent(values.share)} are lost"
    return f"{again}, and nearly all of them {of}" if again else f"nearly all lost {facts.what} {of}"


def lossy_values(facts: Facts) -> Values | None:
    """Returns the values of one field that have nearly all of the lost frames, in every failure at the lowest rate."""
    if not _all_the_time(facts):
        return None
    found = _of_trial(facts.typical)
    if found is None or not all(found.is_like(_of_trial(trial)) for trial in facts.lowest):
        return None
    return found


def same_each_time(facts: Facts) -> bool:
    """Returns True if the failures lost the same flows, although they might have lost others."""
    by_stream: dict[str, list[tuple[StreamResult, Sequence[int]]]] = {}
    for trial in facts.failures:
        for stream in trial.result.streams:
            if stream.lost and stream.lost_flows and stream.lost_flows.marks:
                by_stream.setdefault(stream.name, []).append((stream, stream.lost_flows.marks))
    pairs = [pair for each in by_stream.values() for pair in combinations(each, 2)]
    return bool(pairs) and all(
        common(one, other) >= _SAME and _by_chance(facts, of_one, one) <= _MOST_BY_CHANCE
        for (of_one, one), (_, other) in pairs
    )


def common(one: Sequence[int], other: Sequence[int]) -> float:
    """Estimates which share of the flows that either of two trials lost both of them lost (Broder 1997)."""
    smallest = sorted({*one, *other})[:_MARKS]
    return len({*smallest} & {*one} & {*other}) / len(smallest)


def _by_chance(facts: Facts, stream: StreamResult, marks: Sequence[int]) -> float:
    """Returns the share that two trials would have in common if each lost any of the flows."""
    lost = len(marks) if len(marks) < _MARKS else (len(marks) - 1) / (max(marks) / 2**_MARK_BITS)
    own = facts.experiment
    flows = own.connections if facts.experiment.uses_connections and own.connections else own.flow_space_size
    share = min(1.0, lost / min(flows, stream.planned))
    return share / (2 - share)


def _all_the_time(facts: Facts) -> bool:
    """Returns True if frames are lost from early to late in the trials: where values come in their order, those of one
    moment lie side by side."""
    within = facts.lost_within_s
    return within is not None and within[1] - within[0] > 0.5 * min(trial.duration_s for trial in facts.failures)


def _of_trial(trial: TrialRecord) -> Values | None:
    lossy = [stream for stream in trial.result.streams if stream.lost]
    most = max(lossy, key=lambda stream: stream.lost)
    # The other direction's loss has to be small, or it would need an explanation of its own.
    if most.lost_flows is None or most.lost < _NEARLY * missing(trial):
        return None
    return next(filter(None, (_of_field(each, most) for each in most.lost_flows.fields)), None)


def _of_field(field: FieldLosses, stream: StreamResult) -> Values | None:
    sent, lost = _shares(field.sent), _shares(field.lost)
    looked_at = sum(field.lost)
    first, last = densest(sent, lost)
    inside, weight = sum(lost[first : last + 1]), sum(sent[first : last + 1])
    by_chance = looked_at * weight ** max(0, looked_at - 1)
    if inside < _NEARLY or weight > _MOST_VALUES or by_chance > _CHANCE:
        return None
    # The parts at the ends may have values that lose nothing.
    interior = slice(first + 1, last) if last - first > 1 else slice(first, last + 1)
    share = min(1.0, stream.lost * sum(lost[interior]) / (stream.planned * (sum(sent[interior]) or 1.0)))
    low, high, width = int(field.lowest), int(field.highest), _width(field)
    # They are exact if no lost frame is elsewhere but in the parts at the ends, which may belong to them in part.
    if sum(field.lost[max(0, first - 1) : last + 2]) == looked_at:
        return Values(field, (int(field.lost_lowest), int(field.lost_highest)), share)
    return Values(field, (low + first * width, min(high, low + (last + 1) * width - 1)), share)


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
