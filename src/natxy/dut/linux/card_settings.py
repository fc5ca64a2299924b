# SPDX-License-Identifier: Apache-2.0
"""Sets how the cards of a Linux DUT spread frames over their queues (RSS) and which offloads they have.

The ledger has what restores both, also after a kill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.hardware import rss_fields
from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.dut.transport.undone import undone
from natxy.errors import DutError, PlanError
from natxy.plan.testbeds.cards import CardSettings

_FLOWS: Final = ("udp4", "udp6")
# A line is indented if its feature is part of the one above.
_FEATURE: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?P<name>[a-z][a-z0-9-]{0,60}): (?P<state>on|off)(?: \[(?P<note>[a-z ]+)\])?\s*$", re.MULTILINE
)
# A card that was unplugged, or whose driver was unloaded, has nothing to be given back.
_IF_THERE: Final = '[ ! -e "/sys/class/net/$2" ] || exec ethtool "$@"'


@contextmanager
def cards_set(
    transport: LocalTransport | SshTransport, interfaces: DutInterfaces, wanted: CardSettings
) -> Iterator[None]:
    """Gives all interfaces the settings for as long as the context lasts.

    PlanError for an offload that a card does not have. DutError when a card refuses something, and when it does not do
    what it has accepted.
    """
    with ExitStack() as stack:
        for interface in interfaces.names:
            if wanted.rss_fields:
                for flows in _FLOWS:
                    stack.enter_context(_hashed_by(transport, interface, flows, wanted.rss_fields))
            if wanted.offloads:
                stack.enter_context(_offloads_set(transport, interface, wanted.offloads))
        yield


@contextmanager
def _hashed_by(transport: LocalTransport | SshTransport, interface: str, flows: str, fields: str) -> Iterator[None]:
    before = _fields(transport, interface, flows)
    if not before:
        raise DutError(
            f"the card of the DUT's {interface} does not tell by which fields it spreads {flows} over its queues "
            f"({transport.describe()}): remove `rss_fields`, or look at `ethtool -n {interface} rx-flow-hash {flows}`"
        )
    undo = ("sh", "-c", _IF_THERE, "sh", "-N", interface, "rx-flow-hash", flows, before)
    with undone(transport, f"the RSS fields of {interface} for {flows}", before, undo):
        if set(before) != set(fields):
            transport.run(["ethtool", "-N", interface, "rx-flow-hash", flows, fields])
        now = _fields(transport, interface, flows)
        if set(now) != set(fields):
            raise DutError(
                f"the card of the DUT's {interface} spreads {flows} by {now or 'unknown fields'} although it accepted "
                f"{fields} ({transport.describe()}): choose other `rss_fields`"
            )
        yield


def _fields(transport: Transport, interface: str, flows: str) -> str:
    return rss_fields(transport.run(["ethtool", "-n", interface, "rx-flow-hash", flows], check=False).stdout)


@contextmanager
def _offloads_set(
    transport: LocalTransport | SshTransport, interface: str, wanted: Mapping[str, str]
) -> Iterator[None]:
    text = transport.run(["ethtool", "-k", interface]).stdout
    for name in wanted:
        if name not in _states(text):
            raise PlanError(
                f"testbed.dut.cards.offloads: the DUT's {interface} has no offload {name!r}; `ethtool -k {interface}` "
                "lists those that it has"
            )
    settable = settable_features(text)
    restore = [word for feature in settable.items() for word in feature]
    undo = ("sh", "-c", _IF_THERE, "sh", "-K", interface, *restore)
    original = ", ".join(f"{name} {_states(text)[name]}" for name in wanted)
    with undone(transport, f"the offloads of {interface}", original, undo):
        changes = [word for name, state in wanted.items() if _states(text)[name] != state for word in (name, state)]
        if changes:
            transport.run(["ethtool", "-K", interface, *changes])
        now = _states(transport.run(["ethtool", "-k", interface]).stdout)
        if kept := [name for name, state in wanted.items() if now.get(name) != state]:
            raise DutError(
                f"the card of the DUT's {interface} keeps {kept[0]} {now.get(kept[0], 'unknown')} although it should "
                f"be {wanted[kept[0]]} ({transport.describe()}): remove it from `offloads`"
            )
        yield


def _states(text: str) -> dict[str, str]:
    return {match["name"]: match["state"] for match in _FEATURE.finditer(text)}


def settable_features(text: str) -> dict[str, str]:
    """Returns the features in the output of `ethtool -k` that restore all: those that are not fixed, with what was
    asked of them, and parts instead of the features that they are part of."""
    lines = [*_FEATURE.finditer(text)]
    found = {}
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        has_parts = after is not None and len(after["indent"]) > len(line["indent"])
        note = line["note"] or ""
        if not has_parts and "fixed" not in note:
            asked = note.removeprefix("requested ") if note.startswith("requested ") else line["state"]
            found[line["name"]] = asked
    return found
