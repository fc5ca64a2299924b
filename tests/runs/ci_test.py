# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of the how-tos on CI and on bisecting, in toy repositories of gateways in virtual time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from junitparser import JUnitXml
from ruamel.yaml import YAML

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
SOURCE = Path(__file__).parents[2] / "src"

# The gateway's source is its rate. It is looked for where natxy is started, as a gateway's program is; `machine` is
# what the machine forwards.
MAKEFILE = "build:\n\ttest -s rate\n"
NATXY = f"""\
#!/bin/sh
if [ "$1" = run ]; then
    plan=$(mktemp --suffix .yaml)
    sed "s/RATE/$(cat rate)/; s/MACHINE/$(cat machine)/" "$2" > "$plan"
    shift 2
    set -- run "$plan" "$@"
fi
exec "{sys.executable}" -m natxy "$@"
"""
PLAN = """\
name: toy
repeat: 8
timing: lab
testbed: {kind: simulated, noise: 0.02}
experiments:
  - name: forwarding
    gateway: {driver: simulated, forwarding_fps: MACHINE}
    procedure: throughput
    search: {kind: binary, min_rate: 140k, max_rate: 280k, error: 1%}
  - name: nat
    gateway: {driver: simulated, forwarding_fps: RATE}
    procedure: throughput
    search: {kind: binary, min_rate: 140k, max_rate: 280k, error: 1%}
    baseline: forwarding
  - name: rate
    gateway: simulated
    procedure: connection-rate
    connections: 10k
    search: {kind: binary, min_rate: 140k, max_rate: 280k, error: 1%}
"""


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (HOW_TO / page).read_text(encoding="utf-8"), re.M | re.S)


def block_with(page: str, text: str) -> str:
    [found] = [block for block in blocks(page, "sh") if text in block]
    return found


# What a frame costs is the gateway's source.
COST_PLAN = """\
name: cost
repeat: 3
timing: lab
testbed: {kind: simulated, noise: 0.02}
experiments:
  - name: nat
    gateway: {driver: simulated, frame_instructions: RATE, buffer_frames: 1000}
    procedure: {name: frame-cost, rounds: 1}
"""


Job = tuple[str, Mapping[str, str]]
"""The script of a job, and the variables that its runner sets."""


class Toy:
    """A clone with a remote, as a CI runner has it, and `natxy` in the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "clone"
        programs = folder / "bin"
        programs.mkdir(parents=True)
        (programs / "natxy").write_text(NATXY)
        (programs / "natxy").chmod(0o755)
        identity = {f"GIT_{who}_{what}": "toy" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.environment = {
            **os.environ, **identity, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCE),
            "GIT_CONFIG_GLOBAL": "/dev/null", "COLUMNS": "100", "TMPDIR": str(folder),
        }  # fmt: skip
        self.environment.pop("GITHUB_STEP_SUMMARY", None)
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", folder / "origin"], check=True)
        subprocess.run(["git", "clone", "--quiet", folder / "origin", self.folder], check=True, capture_output=True)
        (self.folder / "bench").mkdir()
        for name, text in (
            ("Makefile", MAKEFILE),
            ("bench/plan.yaml", PLAN),
            ("machine", "500k"),
            (".gitignore", "natxy-results\n"),
        ):
            (self.folder / name).write_text(text)
        script = block_with("ci.md", "git worktree")
        (self.folder / "bench" / "compare.sh").write_text(script)
        (self.folder / "bench" / "compare.sh").chmod(0o755)

    def commit(self, rate: str, message: str = "a change") -> str:
        """Commits a gateway of this rate and returns the commit's name."""
        (self.folder / "rate").write_text(rate)
        self.run("git add --all && git commit --quiet --allow-empty --message", message)
        return self.run("git rev-parse HEAD").stdout.strip()

    def run(self, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a script with further arguments for its last command, as a runner does."""
        return subprocess.run(
            ["bash", "-e", "-c", f'{script} "$@"' if arguments else script, "script", *arguments],
            cwd=self.folder, env=self.environment | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


def github(toy: Toy) -> Job:
    [page] = [YAML(typ="safe").load(block) for block in blocks("ci.md", "yaml") if "jobs:" in block]
    [script] = [step["run"] for step in page["jobs"]["natxy"]["steps"] if "run" in step]
    return script, {"GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(toy.folder.parent / "summary.md")}


def gitlab(toy: Toy) -> Job:
    [page] = [YAML(typ="safe").load(block) for block in blocks("ci.md", "yaml") if "stage:" in block]
    base = toy.run("git rev-parse origin/main").stdout.strip()
    return "\n".join(page["natxy"]["script"]), {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}


@pytest.mark.parametrize(
    ("job", "rate", "code", "answer"),
    [
        pytest.param(github, "400k", 0, "met", marks=pytest.mark.long),
        pytest.param(github, "360k", 6, "missed"),
        pytest.param(github, "380k", 0, "undecided", marks=pytest.mark.long),
        pytest.param(gitlab, "360k", 6, "missed", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_the_jobs_of_github_and_gitlab_have_three_answers(
    toy: Toy, job: Callable[[Toy], Job], rate: str, code: int, answer: str
) -> None:
    toy.commit("400k")
    toy.run("git push --quiet origin main")
    toy.run("git checkout --quiet -b change")
    toy.commit(rate)
    script, variables = job(toy)
    done = toy.run(script, **variables)
    assert done.returncode == code, done.stdout + done.stderr
    results = toy.folder / "natxy-results"
    assert json.loads((results / "answer.json").read_text())["answer"] == answer
    suites = JUnitXml.fromfile(str(results / "junit.xml"))
    assert sum(suite.tests for suite in suites) == 2
    summary = Path(variables.get("GITHUB_STEP_SUMMARY", str(results / "summary.md"))).read_text()
    assert "| nat | Share of the baseline | at most 5 % below" in summary


def test_a_base_that_does_not_build_has_a_code_of_its_own_and_spares_the_next_job(toy: Toy) -> None:
    toy.commit("")
    toy.run("git push --quiet origin main")
    toy.commit("400k")
    for _ in range(2):
        done = toy.run("bench/compare.sh origin/main")
        assert done.returncode == 10, done.stdout + done.stderr
        assert len(toy.run("git worktree list").stdout.splitlines()) == 1
        # A job that is killed leaves a tree.
        toy.run("git worktree add --detach natxy-results/tree")


def test_a_base_that_is_no_commit_is_named(toy: Toy) -> None:
    toy.commit("400k")
    done = toy.run("bench/compare.sh origin/none")
    assert done.returncode == 10
    assert done.stderr == "compare.sh: origin/none is no commit of this clone; fetch it\n"


@pytest.mark.long
def test_a_first_plan_has_a_base_too_and_a_slower_machine_is_no_slower_gateway(toy: Toy) -> None:
    (toy.folder / "bench" / "plan.yaml").rename(toy.folder / "plan")
    toy.commit("400k")
    toy.run("git push --quiet origin main")
    (toy.folder / "plan").rename(toy.folder / "bench" / "plan.yaml")
    (toy.folder / "machine").write_text("445k")
    toy.commit("356k")
    done = toy.run("bench/compare.sh origin/main")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((toy.folder / "natxy-results" / "answer.json").read_text())["answer"] == "met"


def test_a_list_for_a_benchmark_action(toy: Toy) -> None:
    toy.commit("400k")
    toy.run("make build && mkdir natxy-results && natxy run bench/plan.yaml --repeat 3 --output natxy-results/new")
    listed = toy.run(block_with("ci.md", "--benchmark"))
    assert listed.returncode == 0, listed.stderr
    entries = json.loads((toy.folder / "benchmark.json").read_text())
    assert [entry["name"] for entry in entries] == [
        "forwarding: Throughput", "nat: Throughput", "nat: Share of the baseline",
        "rate: Maximum connection establishment rate",
    ]  # fmt: skip
    assert all({*entry} == {"name", "unit", "value", "range"} for entry in entries)


@pytest.mark.long
def test_a_bisection_finds_a_planted_loss(toy: Toy, tmp_path: Path) -> None:
    rates = ["400k", "400k", "404k", "398k", "360k", "362k", "358k", "360k"]
    commits = [toy.commit(rate, f"commit {number}") for number, rate in enumerate(rates)]
    script, search = (block.replace("/tmp", str(tmp_path)) for block in blocks("bisect.md", "sh"))
    (tmp_path / "bisect.sh").write_text(script)
    done = toy.run(search, GOOD=commits[0], BAD=commits[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{commits[4]} is the first bad commit" in done.stdout


def test_a_bisection_finds_one_percent_more_instructions(toy: Toy, tmp_path: Path) -> None:
    (toy.folder / "bench" / "plan.yaml").write_text(COST_PLAN)
    costs = ["10000", "9990", "10100", "10100"]
    commits = [toy.commit(cost, f"commit {number}") for number, cost in enumerate(costs)]
    script, search = (block.replace("/tmp", str(tmp_path)) for block in blocks("bisect.md", "sh"))
    (tmp_path / "bisect.sh").write_text(script.replace("10 20 40", "3 5"))
    search = search.replace("--repeat 40", "--repeat 5").replace("good 5%", "good '*:instructions=0.5%'")
    assert "instructions" in search
    done = toy.run(search, GOOD=commits[0], BAD=commits[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{commits[2]} is the first bad commit" in done.stdout


def test_a_bisection_skips_what_does_not_build_and_ends_at_a_wrong_plan(toy: Toy, tmp_path: Path) -> None:
    toy.commit("400k")
    (tmp_path / "bisect.sh").write_text(blocks("bisect.md", "sh")[0].replace("/tmp", str(tmp_path)))
    (tmp_path / "plan.yaml").write_text(PLAN)
    toy.run("make build && natxy run bench/plan.yaml --repeat 5 --output", str(tmp_path / "good"))
    judge = f"sh {tmp_path / 'bisect.sh'} {tmp_path / 'good'} 5%"
    (toy.folder / "rate").unlink()
    assert toy.run(judge).returncode == 125
    (toy.folder / "rate").write_text("fast")
    assert toy.run(judge).returncode == 255
