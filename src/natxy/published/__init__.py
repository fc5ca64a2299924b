# SPDX-License-Identifier: Apache-2.0
"""Figures that others have published, one table per file, which reports show beside measured ones.

Rates are in frames or connections per second, times in seconds. Columns and rows are in the order of the source.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

from pydantic import BaseModel, ConfigDict, model_validator
from ruamel.yaml import YAML

_SUFFIX: Final = ".yaml"


class PublishedTable(BaseModel):
    """A published table. `where` is its name in the source, `setup` the machines it was measured on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    source: str
    where: str
    setup: str
    note: str = ""
    columns: list[str]
    rows: list[list[int | float | str]]

    @model_validator(mode="after")
    def _rectangular(self) -> PublishedTable:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"expected {len(self.columns)} cells in every row")
        return self


def published_names() -> list[str]:
    """Returns the names that a plan can list under `published`."""
    files = (file.name for file in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))


@cache
def published_table(name: str) -> PublishedTable:
    """Returns a table by its name. KeyError for a name that is not among `published_names`."""
    if name not in published_names():
        raise KeyError(name)
    text = resources.files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    return PublishedTable.model_validate(YAML(typ="safe").load(text))
