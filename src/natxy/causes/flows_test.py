# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.causes.causes import explain
from natxy.causes.facts import Facts
from natxy.causes.flows import by_chance, common, densest, same_each_time, which
from natxy.engine.messages.results import FieldLosses, LostFlows, StreamResult
from natxy.results.trials import TrialKind, TrialRecord
from tests.support.failed_trials import experiment, record, stream

_PARTS = 64
_LOWEST, _WIDTH = 1024, 1008


def ports(lost: Sequence[int], **over: Any) -> FieldLosses:
    """Returns what the engine says of ports 1024 to 65535 whose parts lost so many frames of 1,000."""
    lossy = [number for number, count in enumerate(lost) if count] or [0]
    ends = {"lost_lowest": _LOWEST + lossy[0] * _WIDTH, "lost_highest": _LOWEST + (lossy[-1] + 1) * _WIDTH - 1}
    values = {"lowest": _LOWEST, "highest": 65535, "sent": [1000] * _PARTS, "lost": list(lost)}
    return FieldLosses.model_validate({"field": "source_port", **values, **ends, **over})


def failure(
    rate: float,
    lost: int,
    fields: Sequence[FieldLosses] = (),
    marks: Sequence[int] | None = None,
    planned: int = 64_000,
    foreign: dict[str, int] | None = None,
) -> TrialRecord:
    flows = LostFlows(fields=[*fields], marks=None if marks is None else sorted(marks))
    made = stream("phase 1", planned, lost, rate, (0.0, planned / rate)).model_copy(update={"lost_flows": flows})
    return record(rate, made, kind=TrialKind.PHASE1, foreign=foreign)


def said(*trials: TrialRecord, connections: int = 64_000) -> str:
    return which(Facts(experiment(connections), trials))


def test_a_range_of_ports_that_is_lost() -> None:
    half = ports([0] * 32 + [1000] * 32)
    trials = [failure(rate, 32_000, [half]) for rate in (5000, 10_000)]
    assert said(*trials) == "nearly all lost connections have the source ports 33280 to 65535, where 100 % are lost"
    assert explain(experiment(64_000), trials).endswith(
        "where 100 % are lost: the gateway treats the source ports 33280 to 65535 otherwise than the others; look at "
        "its rules, its port sets, and how it spreads flows over cores and queues (`ethtool -x`)"
    )


def test_a_range_that_ends_within_a_part_is_exact() -> None:
    field = ports([0] * 31 + [400] + [1000] * 32, lost_lowest=32_768)
    assert "source ports 32768 to 65535" in said(failure(5000, 32_400, [field]))


def test_a_host_whose_frames_are_lost() -> None:
    hosts = FieldLosses(
        field="source_address", lowest=IPv4Address("198.18.1.0"), highest=IPv4Address("198.18.1.9"),
        lost_lowest=IPv4Address("198.18.1.3"), lost_highest=IPv4Address("198.18.1.3"), sent=[6400] * 10,
        lost=[0, 0, 0, 3200, 0, 0, 0, 0, 0, 0],
    )  # fmt: skip
    found = said(failure(5000, 3200, [ports([50] * _PARTS), hosts]))
    assert found == "nearly all lost connections have the source address 198.18.1.3, where 50 % are lost"


def test_stray_losses_elsewhere_leave_the_ends_of_the_parts() -> None:
    found = said(failure(5000, 32_020, [ports([20] + [0] * 31 + [1000] * 32)]))
    assert found == "nearly all lost connections have the source ports 33280 to 65535, where 100 % are lost"


@pytest.mark.parametrize(
    "lost",
    [
        [10] * _PARTS,
        [0] * 60 + [1, 1, 1, 1],  # few frames are near each other by chance
        [3] + [0] * 63,
        [500] * 30 + [0] * 10 + [500] * 24,
    ],
)
def test_losses_without_a_range_are_not_placed(lost: list[int]) -> None:
    assert said(failure(5000, sum(lost), [ports(lost)])) == ""


def traffic(rate: float, *streams: StreamResult) -> TrialRecord:
    return record(rate, *streams)


def losing(name: str, field: str, lost: int = 500, timed_out: int = 0) -> StreamResult:
    """Returns a stream of 10,000 frames that lost some of those of one of ten hosts."""
    hosts = FieldLosses.model_validate(
        {
            "field": field, "lowest": "198.18.1.0", "highest": "198.18.1.9", "lost_lowest": "198.18.1.3",
            "lost_highest": "198.18.1.3", "sent": [1000] * 10, "lost": [0, 0, 0, lost, *[0] * 6],
        }
    )  # fmt: skip
    made = stream(name, 10_000, lost + timed_out, 1000, (0.0, 10.0))
    return made.model_copy(update={"lost_flows": LostFlows(fields=[hosts]), "timed_out": timed_out})


def test_a_host_that_loses_frames_in_both_directions() -> None:
    both = [losing("forward", "source_address"), losing("reverse", "destination_address")]
    found = which(Facts(experiment(), [traffic(1000, *both)]))
    assert found == "nearly all lost frames have the source address 198.18.1.3, where 50 % are lost"
    other = [losing("forward", "source_address"), losing("reverse", "source_address")]
    assert which(Facts(experiment(), [traffic(1000, *other)])) == ""


def test_frames_that_came_too_late_are_not_placed() -> None:
    assert which(Facts(experiment(), [traffic(1000, losing("forward", "source_address", 12, timed_out=3000))])) == ""


def test_values_that_come_in_their_order_are_not_named() -> None:
    ordered = experiment(64_000, orders={"source_port": "increasing"})
    half = failure(5000, 32_000, [ports([0] * 32 + [1000] * 32)])
    assert which(Facts(ordered, [half])) == ""


def test_few_flows_are_the_same_by_chance() -> None:
    few = experiment(
        64_000, procedure="throughput", phase1_rate=1000, active_connections={"forward": 10, "reverse": 10}
    )
    flows = LostFlows(fields=[], marks=hashes(10, 1))
    losses = stream("forward", 10_000, 100, 1000, (0.0, 10.0)).model_copy(update={"lost_flows": flows})
    assert which(Facts(few, [traffic(1000, losses), traffic(1000, losses)])) == ""


@given(flows=st.integers(1, 32), lost=st.floats(0.001, 0.999), trials=st.integers(2, 4))
def test_chance_is_that_of_independent_trials(flows: int, lost: float, trials: int) -> None:
    chance = by_chance(lost, flows, trials)
    assert 0 <= chance <= 1
    # All of them again is one of the ways.
    assert chance >= lost ** (flows * (trials - 1)) * (1 - 1e-9)


def test_trials_that_lose_different_ports_name_none() -> None:
    low, high = ports([100] * 8 + [0] * 56), ports([0] * 56 + [100] * 8)
    assert said(failure(5000, 800, [low]), failure(5000, 800, [high])) == ""


def test_what_is_lost_at_one_moment_may_have_neighbouring_ports() -> None:
    lost = failure(5000, 800, [ports([100] * 8 + [0] * 56)])
    early = stream("phase 1", 64_000, 800, 5000, (0.0, 0.16)).model_copy(
        update={"lost_flows": lost.result.streams[0].lost_flows}
    )
    assert said(record(5000, early, kind=TrialKind.PHASE1)) == ""


@given(seed=st.integers(0, 10**6), lost=st.integers(1, 5000))
def test_random_losses_are_never_placed(seed: int, lost: int) -> None:
    drawn = random.Random(seed)
    counts = [0] * _PARTS
    for _ in range(lost):
        counts[drawn.randrange(_PARTS)] += 1
    assert said(failure(5000, lost, [ports(counts)])) == ""


def hashes(count: int, seed: int) -> list[int]:
    drawn = random.Random(seed)
    return sorted(drawn.getrandbits(53) for _ in range(count))


def test_the_same_connections_each_time() -> None:
    marks = hashes(1500, 1)[:32]
    trials = [failure(rate, 1500, marks=marks) for rate in (5000, 5000, 20_000)]
    assert said(*trials) == "the same connections are lost each time"
    assert "treats these connections otherwise" in explain(experiment(64_000), trials)
    others = failure(5000, 1500, marks=hashes(1500, 2)[:32])
    assert said(*trials, others) == ""
    assert said(trials[0]) == ""


def test_four_of_many_that_are_always_the_same() -> None:
    trials = [failure(rate, 4, marks=hashes(4, 1)) for rate in (5000, 20_000)]
    assert same_each_time(Facts(experiment(64_000), trials))


def test_where_nearly_all_are_lost_they_are_the_same_by_chance() -> None:
    marks = hashes(63_000, 1)[:32]
    assert not same_each_time(Facts(experiment(64_000), [failure(rate, 63_000, marks=marks) for rate in (1, 2)]))


@given(seed=st.integers(0, 1000), shared=st.integers(0, 1000))
def test_marks_estimate_what_two_trials_have_in_common(seed: int, shared: int) -> None:
    both = hashes(shared, seed)
    one, other = (sorted([*both, *hashes(1000 - shared, seed + 1 + n)])[:32] for n in range(2))
    # Of 32 draws, 17 are more than four standard deviations.
    assert common(one, other) == pytest.approx(shared / (2000 - shared), abs=0.36)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_densest_parts_exceed_any_other_range(parts: list[tuple[int, int]]) -> None:
    sent, lost = [float(each) for each, _ in parts], [float(each) for _, each in parts]
    excess = [missed - all_of_them for missed, all_of_them in zip(lost, sent, strict=True)]
    first, last = densest(sent, lost)
    ranges = [(low, high) for low in range(len(parts)) for high in range(low, len(parts))]
    assert sum(excess[first : last + 1]) == max(sum(excess[low : high + 1]) for low, high in ranges)


def sized(lost: list[int], lowest: int, highest: int = 1518) -> FieldLosses:
    """Returns what the engine says of an Internet mix of which frames of 64, 594 and 1518 bytes were lost."""
    parts = [0] * 64
    sent = [0] * 64
    for part, count, gone in zip((0, 23, 63), (7000, 4000, 1000), lost, strict=True):
        sent[part], parts[part] = count, gone
    return FieldLosses(
        field="frame_size", lowest=64, highest=1518, lost_lowest=lowest, lost_highest=highest, sent=sent, lost=parts
    )


def test_two_sizes_that_are_lost_have_their_share() -> None:
    told = said(*[failure(rate, 500, [sized([0, 400, 100], 594)], planned=12_000) for rate in (5000, 10_000)])
    assert told == "nearly all lost connections have the frame sizes 594 to 1518, where 10 % are lost"


def test_the_longest_frames_are_too_long_if_nearly_all_are_lost() -> None:
    for lost, words in (
        (990, "they are too long for a link"),
        (40, "the gateway treats the frame size 1518 otherwise"),
    ):
        trials = [failure(rate, lost, [sized([0, 0, lost], 1518)], planned=12_000) for rate in (5000, 10_000)]
        assert words in explain(experiment(12_000), trials)


def test_few_fragments_explain_nothing() -> None:
    trials = [failure(rate, 30_000, foreign={"ipv4_fragment": 3}) for rate in (5000, 10_000)]
    assert "fragments" not in explain(experiment(64_000), trials)


def test_a_size_that_is_lost() -> None:
    sizes = FieldLosses(
        field="frame_size", lowest=64, highest=1518, lost_lowest=1518, lost_highest=1518,
        sent=[7000, *[0] * 62, 1000], lost=[*[0] * 63, 1000],
    )  # fmt: skip
    trials = [failure(rate, 8000, [sizes]) for rate in (5000, 10_000)]
    told = explain(experiment(64_000), trials)
    assert "nearly all lost connections have the frame size 1518, where 100 % are lost: they are too long" in told
    assert "choose a `mix` without them" in told
    foreign = {"ipv6_fragment": 16_000}
    fragments = [failure(rate, 8000, [sizes], foreign=foreign) for rate in (5000, 10_000)]
    told = explain(experiment(64_000), fragments)
    assert "frame size 1518, where 100 % are lost: 16,000 fragments come through in their place; set `dont" in told
