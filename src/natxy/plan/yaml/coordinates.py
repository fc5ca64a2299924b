# SPDX-License-Identifier: Apache-2.0
"""Labels for the values of a sweep: in the coordinates, the name and the title of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from natxy.plan.yaml.schema import Path

# The first of these fields that a mapping has is its main value.
_MAIN: Final = ("driver", "name", "preset", "experiment", "rate")

# Titles of swept fields that read better than the field's name and its value.
_WORDS: Final = {
    ("frame_size",): "{}-byte frames",
    ("connections",): "{} connections",
    ("ports", "source"): "source ports {}",
    ("ports", "destination"): "destination ports {}",
    ("ports", "reverse", "source"): "source ports {} from the right",
    ("ports", "reverse", "destination"): "destination ports {} from the right",
    ("addresses",): "{} addresses",
    ("gateway",): "{}",
    ("procedure",): "{}",
    ("family",): "{}",
    ("directions",): "{}",
}


def labels(items: Sequence[object]) -> list[str]:
    """Returns a label for each item.

    The label of a mapping is its main value, such as a gateway's driver. If these are not distinct, the values that
    differ between the mappings follow.
    """
    named = [_main(item) for item in items]
    if len(set(named)) == len(named):
        return named
    flat = [dict(_flat(item)) if isinstance(item, Mapping) else {} for item in items]
    common = set.intersection(*(set(each.items()) for each in flat))
    return [
        " ".join([main, *(f"{key}={value}" for key, value in each.items() if (key, value) not in common)])
        for main, each in zip(named, flat, strict=True)
    ]


def leaves(fields: Mapping[str, object], path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yields the values at all depths with their paths. Lists are left out: each is a sweep of its own."""
    for name, value in fields.items():
        here = (*path, str(name))
        if isinstance(value, Mapping):
            yield from leaves(value, here)
        elif not isinstance(value, list):
            yield here, value


def name_part(path: Path, label: str) -> str:
    """Returns the part of a cell's name for a coordinate: `connections=400k`."""
    return f"{path[-1]}=" + re.sub(r"[^A-Za-z0-9._=:%+-]+", "-", label)


def in_words(path: Path, label: str) -> str:
    """Returns the part of a cell's title for a coordinate: `400k connections`."""
    if label.isdecimal():
        label = f"{int(label):,}" if int(label) >= 10_000 else label
    if path == ("cores",):
        return f"{label} core" if label == "1" else f"{label} cores"
    return _WORDS.get(path, path[-1].replace("_", " ") + " {}").format(label)


def _main(item: object) -> str:
    if not isinstance(item, Mapping):
        return str(item).lower() if item is None or isinstance(item, bool) else str(item)
    if isinstance(hops := item.get("gateways"), list):
        return " → ".join(map(_main, hops))
    given = (item[key] for key in _MAIN if isinstance(item.get(key), str | int | float))
    return str(next(given, "")) or " ".join(f"{key}={value}" for key, value in _flat(item))


def _flat(item: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yields the values that are not the main value of a mapping, with their paths as text."""
    return ((".".join(path), str(value)) for path, value in leaves(item) if path[-1] not in _MAIN)
