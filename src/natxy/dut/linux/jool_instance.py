# SPDX-License-Identifier: Apache-2.0
"""Adds and removes instances of Jool, a translator in the kernel: each is configured as a whole by one JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from natxy.dut.limits import table_timeout_s
from natxy.dut.transport.base import Transport

# Jool needs a file in which it can seek.
_FILE: Final = "/run/natxy-jool.json"
_END: Final = "END OF SETTINGS"
# The size of the largest published table. The real number is unknown without a list: `jool stats` fails in 4.1.9.
MOST_SESSIONS: Final = 1_600_000_000


@dataclass(frozen=True)
class JoolInstance:
    """One instance of the module `module`, which the program of the same name configures.

    `settings` are those of Jool's `file handle`. The instance translates what arrives in its network namespace, or only
    what a rule of iptables gives to it.
    """

    transport: Transport
    module: str
    name: str
    settings: Mapping[str, Any]
    by_iptables: bool = False

    @property
    def text(self) -> str:
        framework = "iptables" if self.by_iptables else "netfilter"
        return json.dumps({"instance": self.name, "framework": framework, **self.settings}, indent=1)

    def add(self) -> None:
        """Adds the instance, which must not be there. The module is loaded."""
        self.transport.run(["tee", _FILE], input=self.text)
        self.transport.run([self.module, "file", "handle", _FILE])

    @property
    def shell(self) -> str:
        """The lines of a shell that give an instance which is there these settings, at once."""
        return f"cat > {_FILE} <<'{_END}'\n{self.text}\n{_END}\n{self.module} file handle {_FILE}\n"

    def remove(self) -> None:
        """Removes the instance with all its sessions. No error if there is none."""
        argv = [self.module, "instance", "remove", self.name]
        self.transport.run(argv, timeout_s=table_timeout_s(MOST_SESSIONS), check=False)
        self.transport.run(["rm", "-f", _FILE])


def version(transport: Transport, module: str) -> str:
    return f"Jool {transport.run([module, '--version']).stdout.strip()}"
