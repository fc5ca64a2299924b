# SPDX-License-Identifier: Apache-2.0
"""Says which natxy this is, and what completes its installation: a clone, an environment of pip's, or a package that
has no pip."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from natxy import __version__
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
_GIT_S: Final = 10


class ExtraMissingError(PlanError):
    """Reports that an extra is not installed, which `what` needs, and the command that installs it here."""

    page = f"{_PAGE}#extras"

    def __init__(self, what: str, extra: str, otherwise: str = "") -> None:
        super().__init__(
            f"{what} needs natxy's extra `{extra}`, which is not installed: run `{_command(EXTRAS[extra])}`{otherwise}"
        )


class DistributionMissingError(PlanError):
    """Reports that a distribution beside natxy is not installed, which `what` needs, and what installs it here."""

    page = f"{_PAGE}#for-users-of-siitperf"

    def __init__(self, what: str, distribution: str) -> None:
        remedy = by_make("setup") if _MAKEFILE.is_file() else f"install it, as {page(self.page)} says"
        super().__init__(f"{what} needs the distribution {distribution}, which is not installed: {remedy}")


class DistributionBrokenError(PlanError):
    """Reports that a distribution beside natxy, which `what` needs, could not be loaded."""

    page = _PAGE

    def __init__(self, what: str, distribution: str, error: Exception) -> None:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        super().__init__(f"{what} of {distribution} could not be loaded ({why}): install {distribution} again")


@cache
def full_version() -> str:
    """Returns the version, in a clone with its commit, such as `0.1.0+g1a2b3c4d5e6f`, and `.dirty` if files differ."""
    clone = _MAKEFILE.parent
    if not (clone / ".git").exists():
        return __version__
    # Root may use the clone of another user.
    git = ["git", "-c", f"safe.directory={clone}", "-C", str(clone)]
    # A hook of another repository has a GIT_DIR, which outranks -C; and `status` would write the index.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    run = partial(subprocess.run, env=own | {"GIT_OPTIONAL_LOCKS": "0"}, capture_output=True, text=True, check=True)
    try:
        commit, changed = (
            run([*git, *words], timeout=_GIT_S).stdout.strip()
            for words in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{__version__}+g{commit}{'.dirty' if changed else ''}"


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
