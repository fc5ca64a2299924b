# SPDX-License-Identifier: Apache-2.0
"""Finds the rules with which a Linux DUT's filters drop or refuse frames, in the listings of nftables and iptables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from natxy.untrusted.texts import one_line

# A number of 64 bits: Python's integers end at some thousands of digits.
_NUMBER: Final = r"\d{1,20}"
_LONGEST: Final = 200
_COUNTER: Final = re.compile(rf"counter packets ({_NUMBER}) bytes {_NUMBER} ")
_HOOKS_OF_FORWARDING: Final = {"forward", "prerouting", "postrouting", "ingress"}


def nft_drops(ruleset: str) -> Iterator[tuple[str, int | None]]:
    """Yields the rules and policies of `nft list ruleset`, each with its count of frames, None without a counter."""
    table = chain = ""
    for line in map(str.strip, ruleset.splitlines()):
        if opened := re.match(r"table (\S+ \S+) \{", line):
            table = opened[1]
        elif opened := re.match(r"chain (\S+) \{", line):
            chain = opened[1]
        elif base := re.match(r"type \S+ hook (\S+) .*?; policy (\S+);", line):
            if base[1] not in _HOOKS_OF_FORWARDING:
                chain = ""
            elif base[2] == "drop":
                yield cut(f"nft {table} {chain}: policy drop"), None
        elif chain and re.search(r"\b(?:drop|reject)\b", line):
            counted = _COUNTER.search(line)
            yield cut(f"nft {table} {chain}: {_COUNTER.sub('', line)}"), int(counted[1]) if counted else None


def iptables_drops(program: str, saved: str) -> Iterator[tuple[str, int | None]]:
    """Yields the rules and policies that `program -c`, such as `iptables-save -c`, prints, each with its count."""
    name = program.removesuffix("-save")
    for chain, frames in re.findall(rf"^:(FORWARD) DROP \[({_NUMBER}):\d+\]", saved, re.MULTILINE):
        yield f"{name} -P {chain} DROP", int(frames)
    for frames, rule in re.findall(rf"^\[({_NUMBER}):\d+\] (-A .*-j (?:DROP|REJECT)\b.*)$", saved, re.MULTILINE):
        if not re.match(r"-A (?:INPUT|OUTPUT)\b", rule):
            yield cut(f"{name} {rule}"), int(frames)


def cut(text: str) -> str:
    """Returns a text of the DUT's as errors show it. Rules that are cut to the same text count as one."""
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
