# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.causes.places import lost_by_place, place_of_loss
from natxy.engine.messages.results import TrialResult
from natxy.results.dut_load import DutLoad, InterfaceLoad
from tests.support.failed_trials import record, stream

NAMES = ("tayga", "nftables")


def load(*counts: tuple[int, int], dropped: int = 0) -> DutLoad:
    """Returns interfaces that received and sent so many frames; the first gateway's right one did not send some."""
    interfaces = [
        InterfaceLoad(name=f"i{number}", received=received, sent=sent, lost={"tx_dropped": dropped * (number == 1)})
        for number, (received, sent) in enumerate(counts)
    ]
    return DutLoad(elapsed_s=1, cores=(), interfaces=tuple(interfaces))


def result(forward: int, reverse: int) -> TrialResult:
    """Returns a trial of 1,000 frames each way, of which so many are lost."""
    streams = (stream(name, 1000, lost, 1000) for name, lost in (("forward", forward), ("reverse", reverse)))
    return record(1000, *streams).result


@pytest.mark.parametrize(
    ("lost", "interfaces", "dropped", "place"),
    [
        ((100, 0), [(900, 1000), (1000, 900), (900, 1000), (1000, 900)], 0, "between the tester and tayga"),
        ((100, 0), [(1000, 1000), (1000, 900), (900, 1000), (1000, 900)], 0, "in tayga"),
        ((100, 0), [(1000, 1000), (1000, 900), (900, 1000), (1000, 900)], 100, "between tayga and nftables"),
        ((100, 0), [(1000, 1000), (1000, 1000), (1000, 1000), (1000, 900)], 0, "in nftables"),
        ((0, 100), [(1000, 900), (900, 1000), (1000, 900), (1000, 1000)], 0, "in nftables"),
        ((0, 100), [(1000, 900), (900, 1000), (1000, 1000), (1000, 1000)], 0, "between tayga and nftables"),
    ],
)
def test_the_place_where_frames_are_lost(
    lost: tuple[int, int], interfaces: list[tuple[int, int]], dropped: int, place: str
) -> None:
    found = place_of_loss(result(*lost), load(*interfaces, dropped=dropped), NAMES)
    assert found == (f"{sum(lost)} of the frames were lost {place}" if place else "")


def test_several_places_are_named_if_they_have_the_whole_loss() -> None:
    both = load((1000, 950), (1000, 1000), (1000, 1000), (1000, 930))
    expected = "50 of the frames were lost in tayga and 70 in nftables"
    assert place_of_loss(result(70, 50), both, NAMES) == expected
    # Frames of another program are missing at one place and too many at another.
    others = load((1000, 1000), (1000, 1100), (1000, 1000), (1000, 930))
    assert not place_of_loss(result(70, 0), others, NAMES)


def test_one_gateway_has_no_places() -> None:
    assert not place_of_loss(result(100, 0), load((1000, 1000), (1000, 900)), NAMES[:1])
    assert not place_of_loss(result(100, 0), None, NAMES)
    assert not place_of_loss(result(0, 0), load(*[(1000, 1000)] * 4), NAMES)


def test_every_place_has_its_losses() -> None:
    found = lost_by_place(result(50, 60), load((1000, 940), (950, 950), (950, 950), (1000, 950)), NAMES)
    assert found == {
        "between the tester and tayga": 0,
        "in tayga": 60,
        "between tayga and nftables": 0,
        "in nftables": 50,
        "between nftables and the tester": 0,
    }
