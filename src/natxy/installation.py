# SPDX-License-Identifier: Apache-2.0
"""Says what completes this installation of natxy: a clone, an environment of pip's, or a package that has no pip."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.shipped import page

EXTRAS: Final = {
    "parquet": ("pyarrow>=20,<27",),
    "watch": ("starlette>=1,<2", "uvicorn>=0.40,<1"),
    "campaign": ("dask>=2025.1", "distributed>=2025.1"),
    "metrics": ("prometheus-client>=0.22,<1",),
}
"""Lists what pip installs for each extra, as pyproject.toml does."""
_PAGE: Final = "how-to/install.md"
_MAKEFILE: Final = Path(__file__).resolve().parents[2] / "Makefile"


class ExtraMissingError(PlanError):
    """Reports that an extra is not installed, which `what` needs, and the command that installs it here."""

    page = f"{_PAGE}#extras"

    def __init__(self, what: str, extra: str, otherwise: str = "") -> None:
        super().__init__(
            f"{what} needs natxy's extra `{extra}`, which is not installed: run `{_command(EXTRAS[extra])}`{otherwise}"
        )


def by_make(target: str) -> str:
    """Returns the remedy for something that only a target of the Makefile builds."""
    return f"run `make {target}`" if _MAKEFILE.is_file() else f"run `make {target}` in a clone of natxy"


def installed_again() -> str:
    """Returns the remedy for a lack of something that an installation has."""
    return by_make("setup") if _MAKEFILE.is_file() else f"install natxy again, as {page(_PAGE)} says"


def _command(requirements: tuple[str, ...]) -> str:
    wanted = shlex.join(requirements)
    if find_spec("pip"):
        return f"{sys.executable} -m pip install {wanted}"
    return f"apt install python3-pip && pip --python {sys.executable} install {wanted}"
