# SPDX-License-Identifier: Apache-2.0
"""Writes what `--help` prints, which siitperf's own programs do not have."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from natxy.api.labs import CORES, DUT_MACS, FLOOR_MS, IO, LEFT, RIGHT
from natxy.api.programs import page
from natxy_siitperf.arguments import ARGUMENTS, names_of
from natxy_siitperf.conf import FILE
from natxy_siitperf.program import Program
from natxy_siitperf.trial.phases import PROCEDURE, RUN, SERIES
from natxy_siitperf.trial.ports import KEEP_OPEN
from natxy_siitperf.trial.trial import STRICT

VARIABLES: Final = {
    LEFT: "the left port: an interface, a PCI address or a DPDK device",
    RIGHT: "the right port",
    IO: "af_xdp (default) or af_packet, for interfaces",
    CORES: "the tester's cores, such as 1,2",
    DUT_MACS: "the gateway's MAC addresses, left and right, with a comma between them",
    RUN: "the folder of a run to which each trial is appended, for `natxy report`",
    SERIES: "a name for what is appended; trials of another name are apart",
    PROCEDURE: "frame-loss-rate if the trials are a scan of losses",
    KEEP_OPEN: "for how many seconds the ports stay open after a call",
    STRICT: "1: a trial that the tester spoiled ends the script",
    FLOOR_MS: "lateness of the last frame that is always accepted, in milliseconds",
}
"""Has all variables of the environment that the programs read, and what each means."""

HELP: Final = frozenset({"-h", "--help"})
_PAGE: Final = "how-to/from-siitperf.md#siitperfs-programs"
_WIDTH: Final = 80
_PHASE1: Final = frozenset(names_of(Program.THROUGHPUT, stateful=True)) - {
    *names_of(Program.THROUGHPUT, stateful=False)
}


def usage(program: Program) -> str:
    """Returns the arguments of a program in their order, and the variables of the environment."""
    without, with_phase1 = (names_of(program, stateful=stateful) for stateful in (False, True))
    first = with_phase1.index("N")
    words = [*without[:first], f"[{' '.join(name for name in with_phase1 if name in _PHASE1)}]", *without[first:]]
    said = (
        f"Measures one trial as {FILE} in the current folder says. The arguments in brackets belong to Stateful 1 or 2."
    )
    of_arguments = {
        name: f"{of.what} from {of.least} to {of.most}, {of.means}"
        for name, of in ((name, ARGUMENTS[name]) for name in with_phase1)
    }
    lines = [f"Usage: {program} {' '.join(words)}", "", *textwrap.wrap(said, _WIDTH), "", "Arguments, in this order:"]
    lines += [*_listed(of_arguments), "", "Variables of the environment:", *_listed(VARIABLES)]
    return "\n".join([*lines, "", f"More: {page(_PAGE)}"])


def _listed(meanings: dict[str, str]) -> Iterator[str]:
    indent = 4 + max(map(len, meanings))
    for name, meaning in meanings.items():
        yield from textwrap.wrap(f"  {name:<{indent - 2}}{meaning}", _WIDTH, subsequent_indent=" " * indent)
