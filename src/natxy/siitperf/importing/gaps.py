# SPDX-License-Identifier: Apache-2.0
"""Lists in one table what siitperf.conf can say and a plan cannot.

A row is removed, or loses a condition, when plans learn to say it and `importing` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from natxy.siitperf.conf import Conf
from natxy.siitperf.importing.source import OF_CONNECTIONS
from natxy.siitperf.sides import Letter, enumerates, initiator

_COUNTING: Final = frozenset({"tear-down-rate", "table-capacity"})


@dataclass(frozen=True)
class Gap:
    """A thing that plans do not have: the key that an error names, when it matters, and a sentence about it.

    A gap with an error ends the import. Any other is stated in the plan, whose traffic differs as the sentence says.
    """

    key: str
    matters: Callable[[Conf, str], bool]
    text: str
    is_error: bool


def _drawn_phase1(conf: Conf, procedure: str) -> bool:
    return procedure in _COUNTING and initiator(conf) is not None and not enumerates(conf)


def _with_replacement(conf: Conf, procedure: str) -> bool:
    return procedure not in OF_CONNECTIONS and initiator(conf) is not None and conf.number("Responder-tuples") == 3


def _initiator_draws(conf: Conf, procedure: str) -> bool:
    first = initiator(conf)
    return procedure not in OF_CONNECTIONS and first is not None and conf.flag(first.key)


def _networks(conf: Conf, _procedure: str) -> bool:
    return any(conf.number(f"Num-{side}-Nets") > 1 for side in Letter)


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
        _initiator_draws,
        "siitperf's initiator draws ports in phase 2 as its var keys say, also four-tuples that phase 1 did not use; "
        "the plan's initiator uses the established connections, in the order of `orders: {state_table}`.",
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
        lambda conf, _: any(conf.has(f"MAC-{side}-{of}") for side in Letter for of in ("Tester", "DUT")),
        "MAC addresses are not in the plan: natxy finds the gateway's by ARP and neighbour discovery, answers both, "
        "and has its ports' own addresses. Static neighbours of the gateway are not needed; remove them if they name "
        "other MAC addresses. A testbed of kind hardware takes the addresses as `mac` and `dut_mac` of its ports.",
        False,
    ),
    Gap(
        "MEM-Channels",
        lambda conf, _: conf.number("MEM-Channels") > 1,
        "MEM-Channels is not in the plan: it has a meaning for cards that are given by `pci` to a testbed of kind "
        "hardware, which takes it as `memory_channels`.",
        False,
    ),
    Gap(
        "Promisc",
        lambda conf, _: not conf.flag("Promisc"),
        "Promisc 0 is not in the plan: natxy's ports may receive frames for others. It counts its own frames alone.",
        False,
    ),
)
"""The rows, errors first."""


def check_expressible(conf: Conf, procedure: str) -> None:
    """Raises ConfError if a plan of the procedure cannot express the configuration."""
    for gap in GAPS:
        if gap.is_error and gap.matters(conf, procedure):
            raise conf.wrong(gap.key, f"a plan cannot express it yet: {gap.text}")


def differences(conf: Conf, procedure: str) -> Iterator[str]:
    """Yields a sentence for each difference between the configuration and the plan."""
    for gap in GAPS:
        if not gap.is_error and gap.matters(conf, procedure):
            yield gap.text
