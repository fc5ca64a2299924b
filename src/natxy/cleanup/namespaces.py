# SPDX-License-Identifier: Apache-2.0
"""Removes a network namespace with everything in it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from natxy.dut.transport.local import run_program
from natxy.errors import DutError
from natxy.system.network_namespace import NAMED

_END_S = 2.0


def remove_namespace(name: str) -> None:
    """Ends the processes inside, then removes links and namespace. Does nothing when there is no such namespace.

    Raises DutError when a process does not end.
    """
    if not (NAMED / name).exists():
        return
    _end_processes(name)
    # Deleting a namespace frees its links only after a while, so delete the links first.
    for link in links_in(name, "type", "veth"):
        run_program(["ip", "-n", name, "link", "del", link], check=False)
    run_program(["ip", "netns", "del", name])


def links_in(namespace: str, *selection: str) -> list[str]:
    """Returns the names of the links in a namespace; none when it does not exist."""
    if not (NAMED / namespace).exists():
        return []
    # A killed `ip netns add` may have made only the file.
    shown = run_program(["ip", "-n", namespace, "-brief", "link", "show", *selection], check=False).stdout
    return _names(shown)


def links_of_any() -> list[str]:
    """Returns the names of the links that the kernel makes in every namespace and that cannot leave it: `lo`, and one
    for each kind of tunnel whose module is loaded, e.g. `sit0`."""
    return _names(run_program(["unshare", "--net", "ip", "-brief", "link", "show"]).stdout)


def _names(shown: str) -> list[str]:
    return [line.split()[0].split("@")[0] for line in shown.splitlines()]


def _end_processes(namespace: str) -> None:
    deadline = time.monotonic() + _END_S
    while pids := run_program(["ip", "netns", "pids", namespace], check=False).stdout.split():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        if time.monotonic() > deadline:
            raise DutError(f"processes {', '.join(pids)} in network namespace {namespace} cannot be ended")
        time.sleep(0.02)
