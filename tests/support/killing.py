# SPDX-License-Identifier: Apache-2.0
"""Runs natxy and kills it with SIGKILL at one of its writes to the ledger.

`python -m tests.support.killing LEDGER MOMENT NUMBER ARGUMENTS…`: runs `natxy ARGUMENTS…` with the ledger in the folder
LEDGER. MOMENT is that of the write NUMBER, counted from 1: `before` it, so after the change of the write before; right
`after` it, so before its own change; or `soon` after it, some milliseconds later, in the midst of the change. A process
that writes less often ends by itself.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from natxy.errors import TesterLimitError
from natxy.system import ledger
from natxy.system.ledger import Entry, Ledger
from tests.support.command import HANG_S

MOMENTS: Final = ("before", "after", "soon")
_SOON_S: Final = 0.03


def run_until_killed(
    folder: Path, moment: str, number: int, arguments: Sequence[str | Path], inside: Sequence[str] = ()
) -> bool:
    """Returns True when the process was killed, False when it ended well before. `inside` is a prefix of the command.

    Raises AssertionError, with what it printed, when it ended badly.
    """
    command = [*inside, sys.executable, "-m", "tests.support.killing", folder, moment, str(number), *arguments]
    with (folder / "output").open("w+") as output:
        # Programs of a killed natxy that go on must not keep a pipe open.
        done = subprocess.run(list(map(str, command)), stdout=output, stderr=output, timeout=HANG_S, check=False)
        output.seek(0)
        # A tester that is too slow on a busy machine has ended in order too.
        assert done.returncode in (0, TesterLimitError.exit_code, -signal.SIGKILL), output.read()
    return done.returncode == -signal.SIGKILL


def _killed_at(moment: str, number: int) -> None:
    count, store = 0, Ledger._store

    def counted(self: Ledger, entries: list[Entry]) -> None:
        nonlocal count
        count += 1
        if count == number and moment == "before":
            _kill()
        store(self, entries)
        if count == number and moment == "after":
            _kill()
        if count == number and moment == "soon":
            threading.Timer(random.Random(number).uniform(0, _SOON_S), _kill).start()

    Ledger._store = counted  # type: ignore[method-assign]


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    folder, moment, number, *arguments = sys.argv[1:]
    ledger.default_folder = lambda: Path(folder)
    _killed_at(moment, int(number))
    sys.argv = ["natxy", *arguments]
    from natxy.__main__ import main as natxy

    natxy()


if __name__ == "__main__":
    main()
