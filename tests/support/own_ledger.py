# SPDX-License-Identifier: Apache-2.0
"""Runs natxy with a ledger of the tests' own, so that they neither remove the labs of others nor lose theirs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

_NATXY: Final = """
import sys
from pathlib import Path
from natxy.system import ledger
from tests.support.killing import end_at
folder, moment, number = Path(sys.argv.pop(1)), sys.argv.pop(1), int(sys.argv.pop(1))
ledger.default_folder = lambda: folder
end_at(moment, number, folder.with_name("writes"))
from natxy.cli import main
main()
"""


def natxy_with_ledger(ledger: Path, *words: str | Path, kill: tuple[str, int] = ("", 0)) -> list[str]:
    """Returns the command that runs natxy with the ledger in a folder.

    `kill`: the moment, and the number of the write to the ledger, at which the process that writes is killed.
    """
    return [*map(str, [sys.executable, "-c", _NATXY, ledger, *kill, *words])]
