# SPDX-License-Identifier: Apache-2.0
"""Runs natxy again and again, and ends it at one of its writes to the ledger.

`python -m tests.support.killing LEDGER` reads a JSON list [MOMENT, NUMBER, ARGUMENTS] from each line of stdin, runs
`natxy ARGUMENTS…` with the ledger in the folder LEDGER, and prints its exit code, which is negative for a signal. With
the only argument `bench` it runs a short `make bench` instead. MOMENT is that of the write NUMBER, counted from 1.
SIGKILL comes `before` it, so after the change of the write before; right `after` it, so before its own change; or
`soon` after it, some milliseconds later, in the midst of the change. SIGTERM comes right after it when `asked`. A
process that writes less often ends by itself.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from enum import Enum, auto
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from natxy.errors import TesterLimitError
from natxy.system import ledger
from natxy.system.interrupts import INTERRUPTED
from natxy.system.ledger import Entry, Ledger
from natxy.system.process_owner import Owner
from tests.support.command import HANG_S

MOMENTS: Final = ("before", "after", "soon")
ASKED: Final = "asked"
_SOON_S: Final = 0.03
# Has a byte for each write.
_WRITES: Final = "writes"
# Has a line for each natxy.
_OWNERS: Final = "owners"
# Has a line for each program that was started and each sysctl that was written.
_TOUCHED: Final = "touched"
_PROC_SYS: Final = "/proc/sys/"


class Ending(Enum):
    WELL = auto()
    ENDED = auto()
    """At the write, by the signal."""
    TOO_SLOW = auto()
    """Ends in order, but early, because the machine is busy."""


_ENDINGS: Final = {
    0: Ending.WELL,
    TesterLimitError.exit_code: Ending.TOO_SLOW,
    INTERRUPTED: Ending.ENDED,
    -signal.SIGKILL: Ending.ENDED,
}


class Killing:
    """Runs natxy with the ledger in `folder`; `inside` is a prefix of the command, e.g. `ip netns exec NAME`."""

    def __init__(self, folder: Path, inside: Sequence[str] = ()) -> None:
        self._output = folder / "output"
        self._writes = folder / _WRITES
        self._owners = folder / _OWNERS
        self._touched = folder / _TOUCHED
        # Each run is a fork of one process, because to import natxy takes longer than most runs until they are killed.
        self._process = subprocess.Popen(
            [*inside, sys.executable, "-m", "tests.support.killing", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    def run(self, arguments: Sequence[str | Path], moment: str = "", number: int = 0) -> Ending:
        """Returns how natxy ended. Raises AssertionError, with what it printed, when it ended badly."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([moment, number, list(map(str, arguments))]), file=self._process.stdin, flush=True)
        answered, _, _ = select.select([self._process.stdout], [], [], HANG_S)
        assert answered, f"{arguments} did not end: {self._output.read_text()}"
        code = int(self._process.stdout.readline())
        assert code in _ENDINGS, self._output.read_text()
        return _ENDINGS[code]

    def writes(self) -> int:
        """Returns how often the last natxy has written, or begun to write, to the ledger."""
        return self._writes.stat().st_size

    def touched(self) -> str:
        """Returns every program that natxy has started, with its arguments, and every sysctl that it has written."""
        return self._touched.read_text() if self._touched.exists() else ""

    def owners(self) -> set[Owner]:
        """Returns every natxy that was run."""
        return {Owner.parse(line) for line in self._owners.read_text().splitlines()} if self._owners.exists() else set()


def _note_touched(file: Path) -> None:
    """Notes each program that this process starts, with its arguments, and each sysctl that it writes."""

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        match event, arguments:
            # To read a setting changes nothing.
            case "subprocess.Popen", (_, [*argv], *_) if ("sysctl", "-n") not in pairwise(argv):
                line = " ".join(map(str, argv))
            case "open", (path, str(mode), _) if "w" in mode and str(path).startswith(_PROC_SYS):
                line = str(path).removeprefix(_PROC_SYS).translate(str.maketrans("/.", "./"))
            case _:
                return
        with file.open("a") as touched:
            print(line, file=touched)

    sys.addaudithook(note)


def end_at(moment: str, number: int, writes: Path) -> None:
    """Ends this process at a write to the ledger, or a fork of it; `writes` gets a byte for each."""
    count, store = 0, Ledger._store
    writes.write_bytes(b"")

    def counted(self: Ledger, entries: list[Entry]) -> None:
        nonlocal count
        count += 1
        with writes.open("ab") as each:
            each.write(b".")
        if count != number:
            store(self, entries)
            return
        if moment == "before":
            _send(signal.SIGKILL)
        store(self, entries)
        if moment == "after":
            _send(signal.SIGKILL)
        elif moment == ASKED:
            _send(signal.SIGTERM)
        else:
            threading.Timer(random.Random(number).uniform(0, _SOON_S), _send, [signal.SIGKILL]).start()

    Ledger._store = counted  # type: ignore[method-assign]


def _send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def _bench(folder: Path) -> None:
    from tools.bench import peer_benchmark

    # What is left of it uses everything that the whole does: huge pages, folders, namespaces, and programs in sessions
    # of their own.
    short = {"ROUNDS": 1, "SECONDS": 0.05, "COMPARED": (), "FAMILIES": ("ipv4",), "RATES": (), "PHASE1": "true"}
    vars(peer_benchmark).update(short, BETWEEN_CORES=peer_benchmark.BETWEEN_CORES[-1:], MEASURED=folder / "bench")
    peer_benchmark.main()


def main() -> None:
    folder = Path(sys.argv[1])
    ledger.default_folder = lambda: folder
    # Imported here, it is there in every fork.
    from natxy.cli import main as natxy

    for line in sys.stdin:
        if child := os.fork():
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        with (folder / _OWNERS).open("a") as owners:
            print(Owner.current(), file=owners)
        moment, number, arguments = json.loads(line)
        # Programs of a killed natxy that go on must not keep a pipe open.
        with (folder / "output").open("w") as output, open(os.devnull) as nothing:
            for descriptor, file in enumerate((nothing, output, output)):
                os.dup2(file.fileno(), descriptor)
        _note_touched(folder / _TOUCHED)
        end_at(moment, number, folder / _WRITES)
        if arguments == ["bench"]:
            _bench(folder)
        else:
            sys.argv = ["natxy", *arguments]
            natxy()
        return


if __name__ == "__main__":
    main()
