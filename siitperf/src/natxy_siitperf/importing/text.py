# SPDX-License-Identifier: Apache-2.0
"""Writes a plan as YAML in which each line has a comment that says where it is from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_WIDTH: Final = 110
# Characters that end or turn a plain scalar within a flow mapping.
_NEEDS_QUOTES: Final = frozenset(":{}[],&*#?|<>=!%@`'\"")


@dataclass(frozen=True)
class Field:
    """A field of a plan: its value as one line of YAML, or its own fields, and where it is from."""

    name: str
    value: str | Sequence[Field]
    source: str = ""


def quoted(value: object) -> str:
    """Returns a scalar as YAML, in quotes if it needs them."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text}"' if _NEEDS_QUOTES & {*text} else text


def mapping(fields: Mapping[str, object]) -> str:
    """Returns a mapping of scalars, lists and mappings as one line of YAML, without those that are None."""
    return "{" + ", ".join(f"{name}: {_flow(value)}" for name, value in fields.items() if value is not None) + "}"


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return mapping(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    return quoted(value)


def plan_text(opening: Sequence[str], fields: Sequence[Field], experiment: Sequence[Field]) -> str:
    """Returns a plan of one experiment, after the paragraphs of an opening comment."""
    lines: list[str] = []
    for paragraph in opening:
        hanging = "  " if paragraph.startswith("- ") else ""
        # A key such as IPv6-L-offset stays in one line.
        wrapped = textwrap.wrap(
            paragraph, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
        )
        lines += [f"# {line}" for line in wrapped]
    lines += _lines(fields, "")
    lines.append("experiments:")
    for number, line in enumerate(_lines(experiment, "    ")):
        lines.append("  - " + line[4:] if number == 0 else line)
    return "\n".join(lines) + "\n"


def _lines(fields: Sequence[Field], indent: str) -> Iterator[str]:
    for field in fields:
        comment = f"  # {field.source}" if field.source else ""
        if isinstance(field.value, str):
            yield f"{indent}{field.name}: {field.value}{comment}"
        else:
            yield f"{indent}{field.name}:{comment}"
            yield from _lines(field.value, indent + "  ")
