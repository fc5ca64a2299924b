# SPDX-License-Identifier: Apache-2.0
"""`natxy locks`: shows which measurements hold cores, ports and machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from natxy.terminal.console import Console, echo
from natxy.terminal.errors import reported_errors
from natxy.untrusted.texts import json_text, one_line

if TYPE_CHECKING:
    from natxy.locks.files import Holder


def locks(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False) -> None:
    """Show which cores, ports and gateways are in use.

    The list names the measurement on this machine that holds each of them. Another one that needs it waits until it is
    free. A lock ends with its process, even if that is killed.
    Each user has their own locks.
    """
    from natxy.locks.files import holders

    with reported_errors():
        found = holders()
        if as_json:
            echo(json_text([each.model_dump() for each in found]) + "\n")
        elif found:
            Console().say("\n".join(_lines(found)))
        else:
            echo("Nothing is held.\n")


def _lines(found: Sequence[Holder]) -> Iterator[str]:
    """Yields each process with its command, and below it a line for each thing that it holds."""
    for pid, command in dict.fromkeys((each.pid, each.command) for each in found):
        yield f"process {pid}: {one_line(command)}"
        for each in found:
            if (each.pid, each.command) == (pid, command):
                yield f"  {one_line(each.what)}, since {one_line(each.since)}"
