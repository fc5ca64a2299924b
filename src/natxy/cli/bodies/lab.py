# SPDX-License-Identifier: Apache-2.0
"""Says how a lab that stands is used, and which labs were removed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from natxy.standing.labs import StandingLab
from natxy.standing.variables import CORES, DUT_MACS, FLOOR_MS, IO, LEFT, RIGHT
from natxy.system.process_owner import Owner

# A lab's sender shares its machine with the gateway.
_PATIENCE_MS: Final = 1


def removed(labs: Mapping[Owner, str]) -> Iterator[str]:
    """Yields a line for each lab that was removed."""
    yield from (f"Removed: the lab of {name} (process {keeper.pid}).\n" for keeper, name in labs.items())


def how_to_use(lab: StandingLab, initiator: Literal["left", "right"] = "left") -> Iterator[str]:
    """Yields lines for a shell; `initiator` is siitperf's side that is the lab's left, where plans have theirs."""
    letters = "LR" if initiator == "left" else "RL"
    ends = zip(letters, ("left", "right"), lab.tester_addresses, lab.tester_macs, lab.dut_macs, strict=True)
    of_left, of_right = sorted(ends, key=lambda end: end[0])
    yield f"# {lab.gateway} of {lab.name} stands. To remove it: natxy lab down"
    yield f"# The tester's ends, left and right:  ip netns exec {lab.tester} bash"
    for number, namespace in enumerate(lab.duts, 1):
        names = [f"dut{_further(number)}-{side}" for side in ("left", "right")]
        gateway = f"a guest between {' and '.join(names)}" if lab.in_guest else ", ".join(names)
        yield f"# The gateway, {gateway}:  ip netns exec {namespace} bash"
    yield "# For siitperf.conf" + ("" if initiator == "left" else ", whose right is the left here") + ":"
    for letter, _, address, tester, dut in (of_left, of_right):
        yield f"#   IP-{letter}-Vers {address.version}"
        yield f"#   IPv{address.version}-{letter}-Real {address}"
        yield f"#   MAC-{letter}-Tester {tester}"
        yield f"#   MAC-{letter}-DUT {dut}"
    yield "# Start siitperf's scripts in the tester's namespace, with these variables:"
    exports = {
        LEFT: of_left[1],
        RIGHT: of_right[1],
        IO: lab.io,
        CORES: ",".join(map(str, lab.tester_cores)),
        DUT_MACS: f"{of_left[-1]},{of_right[-1]}",
        FLOOR_MS: str(_PATIENCE_MS),
        "NATXY_LAB_TESTER": lab.tester,
        **{f"NATXY_LAB_DUT{_further(number)}": namespace for number, namespace in enumerate(lab.duts, 1)},
    }
    yield from (f"export {name}={shlex.quote(value)}" for name, value in exports.items())


def _further(number: int) -> str:
    """Returns the number of a gateway in the names of what belongs to it; the first gateway has none."""
    return str(number) if number > 1 else ""
