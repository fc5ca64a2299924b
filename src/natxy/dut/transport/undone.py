# SPDX-License-Identifier: Apache-2.0
"""Undoes a change by commands, which the ledger has in case that natxy is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from natxy.dut.transport.base import LONGEST_S, Transport
from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError
from natxy.system.ledger import Entry, Kind, Ledger


@contextmanager
def undone(
    transport: LocalTransport | SshTransport, what: str, original: str, *commands: tuple[str, ...]
) -> Iterator[None]:
    """Runs the commands when the context ends; the change is made within it.

    While another natxy needs the change too, its end runs them. `what` names what changes, and `original` is its state
    before, for people. Raises DutError when a command fails; the entry then stays in the ledger.
    """
    ledger = Ledger()
    entry = ledger.add(Kind.SETTING, what, transport.place(), before=lambda: original, undo=lambda _: commands)
    try:
        yield
    finally:
        ledger.release(entry, lambda stored: undo(stored, transport))


def undo(entry: Entry, transport: Transport) -> None:
    """Runs all undo commands of an entry, also when one fails; raises DutError with all problems at the end."""
    problems = []
    for command in entry.undo:
        try:
            transport.run(command, timeout_s=LONGEST_S)
        except DutError as error:
            problems.append(str(error))
    if problems:
        raise DutError("\n".join(problems))
