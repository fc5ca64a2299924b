# SPDX-License-Identifier: Apache-2.0
"""Checks the sources against the map in CONTRIBUTING.md, which lists the rooms from the ground up.

A room is a file or a folder. It may import itself and the rooms listed above it in its own table, no others; imports
for types alone count too. Files must not import each other in a circle, and every source file must belong to a room on
the map.

natxy's other distributions have a table each. They import nothing of natxy but its public API, `src/natxy/api`, and
natxy names none of them. Only tests may do both.

`python -m tools.house_map` prints a line for each violation and then exits with 1.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[1]
_ROOMS: Final = re.compile(r"^((?: *`[\w./]+`,?)+) *\|")
API: Final = "src/natxy/api"
"""The room of natxy that its other distributions import."""
_NATXY: Final = "src/natxy"
_DISTRIBUTIONS: Final = {"natxy_siitperf": "siitperf/src/natxy_siitperf"}
"""The folders of the packages of natxy's other distributions, by name."""
_INCLUDE: Final = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """One file's import of another; both paths are relative to the repository."""

    importer: str
    imported: str


def rooms(markdown: str) -> list[str]:
    """Returns the rooms of the map's tables in their order: the paths in the first column of each row."""
    rows = (_ROOMS.match(line.removeprefix("|").lstrip()) for line in markdown.splitlines() if line.startswith("|"))
    return [path for row in rows if row for path in re.findall(r"`([^`]+)`", row[1])]


def violations(imports: Sequence[Import], files: Sequence[str], order: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each departure of `files` and their `imports` from the rooms in `order`."""
    room_of = {file: _room(file, order) for file in files}
    yield from (f"{file} is in no room of the map in CONTRIBUTING.md" for file, room in room_of.items() if not room)
    yield from (
        f"the map in CONTRIBUTING.md lists {room}, which is empty" for room in order if room not in room_of.values()
    )
    for each in imports:
        importer, imported = room_of[each.importer], room_of[each.imported]
        if importer and imported and order.index(imported) > order.index(importer):
            yield f"{each.importer} imports {each.imported}: {imported} is not above {importer} on the map"
    if circle := _circle(imports):
        yield f"files import each other in a circle: {' -> '.join(circle)}"


def crossings(imports: Sequence[Import]) -> Iterator[str]:
    """Yields a sentence for each import of a distribution's file that leads to natxy beside its public API."""
    for each in imports:
        others = any(_is_in(each.importer, folder) for folder in _DISTRIBUTIONS.values())
        if others and _is_in(each.imported, _NATXY) and not _is_in(each.imported, API):
            yield f"{each.importer} imports {each.imported}: only {API} is natxy's public API"


def mentions(sources: Mapping[str, str]) -> Iterator[str]:
    """Yields a sentence for each source of natxy that names the package of another distribution, even as text."""
    for path, text in sources.items():
        for name in _DISTRIBUTIONS:
            if _is_in(path, _NATXY) and re.search(rf"\b{name}\b", text):
                yield f"{path} names {name}: natxy does not need its other distributions, and finds their verbs itself"


def _is_in(file: str, folder: str) -> bool:
    return file.startswith(f"{folder}/")


def _room(file: str, order: Sequence[str]) -> str | None:
    """Returns the room with the longest path that contains the file."""
    inside = [room for room in order if file == room or file.startswith(f"{room}/")]
    return max(inside, key=len, default=None)


def _circle(imports: Sequence[Import]) -> list[str]:
    graph: dict[str, set[str]] = {}
    for each in imports:
        graph.setdefault(each.importer, set()).add(each.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def python_imports(sources: Mapping[str, str]) -> list[Import]:
    """Returns the imports among Python `sources`, given as texts by path, `src/natxy/plan/units.py` for example."""
    modules = {_module(path): path for path in sources}
    found = []
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                within = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in modules else str(node.module) for name in within]
            found += [Import(path, modules[name]) for name in names if modules.get(name, path) != path]
    return found


def _module(path: str) -> str:
    _, _, within = f"/{path}".rpartition("/src/")
    return within.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def cpp_imports(sources: Mapping[str, str]) -> list[Import]:
    """Returns the includes among C++ `sources`. A source file and its header are one: `x.cpp` may include `x.hpp`."""
    found = []
    for path, text in sources.items():
        included = (f"engine/{name}" for name in _INCLUDE.findall(text))
        found += [Import(path, name) for name in included if name in sources and name != path]
    return found


def _sources(folder: str, *endings: str) -> dict[str, str]:
    files = (path for ending in endings for path in sorted((REPOSITORY / folder).rglob(f"*{ending}")))
    return {
        str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8")
        for path in files
        if not path.stem.endswith("_test") and path.stem != "conftest"
    }


def main() -> int:
    order = rooms((REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    folders = [_NATXY, *_DISTRIBUTIONS.values()]
    python = {path: text for folder in folders for path, text in _sources(folder, ".py").items()}
    cpp = _sources("engine", ".cpp", ".hpp")
    imports = [*python_imports(python), *cpp_imports(cpp)]
    found = [*dict.fromkeys([*violations(imports, [*python, *cpp], order), *crossings(imports), *mentions(python)])]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
