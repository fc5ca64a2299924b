# SPDX-License-Identifier: Apache-2.0
"""Compares frames of other forms and sizes with plain frames that are as long: `make bench`.

Both tasks run in turns on the same core: an IMIX beside frames of its mean size, a softwire's frames and segments of
TCP beside plain frames of the same size, frames with two extension headers and mapped ones beside the shortest of IPv6.
forms.json has a row for each pair.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Final

from rich.console import Console
from rich.progress import track

from tools.bench.hugepages import reserved
from tools.bench.peer_benchmark import ROUNDS, SECONDS, Ratio, beside, save_rows, show, summary
from tools.bench.programs import task
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED

_GOAL: Final = 0.85
_PAIRS: Final = {
    "imix-ipv4": "383-ipv4",
    "imix-ipv6": "383-ipv6",
    "tcp-ipv4": "as-tcp-ipv4",
    "tcp-ipv6": "as-tcp-ipv6",
    "options-ipv6": "",
    "softwire-ipv4": "104-ipv4",
    "map-ipv4": "",
    "map-from-core-ipv4": "",
}
# Of connections, those that answer and those that are learnt.
_STATEFUL: Final = {"respond-4M-map-ipv4": "respond-4M-ipv6", "receive-learn-4M-map-ipv4": "receive-learn-4M-ipv6"}
_PLAIN: Final = {"send": "send-addresses-ports-ipv6", "receive": "receive-ipv6"}


def main() -> None:
    with machine_given_back(), reserved():
        measure()


def measure() -> None:
    core = min(os.sched_getaffinity(0))
    ratios: dict[Ratio, list[float]] = {}
    for _ in track(range(ROUNDS), "forms of frames beside plain ones", console=Console(stderr=True)):
        for name, other in _tasks():
            for _, ratio in beside(partial(_fps, other, core), {name: partial(_fps, name, core)}):
                ratios.setdefault(Ratio(f"{name} / {other}", _GOAL), []).append(ratio)
    rows = [summary(ratio, measured) for ratio, measured in ratios.items()]
    MEASURED.mkdir(parents=True, exist_ok=True)
    save_rows("forms", rows)
    show("forms", rows)


def _tasks() -> Iterator[tuple[str, str]]:
    """Yields each task with the one that it is compared with."""
    for form, plain in _PAIRS.items():
        for way, usual in _PLAIN.items():
            yield f"{way}-{form}", f"{way}-{plain}" if plain else usual
    yield from _STATEFUL.items()


def _fps(name: str, core: int) -> float:
    return float(task(name, [core], SECONDS)["fps"])


if __name__ == "__main__":
    main()
