# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from natxy.system.discovery import subclasses_in

BASE = """
from abc import ABC, abstractmethod

class Base(ABC):
    @abstractmethod
    def act(self): ...
"""

ONE = """
from discovered.base import Base
from discovered.zoo.two import Second

class Half(Base): ...

class Zebra(Base):
    def act(self): ...

class Ant(Zebra): ...
"""

TWO = """
from discovered.base import Base

class Second(Base):
    def act(self): ...
"""


def test_concrete_subclasses_are_found_where_they_are_defined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "discovered"
    (package / "zoo").mkdir(parents=True)
    files = {
        "__init__": "",
        "base": BASE,
        "one": ONE,
        "zoo/__init__": "",
        "zoo/two": TWO,
        "one_test": "raise SystemExit",
    }
    for name, text in files.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = [
        each.__name__ for each in subclasses_in(import_module("discovered"), import_module("discovered.base").Base)
    ]
    assert found == ["Zebra", "Ant", "Second"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "discovered"]:
        monkeypatch.delitem(sys.modules, name)
