# SPDX-License-Identifier: Apache-2.0
"""`natxy install-siitperf`: puts the programs that stand in for siitperf's where its scripts expect them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from natxy.api import PlanError
from natxy.api.programs import installed_again
from natxy.api.verbs import echo, reported_errors
from natxy_siitperf.program import Program


def install_siitperf(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A folder, such as the `build` beside the scripts.", show_default=False),
    ],
) -> None:
    """Install programs that stand in for siitperf's.

    This links siitperf-tp, siitperf-lat and siitperf-pdv into a folder, where siitperf's scripts find them. Links of an
    earlier call are renewed; no other file is replaced.
    """
    with reported_errors():
        echo("".join(f"{link}\n" for link in _installed(folder)))


def _installed(folder: Path) -> list[Path]:
    programs = [Path(sys.executable).with_name(program.value) for program in Program]
    if missing := [str(program) for program in programs if not program.is_file()]:
        raise PlanError(f"{', '.join(missing)} is missing: {installed_again()}")
    links = [folder / program.name for program in programs]
    taken = [str(link) for link, program in zip(links, programs, strict=True) if not _is_free(link, program)]
    if taken:
        raise PlanError(f"{', '.join(taken)} is no link to natxy's; move it away, or choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for link, program in zip(links, programs, strict=True):
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    except OSError as error:
        raise PlanError(f"{error.filename}: {error.strerror}; choose a folder that can be written to") from error
    return links


def _is_free(link: Path, program: Path) -> bool:
    """Returns True unless there is something else than a link to a natxy's program of this name."""
    if not link.is_symlink():
        return not link.exists()
    target = link.readlink()
    return target == program or (target.name == program.name and target.with_name("natxy").exists())
