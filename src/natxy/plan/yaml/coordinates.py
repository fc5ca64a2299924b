# SPDX-License-Identifier: Apache-2.0
"""How the values of a sweep are called: in a cell's coordinates, name and title."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

Path = tuple[str, ...]
"""Of a field within an experiment, such as ("gateway", "conntrack_max")."""

# What a mapping is called by.
_MAIN: Final = ("driver", "name", "preset", "experiment", "rate")

_WORDS: Final = {
    ("frame_size",): "{}-byte frames",
    ("connections",): "{} connections",
    ("ports", "source"): "source ports {}",
    ("ports", "destination"): "destination ports {}",
    ("addresses",): "{} addresses",
    ("gateway",): "{}",
    ("procedure",): "{}",
    ("family",): "{}",
    ("directions",): "{}",
}


def labels(items: Sequence[object]) -> list[str]:
    """A mapping is called by its main value, such as a gateway's driver, and by the others that not all have."""
    named = [_main(item) for item in items]
    if len(set(named)) == len(named):
        return named
    flat = [dict(_flat(item)) if isinstance(item, Mapping) else {} for item in items]
    common = set.intersection(*(set(each.items()) for each in flat))
    return [
        " ".join([main, *(f"{key}={value}" for key, value in each.items() if (key, value) not in common)])
        for main, each in zip(named, flat, strict=True)
    ]


def name_part(path: Path, label: str) -> str:
    """`connections=400k`."""
    return f"{path[-1]}=" + re.sub(r"[^A-Za-z0-9._=:%+-]+", "-", label)


def in_words(path: Path, label: str) -> str:
    """`400k connections`."""
    if label.isdecimal():
        label = f"{int(label):,}" if int(label) >= 10_000 else label
    if path == ("cores",):
        return f"{label} core" if label == "1" else f"{label} cores"
    return _WORDS.get(path, path[-1].replace("_", " ") + " {}").format(label)


def _main(item: object) -> str:
    if not isinstance(item, Mapping):
        return str(item).lower() if item is None or isinstance(item, bool) else str(item)
    given = (item[key] for key in _MAIN if isinstance(item.get(key), str | int | float))
    return str(next(given, "")) or " ".join(f"{key}={value}" for key, value in _flat(item))


def _flat(item: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Lists are swept on their own."""
    for key, value in item.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        elif not isinstance(value, list) and key not in _MAIN:
            yield prefix + key, str(value)
