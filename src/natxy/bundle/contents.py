# SPDX-License-Identifier: Apache-2.0
"""Makes the files of a bundle from the database of a run.

What is computed here is computed again when a bundle is verified, so nothing in it depends on when or where that is.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.export import ExportFormat
from natxy.export.files import write
from natxy.export.rows import figure_rows, to_csv
from natxy.installation import full_version
from natxy.plan.caveats import CaveatKind, by_kind
from natxy.report.page.html import render
from natxy.report.words.states import run_state
from natxy.results import RESULTS_FILE
from natxy.results.database.snapshot import snapshot
from natxy.results.pcap import FOREIGN_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState
from natxy.system.interrupts import dumped
from natxy.untrusted.files import ForeignFolder
from natxy.untrusted.texts import json_text, markdown

PLAN_FILE: Final = "plan.yaml"
FIGURES_FILE: Final = "figures.csv"
TRIALS_FILE: Final = "trials.csv"
CONDITIONS_FILE: Final = "conditions.json"
PAGE_FILE: Final = "report.html"
README_FILE: Final = "README.md"
SUMS_FILE: Final = "SHA256SUMS"

COMPUTED_WITH: Final = "computed_with"
"""The field of the conditions with the versions that computed the files; others may compute other last digits."""
_COMPUTING: Final = ("jinja2", "mpmath", "vl-convert-python")

_README: Final = """\
# {name}

A measurement by natxy {version} ({state}), begun {started}, with seed {seed}.

| file | |
|---|---|
| {page} | the results, for a browser; it loads nothing from a network |
| {figures} | a row for each figure |
| {trials} | a row for each trial |
| {plan} | what was asked for, with every default; natxy run {plan} measures it again |
| {conditions} | versions of natxy, its engine and each gateway; the machines; departures from RFCs and limitations |
| {results} | all that was recorded, an SQLite database that natxy report and natxy compare read |
| {sums} | the hashes of these files: sha256sum -c {sums} |

natxy verify with this bundle checks the hashes, and computes all but foreign.pcap again from the database.
"""


def files_of(folder: Path) -> dict[str, bytes]:
    """Returns the contents of the bundle's files by name, without the hashes, all of the same moment of the run.

    Raises PlanError when `folder` has no readable run, OSError when a file of it cannot be read.
    """
    database = database_of(folder)
    found = computed_from(RunReader.of_bytes(database)) | {RESULTS_FILE: database}
    of_run = ForeignFolder(folder)
    if of_run.has(FOREIGN_FILE):
        with of_run.opened(FOREIGN_FILE) as foreign:
            found[FOREIGN_FILE] = foreign.read()
    return found


def database_of(folder: Path) -> bytes:
    """Returns the database of a run without what SQLite keeps beside it. PlanError when there is no run that ended."""
    reader = RunReader(folder, trials=False)
    if reader.run.state is RunState.RUNNING:
        raise PlanError(f"{reader.folder} is still being measured; bundle it when it has ended")
    with snapshot(reader.folder / RESULTS_FILE) as db:
        return bytes(db.serialize())


def computed_from(reader: RunReader) -> dict[str, bytes]:
    """Returns the files that follow from the database alone."""
    run = reader.run
    trials = io.BytesIO()
    write([(run.name, run)], ExportFormat.CSV, trials, io.BytesIO())
    return {
        PLAN_FILE: run.plan_yaml.encode(),
        FIGURES_FILE: to_csv(figure_rows(run)).encode(),
        TRIALS_FILE: trials.getvalue(),
        CONDITIONS_FILE: _conditions(run).encode(),
        PAGE_FILE: render(reader).encode(),
        README_FILE: _readme(run),
    }


def computing_versions() -> dict[str, str]:
    """Returns the versions of natxy and of the packages that its figures and pictures depend on."""
    return {"natxy": full_version()} | {name: version(name) for name in _COMPUTING}


def sums(files: Mapping[str, bytes]) -> str:
    """Returns the hashes of files, as sha256sum writes and checks them."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))


def _conditions(run: RunRecord) -> str:
    sentences = by_kind(run.caveats)
    conditions = {
        "natxy_version": run.natxy_version,
        COMPUTED_WITH: computing_versions(),
        "seed": run.seed,
        "engine": run.engine,
        "testbed": run.testbed,
        "tester": dumped(run.tester) if run.tester else None,
        "machine": run.machine,
        **{f"{kind}s": sentences.get(kind, []) for kind in CaveatKind},
        "gateways": {each.name: [*map(asdict, each.duts)] for each in run.experiments},
    }
    return json_text(conditions) + "\n"


def _readme(run: RunRecord) -> bytes:
    return _README.format(
        name=markdown(run.name), version=markdown(run.natxy_version), state=run_state(run),
        started=markdown(run.started_at), seed=run.seed,
        page=PAGE_FILE, figures=FIGURES_FILE, trials=TRIALS_FILE, plan=PLAN_FILE, conditions=CONDITIONS_FILE,
        results=RESULTS_FILE, sums=SUMS_FILE,
    ).encode()  # fmt: skip
