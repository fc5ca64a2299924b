# SPDX-License-Identifier: Apache-2.0
"""Reads YAML files that people write, and says where in them an error is: the file, line, column and field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from natxy.errors import PlanError, PlanFileError
from natxy.plan.model.problems import Location, PlanProblems, Problem, field_path, shortened
from natxy.plan.yaml.parsing import parse
from natxy.plan.yaml.syntax import why_no_yaml
from natxy.shipped import PLANS, shown
from natxy.untrusted.files import text_of
from natxy.untrusted.validation import guess_path, nearest

MERGED: Final = frozenset({"search", "timing", "orders", "ports"})
"""The mappings of `defaults` that an experiment overrides key by key. It replaces every other field as a whole."""

# Fix these first.
_MOST_SHOWN: Final = 20


def read_text(path: Path, what: str) -> str:
    """Returns the text of a file; `what` names its kind in errors. Raises PlanError when it cannot be read."""
    try:
        return text_of(path)
    except OSError as error:
        near = (_guess_ready(path) or guess_path(path)) if isinstance(error, FileNotFoundError) else ""
        raise PlanError(f"the {what} {path} cannot be read: {error.strerror}{near}") from error


def _guess_ready(name: Path) -> str:
    """Returns the end of an error that suggests the file of the ready plan with the nearest name, for a name alone:
    `natxy list plans` has names too."""
    ready = {file.stem: file for folder in (PLANS, Path("plans")) for file in folder.glob("*.yaml")}
    near = nearest(name, ready) if name == Path(name.name) else None
    return f"; did you mean {shown(ready[near])}?" if near else ""


def parse_document(path: Path, text: str, expected: str) -> CommentedMap:
    """Returns the mapping that a text is, of `expected` fields. Raises PlanFileError when it is none."""
    try:
        document = parse(text)
    except YAMLError as error:
        raise PlanFileError(why_no_yaml(path, text, error)) from error
    if not isinstance(document, CommentedMap):
        empty = "" if text.strip() else "the file is empty; "
        remedy = f"; `natxy import {path}` makes a plan of siitperf.conf" if path.suffix == ".conf" else ""
        raise PlanFileError(f"{path}: {empty}expected a mapping with {expected}{remedy}")
    return document


def document_error(
    path: Path, what: str, document: CommentedMap, found: PlanProblems, *, inherited: Mapping[str, str]
) -> PlanFileError:
    """Returns the error that lists the problems `found` in a document, in its order.

    `inherited`: by a list's name, the mapping whose fields its items have too.
    """
    lines = _lines(path, document, found.problems, inherited)
    if len(lines) > _MOST_SHOWN:
        lines[_MOST_SHOWN:] = [f"and {len(lines) - _MOST_SHOWN:,} more"]
    if not found.complete:
        lines.append("Fix these first: what depends on them could not be checked.")
    return PlanFileError("\n".join([f"the {what} {path} has errors:", *lines]))


def _lines(path: Path, document: CommentedMap, problems: Iterable[Problem], inherited: Mapping[str, str]) -> list[str]:
    """Returns a line for each problem, in the file's order; an error in a default is one line for all experiments."""
    lines: dict[tuple[int, int, str, str], None] = {}
    for problem in problems:
        line, column, found = _locate(document, problem.location, inherited)
        lines[line, column, field_path(found), problem.message] = None
    return [
        f"{path}:{line}:{column}: {shortened(f'{field}: {text}' if field else text)}"
        for line, column, field, text in sorted(lines)
    ]


def _locate(document: CommentedMap, location: Location, inherited: Mapping[str, str]) -> tuple[int, int, Location]:
    """Returns line and column, counted from 1, and the location without the parts that the YAML does not have.

    A field that an item of a list has from elsewhere is located where `inherited` says that the list's items look.
    """
    nodes: list[tuple[object, Location]] = [(document, ())]
    line, column = 0, 0
    found: Location = ()
    lacking: Location = ()
    for position, part in enumerate(location):
        deeper = []
        for node, path in nodes:
            if (isinstance(node, CommentedMap) and part in node) or (
                isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node)
            ):
                deeper.append((node[part], (*path, part), _place(node, part)))
        if not deeper:
            # The last part is a missing field, perhaps of a missing mapping. Other parts are pydantic's names of a
            # union's members.
            if position == len(location) - 1 and isinstance(nodes[0][0], CommentedMap):
                found = (*nodes[0][1], *lacking, part)
            elif part in MERGED:
                lacking = (*lacking, part)
            continue
        # A field that came by `<<` has no place of its own.
        line, column = deeper[0][2] or (line, column)
        found = deeper[0][1]
        nodes = [(node, path) for node, path, _ in deeper]
        source = inherited.get(str(location[0])) if position == 1 else None
        if source and isinstance(document.get(source), CommentedMap):
            nodes.append((document[source], (source,)))
    return line + 1, column + 1, found


def _place(node: CommentedMap | CommentedSeq, part: str | int) -> tuple[int, int] | None:
    """Returns line and column, counted from 0; None for what is not written there."""
    found = (node.lc.data or {}).get(part)
    return found and (found[0], found[1])
