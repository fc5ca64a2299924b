# SPDX-License-Identifier: Apache-2.0
"""Finds the classes that the modules of a package define, so that no list of them has to be kept."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import walk_packages
from types import ModuleType
from typing import TypeVar

Base = TypeVar("Base")


def subclasses_in(package: ModuleType, base: type[Base]) -> Iterator[type[Base]]:
    """Imports every module of `package`, subpackages included, and yields the subclasses of `base` defined there.

    Modules are in alphabetical order, their classes in the order of definition. `base` itself, classes with abstract
    methods and test modules are left out. A package can call this in its own `__init__`, provided that its modules
    import nothing that the `__init__` defines after the call.
    """
    for info in walk_packages(package.__path__, f"{package.__name__}."):
        if info.name.endswith("_test"):
            continue
        for member in vars(import_module(info.name)).values():
            defined_here = isclass(member) and member.__module__ == info.name
            if defined_here and issubclass(member, base) and member is not base and not isabstract(member):
                yield member
