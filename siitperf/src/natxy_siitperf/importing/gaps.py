# SPDX-License-Identifier: Apache-2.0
"""Lists in one table what siitperf.conf can say and a plan cannot.

A row is removed, or loses a condition, when plans learn to say it and `importing` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from natxy_siitperf.importing.source import Source
from natxy_siitperf.sides import Letter

_COUNTING: Final = frozenset({"tear-down-rate", "table-capacity"})


@dataclass(frozen=True)
class Gap:
    """A thing that plans do not have: the key that an error names, when it matters, and a sentence about it.

    A gap with an error ends the import. Any other is stated in the plan, whose traffic differs as the sentence says.
    """

    key: str
    matters: Callable[[Source], bool]
    text: str
    is_error: bool


def _drawn_phase1(source: Source) -> bool:
    return source.procedure in _COUNTING and source.draws


def _with_replacement(source: Source) -> bool:
    return source.replies and source.conf.number("Responder-tuples") == 3


def initiator_draws(source: Source) -> bool:
    """Returns True if siitperf's initiator sends in phase 2, for which its var keys count."""
    return source.stateful and source.phase2 and source.conf.flag(source.first.key)


def _delays(source: Source) -> bool:
    return source.procedure in {"latency", "pdv"}


def _networks(source: Source) -> bool:
    both_ways = len(source.sending) == len(Letter)
    return both_ways and any(source.conf.number(f"Num-{side}-Nets") > 1 for side in Letter)


def _lab_of_macs(source: Source) -> bool:
    keys = (f"MAC-{side}-{of}" for side in Letter for of in ("Tester", "DUT"))
    return not source.hardware and any(map(source.conf.has, keys))


GAPS: Final = (
    Gap(
        "Enumerate-ports",
        _drawn_phase1,
        "with 0 phase 1 draws four-tuples of which some are the same, and this procedure counts connections; set it, "
        "or Enumerate-ips, to 1, 2 or 3",
        True,
    ),
    Gap(
        "Responder-tuples",
        _with_replacement,
        "With Responder-tuples 3 siitperf draws each reply's entry anew, so that some are used more often than others; "
        "the plan's replies go through the whole state table in pseudorandom order.",
        False,
    ),
    Gap(
        "Fwd-var-sport",
        initiator_draws,
        "siitperf's initiator draws ports in phase 2 as its var keys say, also four-tuples that phase 1 did not use, "
        "and its responder replies to these too, as they replace entries of the state table in turn; the plan's "
        "initiator uses the established connections, in the order of `orders: {state_table}`, and the state table "
        "stays that of phase 1.",
        False,
    ),
    Gap(
        "Forward",
        _delays,
        "siitperf gives a lost frame the longest delay that its trial allows, in TL, WCL and PDV; the plan's figures "
        "leave lost frames out, and so do not rise with loss. natxy counts them.",
        False,
    ),
    Gap(
        "Num-R-Nets",
        _networks,
        "siitperf varies the networks of destinations alone; in the plan, frames that come from a side with several "
        "networks come from all of them.",
        False,
    ),
    Gap(
        "MAC-L-DUT",
        _lab_of_macs,
        "MAC addresses are not in the plan: natxy sends from those of its ports, asks for the gateway's by ARP or "
        "neighbour discovery, and answers the gateway's requests. Remove static neighbours from the gateway if they "
        "have other MAC addresses. A plan of kind hardware has them all: import with --testbed hardware.",
        False,
    ),
    Gap(
        "MEM-Channels",
        lambda source: not source.hardware and source.conf.number("MEM-Channels") > 1,
        "MEM-Channels is not in the plan: it has a meaning for cards. A plan of kind hardware has it.",
        False,
    ),
    Gap(
        "Promisc",
        lambda source: not source.conf.flag("Promisc"),
        "Promisc 0 is not in the plan: natxy's ports may receive frames for others. It counts its own frames alone.",
        False,
    ),
)
"""The rows, errors first."""


def check_expressible(source: Source) -> None:
    """Raises ConfError if a plan cannot express what is imported."""
    for gap in GAPS:
        if gap.is_error and gap.matters(source):
            raise source.conf.wrong(gap.key, f"a plan cannot express it yet: {gap.text}")


def differences(source: Source) -> Iterator[str]:
    """Yields a sentence for each difference between the configuration and the plan."""
    for gap in GAPS:
        if not gap.is_error and gap.matters(source):
            yield gap.text
