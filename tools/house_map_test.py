# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.house_map import Import, cpp_imports, crossings, main, mentions, python_imports, rooms, violations

MAP = """
text about `nothing`

| room | its topic |
|---|---|
| `engine/packet` | headers |
| `engine/trial`, `engine/rpc` | trials |

| room | its topic |
|---|---|
| `src/natxy/plan/model` | parts |
| `src/natxy/plan` | plans |
"""


def test_the_map_lists_rooms_from_the_ground_up() -> None:
    assert rooms(MAP) == ["engine/packet", "engine/trial", "engine/rpc", "src/natxy/plan/model", "src/natxy/plan"]


def found(importer: str, imported: str) -> list[str]:
    files = ["a/low.py", "a/low/inner.py", "b/high.py", "b/other.py"]
    return [*violations([Import(importer, imported)], files, ["a", "b"])]


def test_a_room_imports_itself_and_rooms_above_it_on_the_map() -> None:
    assert found("b/high.py", "a/low/inner.py") == []
    assert found("b/high.py", "b/other.py") == []
    assert found("a/low.py", "b/high.py") == ["a/low.py imports b/high.py: b is not above a on the map"]


def test_a_circle_of_files_is_named() -> None:
    imports = [Import("a/one.py", "a/two.py"), Import("a/two.py", "a/one.py")]
    (sentence,) = violations(imports, ["a/one.py", "a/two.py"], ["a"])
    assert sentence.startswith("files import each other in a circle: ")
    assert "a/one.py -> a/two.py" in sentence


def test_files_off_the_map_and_empty_rooms_are_named() -> None:
    assert [*violations([], ["c/lost.py"], ["a"])] == [
        "c/lost.py is in no room of the map in CONTRIBUTING.md",
        "the map in CONTRIBUTING.md lists a, which is empty",
    ]


def test_imports_are_found_in_every_form_and_for_types_alone() -> None:
    sources = {
        "src/natxy/a.py": "import natxy.b\nfrom natxy import c\n",
        "src/natxy/b.py": "if TYPE_CHECKING:\n    from natxy.d.e import Name\n",
        "src/natxy/c.py": "def f():\n    from natxy.d import e\n",
        "src/natxy/d/__init__.py": "",
        "src/natxy/d/e.py": "import sys\n",
    }
    assert [(each.importer[10:], each.imported[10:]) for each in python_imports(sources)] == [
        ("a.py", "b.py"),
        ("a.py", "c.py"),
        ("b.py", "d/e.py"),
        ("c.py", "d/e.py"),
    ]


SIITPERF = "siitperf/src/natxy_siitperf"


def test_another_distribution_imports_the_public_api_alone() -> None:
    sources = {
        f"{SIITPERF}/__init__.py": "",
        f"{SIITPERF}/a.py": "from natxy.api import PlanError\nfrom natxy.api.engine import Side\n",
        f"{SIITPERF}/b.py": "from natxy.errors import PlanError\nfrom natxy_siitperf import a\n",
        f"{SIITPERF}/c.py": "def f():\n    from natxy import __version__\n",
        f"{SIITPERF}/d.py": "import natxy.apiary\n",
        "src/natxy/__init__.py": "",
        "src/natxy/api/__init__.py": "from natxy.errors import PlanError\n",
        "src/natxy/api/engine.py": "",
        "src/natxy/apiary.py": "",
        "src/natxy/errors.py": "",
    }
    assert [*crossings(python_imports(sources))] == [
        f"{SIITPERF}/b.py imports src/natxy/errors.py: only src/natxy/api is natxy's public API",
        f"{SIITPERF}/c.py imports src/natxy/__init__.py: only src/natxy/api is natxy's public API",
        f"{SIITPERF}/d.py imports src/natxy/apiary.py: only src/natxy/api is natxy's public API",
    ]


def test_natxy_names_no_other_distribution() -> None:
    sources = {
        "src/natxy/a.py": "from natxy_siitperf.conf import Conf\n",
        "src/natxy/b.py": "def f():\n    return import_module('natxy_siitperf')\n",
        "src/natxy/c.py": "NAMES = ['natxy-siitperf']\n",
        f"{SIITPERF}/d.py": "import natxy_siitperf.conf\n",
    }
    assert [sentence.split(":")[0] for sentence in mentions(sources)] == [
        "src/natxy/a.py names natxy_siitperf",
        "src/natxy/b.py names natxy_siitperf",
    ]


def test_includes_are_found() -> None:
    sources = {"engine/a/x.cpp": '#include "a/x.hpp"\n#include <vector>\n', "engine/a/x.hpp": ""}
    assert cpp_imports(sources) == [Import("engine/a/x.cpp", "engine/a/x.hpp")]


def test_the_sources_follow_the_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
