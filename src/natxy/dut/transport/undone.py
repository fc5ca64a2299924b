# SPDX-License-Identifier: Apache-2.0
"""Undoes a change by commands, which the ledger has in case that natxy is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.system.ledger import Kind, Ledger


@contextmanager
def undone(
    transport: LocalTransport | SshTransport, what: str, original: str, *commands: tuple[str, ...]
) -> Iterator[None]:
    """Runs the commands when the context ends; the change is made within it.

    `what` names what changes, and `original` is its state before, for people. Raises DutError when a command fails; the
    entry then stays in the ledger.
    """
    ledger = Ledger()
    entry = ledger.add(Kind.SETTING, what, transport.place(), before=lambda: original, undo=lambda _: commands)
    try:
        yield
    finally:
        for command in commands:
            transport.run(command)
        ledger.remove(entry)
