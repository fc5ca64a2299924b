# SPDX-License-Identifier: Apache-2.0
"""Taints every text that a run stores, and looks for it in everything that any verb prints or writes.

The verbs and their options are those of the program: a new one is tried too, or this test fails and says what it lacks.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import pytest
import typer.main
from ruamel.yaml import YAML
from typer.testing import CliRunner

from natxy.bundle.contents import SUMS_FILE, files_of, sums
from natxy.bundle.file import write_zip
from natxy.cli import app
from natxy.errors import PlanError
from natxy.plan.yaml.loading import load_plan
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from tests.support.siitperf_confs import conf_text
from tests.support.stored_values import NAMES, Place, change, control_characters, measured, places

TAINT: Final = (
    '=HYPERLINK("http://evil.test")<meta http-equiv="refresh" content="0;url=http://evil.test/">'
    "</script></style></svg><img src=x onerror=alert(1)>\x1b]0;owned\x07\x9b31m\u202e\r"
    "[b]x[/x] \\input{/etc/passwd} | `code` /../../tainted \"'<!-- "
)

# They concern this machine, or help with words and first plans.
WITHOUT_RUN: Final = {
    "watch",
    "selftest",
    "calibrate",
    "cleanup",
    "install-siitperf",
    "init",
    "explain",
    "help",
    "locks",
    "campaign",
}
# Values of options that are neither a choice nor a flag, by the option's name or by verb and name.
VALUES: Final = {
    "--fail-below": "5%", "--undecided": "3", "--repeat": "1", "--only": "forwarding", "--baseline": "OTHER",
    "--before": "true", "--events": "OUT.jsonl", "--metrics": "0",
    "--output": "OUT", "--junit": "OUT.xml", "--markdown": "OUT.md", "--json": "OUT.json", "judge --plan": "PLAN",
    "import --procedure": TAINT, "import --arguments": f"84 {TAINT}", "import --gateway": TAINT,
    "import --testbed": TAINT,
    "history --plan": f"{TAINT}stored", "export --output": "OUT.csv", "history --output": "OUT.html",
    "bundle --output": "OUT.zip", "bundle --sign": TAINT, "verify --allowed-signers": TAINT,
    "leave-out --experiment": TAINT, "leave-out --repetition": "1", "leave-out --step": "1",
}  # fmt: skip
# Cases that are bad usage: their error is looked at.
REFUSED: Final = {
    ("report", "--output"), ("export", ""), ("judge", "--plan"), ("bundle", "--sign"), ("verify", "--allowed-signers"),
    ("import", ""), ("import", "--procedure"), ("import", "--arguments"), ("import", "--gateway"),
    ("import", "--testbed"),
    ("leave-out", ""), ("leave-out", "--experiment"), ("leave-out", "--repetition"), ("leave-out", "--step"),
}  # fmt: skip
# Cases that would change the machine.
LEFT_OUT: Final = {("doctor", "--fix")}
# What has to stay as it is in a run that is resumed.
OF_THE_PLAN: Final = {"settings_json", "natxy_version", "name"}


class Tags(HTMLParser):
    """Collects the tags of a page and the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[tuple[str, ...]] = set()
        self.refreshes = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, *sorted(name for name, _ in attrs)))
        self.refreshes += ("http-equiv", "refresh") in attrs


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("clean") / "run")


@pytest.fixture(scope="module")
def tainted(clean: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[Place]]:
    """Returns a folder with a tainted run, whose own name is markup, and the places that are tainted."""
    folder = Path(shutil.copytree(clean, tmp_path_factory.mktemp("tainted") / "n[v1] [b] \x1b[2J"))
    kept = set(_taint_database(folder, places(folder, texts_only=True)))
    yaml = YAML()
    # Broken lines of escaped text are read back with other spaces.
    yaml.width = 100_000
    _taint_file(folder / "plan.yaml", yaml)
    change(folder, Place("run", "plan_yaml"), lambda _: load_plan(folder / "plan.yaml").to_yaml())
    return folder, kept


@pytest.fixture(scope="module")
def interrupted(clean: Path, tainted: tuple[Path, set[Place]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a tainted run that can be resumed."""
    folder = Path(shutil.copytree(clean, tmp_path_factory.mktemp("interrupted") / "n[v1] [b] \x1b[2J"))
    shutil.copy(tainted[0] / "plan.yaml", folder)
    free = [place for place in places(folder, texts_only=True) if place.column not in OF_THE_PLAN]
    assert len([*_taint_database(folder, free)]) > 20
    change(folder, Place("run", "plan_yaml"), lambda _: load_plan(folder / "plan.yaml").to_yaml())
    change(folder, Place("run", "state"), lambda _: RunState.INTERRUPTED)
    return folder


def _taint_database(folder: Path, chosen: Sequence[Place]) -> Iterator[Place]:
    """Taints each place that may hold any text; yields those."""
    database = folder / RESULTS_FILE
    for place in chosen:
        # Settings with other names are left out, and nothing would be judged.
        if place.column == "settings_json" and place.path[-1] == NAMES and "cell" not in place.path:
            continue
        before = database.read_bytes()
        change(folder, place, lambda value: TAINT + value if isinstance(value, str) else value)
        try:
            RunReader(folder)
        except PlanError:
            database.write_bytes(before)
        else:
            yield place


def _taint_file(file: Path, yaml: YAML) -> None:
    """Taints each text of the plan that may be any text. A field takes the same texts in all experiments."""
    plan = yaml.load(file.read_text())
    first, *others = plan["experiments"]
    for holder in (plan, first):
        for field, value in holder.items():
            if isinstance(value, str):
                holder[field] = TAINT + value
                yaml.dump(plan, file)
                try:
                    load_plan(file)
                except PlanError:
                    holder[field] = value
    for holder in others:
        holder.update({field: TAINT + holder[field] for field in holder if str(first.get(field)).startswith(TAINT)})
    yaml.dump(plan, file)
    assert TAINT in load_plan(file).experiments[0].title


def test_the_taint_is_everywhere_where_a_text_is_read(tainted: tuple[Path, set[Place]]) -> None:
    names = set(map(str, tainted[1]))
    assert names >= {
        "run.name", "run.natxy_version", "run.testbed_json.testbed", "run.machine_json.host", "run.machine_json.names",
        "run.caveats_json.*.text", "run.engine_info_json.name", "experiment.reason", "experiment.settings_json.name",
        "experiment.settings_json.title", "experiment.settings_json.sweep", "experiment.settings_json.baseline",
        "experiment.settings_json.cell.names", "experiment.duts_json.*.name", "experiment.duts_json.*.version",
        "experiment.duts_json.*.settings.names", "experiment.duts_json.*.configuration", "repetition.reason",
        "repetition.curves_json.*.name", "repetition.curves_json.*.title", "repetition.curves_json.*.x.title",
        "trial.reason", "trial.result_json.streams.*.name",
    }, sorted(names)  # fmt: skip


def invocations() -> Iterator[tuple[str, list[str]]]:
    """Yields each verb with its arguments alone, and with each value of each option."""
    group: Any = typer.main.get_command(app)
    for registered in app.registered_commands:
        assert registered.callback is not None
        verb, hints = registered.name or registered.callback.__name__, get_type_hints(registered.callback)
        if verb in WITHOUT_RUN:
            continue
        choices = {name: [*_choices(hint)] for name, hint in hints.items()}
        parameters = group.commands[verb].params
        argument = next(each for each in parameters if each.param_type_name == "argument")
        for given in _arguments(verb, argument, choices[argument.name]):
            yield verb, given
            for option in (each for each in parameters if each.param_type_name == "option" and each.name in hints):
                if (verb, option.opts[0]) in LEFT_OUT:
                    continue
                yield from ((verb, [*given, *values]) for values in _values(verb, option, choices[option.name]))


def _choices(hint: Any) -> Iterator[str]:
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            yield from (choice.value for choice in kind)


def _arguments(verb: str, argument: Any, choices: Sequence[str]) -> Iterator[list[str]]:
    if choices:
        yield from ([choice] for choice in choices)
    elif argument.metavar == "RUN":
        yield ["RUN", "OTHER"] if argument.nargs == -1 else ["RUN"]
    elif argument.metavar in ("SIITPERF.CONF", "BUNDLE"):
        yield [argument.metavar]
    else:
        assert argument.metavar == "FOLDER" or argument.name == "plan", f"{verb}: what is {argument.name}?"
        yield ["PLAN" if argument.name == "plan" else "RUNS"]


def _values(verb: str, option: Any, choices: Sequence[str]) -> Iterator[list[str]]:
    name = option.opts[0]
    if choices:
        yield from ([name, choice] for choice in choices)
    elif option.is_flag:
        yield [name]
    else:
        value = VALUES.get(f"{verb} {name}", VALUES.get(name))
        assert value, f"{verb} {name}: add a value to VALUES"
        yield [name, value]


def ending(value: Any) -> str:
    return {"latex": "tex", "markdown": "md", "csv-tables": "csv", "json": "json", "csv": "csv"}.get(value, "txt")


CASES: Final = [*invocations()]


def test_every_verb_is_tried() -> None:
    assert {verb for verb, _ in CASES} >= {"report", "compare", "export", "history", "judge", "list", "doctor", "check"}
    assert len(CASES) > 40


def named(given: str | list[str]) -> str:
    return given if isinstance(given, str) else "-".join(given)


@pytest.mark.parametrize(("verb", "arguments"), CASES, ids=named)
def test_no_verb_lets_it_through(
    verb: str, arguments: list[str], tainted: tuple[Path, set[Place]], interrupted: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run = interrupted if verb == "resume" else tainted[0]
    runs = tmp_path / "runs[b]"
    folder, other = Path(shutil.copytree(run, runs / run.name)), Path(shutil.copytree(tainted[0], tmp_path / "other"))
    (tmp_path / "plans").mkdir()
    shutil.copy(folder / "plan.yaml", tmp_path / "plans" / "a[b].yaml")
    (tmp_path / "siitperf.conf").write_text(conf_text("nat44") + ("" if arguments[1:] else f"Promisc {TAINT}\n"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = {"RUN": folder, "RUNS": runs, "OTHER": other, "PLAN": folder / "plan.yaml"}
    words |= {"SIITPERF.CONF": tmp_path / "siitperf.conf", "BUNDLE": tmp_path / "given.zip"}
    if "BUNDLE" in arguments:
        files = files_of(folder)
        with words["BUNDLE"].open("wb") as out:
            write_zip(out, "given", files | {SUMS_FILE: sums(files).encode()}, datetime(2026, 3, 1, tzinfo=UTC))
    before = {*tmp_path.rglob("*")}
    done = CliRunner().invoke(app, [verb, *(str(words.get(word, word)) for word in arguments)], env={"COLUMNS": "200"})
    option, value = ["", "", *arguments][-2:]
    is_refused = (verb, option if option.startswith("-") else "") in REFUSED
    assert done.exit_code in ({2} if is_refused else {0, 4} if verb == "doctor" else {0, 6}), done.output
    form = ending(value) if option == "--format" else "json" if option == "--benchmark" or value == "--json" else "txt"
    if value != "parquet":
        check(form, done.stdout)
        check("txt", done.stderr)
    written = {*tmp_path.rglob("*")} - before
    for file in written:
        assert not control_characters(str(file.relative_to(folder) if folder in file.parents else file))
        if file.is_file() and file.suffix in (".html", ".csv", ".md", ".xml", ".json", ".svg"):
            check(file.suffix.removeprefix("."), file.read_text(encoding="utf-8"))
        if file.suffix == ".zip":
            check_bundle(file)
        if file.suffix == ".jsonl":
            for line in file.read_text(encoding="utf-8").splitlines():
                check("json", line)
    measured_into = {tmp_path / "runs", *(tmp_path / "runs").glob("*")}
    places_to_write = {tmp_path, runs, folder, folder / "charts", tmp_path / "OUT", tmp_path / "cache" / "natxy"}
    assert {file.parent for file in written} <= {*places_to_write, *measured_into, tmp_path / "cache"}


def check_bundle(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            assert not control_characters(name)
            if name.endswith((".html", ".csv", ".md", ".json")):
                check(name.rpartition(".")[2], io.TextIOWrapper(archive.open(name), encoding="utf-8").read())


def check(form: str, text: str) -> None:
    """Asserts that a text of this format has nothing that its readers would obey."""
    assert control_characters(text) == []
    match form:
        case "html":
            page = Tags(text)
            assert page.refreshes == 0
            assert {tag for tag, *_ in page.found}.isdisjoint({"img", "base", "form", "iframe", "object", "b x"})
            assert [tag for tag in page.found if tag[0] == "meta"] != []
            assert not any("onerror" in tag for tag in page.found)
            assert len(re.findall(r"<script", text)) == 2
            policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
            assert policy is not None
            assert "base-uri 'none'; form-action 'none'" in policy[1]
        case "svg" | "xml":
            tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
            assert tags.isdisjoint({"meta", "script", "img", "foreignObject"})
        case "json":
            json.loads(text)
        case "csv":
            for cell in (cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row):
                assert not cell.lstrip().startswith(("=", "@")), cell
                assert re.fullmatch(r"(?![+-]).*|[+-]\d.*", cell, re.DOTALL), cell
        case "md":
            bare = re.sub(r"\\[\\`*_~$#\[\]<>|&]", "", text)
            assert not re.search(r"[<`]|\[b\]", bare)
            lines = [line for line in bare.splitlines() if line.startswith("|")]
            for one, other in pairwise(lines):
                if ":-" in other or ":-" in one:
                    assert one.count("|") == other.count("|")
        case "tex":
            assert "\\input" not in text
            assert "^^" not in text
