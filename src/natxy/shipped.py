# SPDX-License-Identifier: Apache-2.0
"""Finds the files that natxy comes with beside its code: the pages of its documentation and its plans."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent

# In a clone these are links; a wheel holds copies.
DOCS: Final = (_PACKAGE / "docs").resolve()
PLANS: Final = (_PACKAGE / "plans").resolve()


def shown(file: Path) -> str:
    """Returns the path as a person below the current folder would write it, or the whole path elsewhere."""
    try:
        return os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
    except FileNotFoundError:
        # The current folder has been removed.
        return str(file)


def page(name: str) -> str:
    """Returns the path of a page of the documentation, such as `reference/plan.md`, as it is shown to people."""
    file, _, section = name.partition("#")
    return shown(DOCS / file) + (f"#{section}" if section else "")


def schema_comment(folder: Path) -> str:
    """Returns the comment by which editors find the JSON Schema of a plan in the folder.

    Within a clone its path is relative to the plan, so that the clone can be moved. Elsewhere it is a URI: editors end
    a path at its first space.
    """
    schema = DOCS / "reference/plan.schema.json"
    try:
        where = folder.resolve()
    except FileNotFoundError:
        # The current folder has been removed.
        where = Path("/")
    within = where.is_relative_to(DOCS.parent)
    return f"# yaml-language-server: $schema={os.path.relpath(schema, where) if within else schema.as_uri()}"
