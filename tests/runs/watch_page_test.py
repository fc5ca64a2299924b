# SPDX-License-Identifier: Apache-2.0
"""Looks at runs and campaigns through the server of `natxy watch`, by HTTP and in a real browser."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from natxy.campaign.jobs.queue import Ending
from natxy.campaign.log import CampaignStarted, JobEnded, JobStarted, LoggedJob, campaign_log
from natxy.engine.messages.results import Cause, Verdict
from natxy.events.base import Event
from natxy.events.lines import EVENTS_FILE
from natxy.events.listener import RunListener
from natxy.events.run import RepetitionStarted, RunFinished, TestbedBuilt
from natxy.events.trials import AttemptStarted, TrialFinished, TrialProgress, TrialStarted
from natxy.events.writer import events_into
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.records import RunState
from natxy.results.trials import Purpose, TrialKind
from natxy.run.run import run_plan
from natxy.run.telling import run_started
from natxy.untrusted.files import ForeignFolder
from natxy.watch.page.campaign import CampaignView
from natxy.watch.page.run import RunView
from tests.support.browser import browser
from tests.support.chromium import needs_chromium
from tests.support.command import HANG_S, command, natxy
from tests.support.timing import wait_until

pytest.importorskip("uvicorn", reason="uvicorn is not installed (make setup-dev)")

HOSTILE = "<img src=x onerror=alert(1)>"
ATTEMPT: Any = {"experiment": "x", "repetition": 1, "attempt": 1}


@pytest.fixture(autouse=True)
def _own_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def plan() -> ResolvedPlan:
    experiment = {
        "name": "x",
        "title": HOSTILE,
        "procedure": "throughput",
        "gateway": "simulated",
        "repeat": 1,
        "search": {"min_rate": "10k", "max_rate": "1M"},
    }
    return resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}))


class Run:
    """A run that goes on as a test wants it to."""

    def __init__(self, folder: Path, plan: ResolvedPlan) -> None:
        folder.mkdir()
        self.folder = folder
        self.tell(run_started(plan, folder, resumed=False), RepetitionStarted(experiment="x", repetition=1))

    def tell(self, *events: Event) -> None:
        with events_into(self.folder / EVENTS_FILE, pytest.fail) as writer:
            for event in events:
                writer.receive(event)

    def begin(self, step: int, rate: float) -> None:
        trial = TrialStarted(step=step, kind=TrialKind.TRAFFIC, purpose=Purpose.MEASURE, rate_fps=rate, **ATTEMPT)
        self.tell(AttemptStarted(step=step, rate=rate, lower=1e4, upper=1e6, **ATTEMPT), trial)

    def progress(self, elapsed_s: float, sent: int, received: int) -> None:
        self.tell(
            TrialProgress(kind=TrialKind.TRAFFIC, elapsed_s=elapsed_s, planned=4000, sent=sent, received=received)
        )

    def end(self, step: int, rate: float, verdict: Verdict) -> None:
        self.tell(
            TrialFinished(
                step=step, kind=TrialKind.TRAFFIC, purpose=Purpose.MEASURE, rate_fps=rate, verdict=verdict,
                cause=Cause.LOSSLESS, reason=HOSTILE, duration_s=4, planned=4000, sent=4000, received=3990, lost=10,
                sent_per_second=(1000,) * 4, received_per_second=(1000, 1000, 990, 1000), late_ns=800,
                tester_pause_s=0.001, gateway_pause_s=None, dut_load=None, **ATTEMPT,
            )
        )  # fmt: skip


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yields the process of `natxy watch` and the address that it prints."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command("watch", folder, "--port", str(port)), stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stdout
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=HANG_S) as answer:
        text: str = answer.read().decode()
        return text


def first_parts(address: str) -> dict[str, object]:
    """Returns what a viewer gets at first."""
    found: dict[str, object] = {}
    with urllib.request.urlopen(address + "events", timeout=HANG_S) as answer:
        while len(found) < 5:
            name, data = answer.readline().decode(), answer.readline().decode()
            found[name.removeprefix("event: ").strip()] = json.loads(data.removeprefix("data: "))
            answer.readline()
    return found


def test_a_finished_run_is_shown_to_who_knows_its_address_and_stays_as_it_is(
    plan: ResolvedPlan, tmp_path: Path
) -> None:
    run_plan(plan, tmp_path / "run", RunListener())
    (tmp_path / "run" / "report.html").write_text("the report")
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in (tmp_path / "run").iterdir()}
    with served(tmp_path / "run") as (_, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", address)
        page = fetched(address)
        assert '<script src="page.js">' in page
        assert re.search(r'(src|href)="(?!page\.js|charts\.js|report\.html|data:,)', page) is None
        parts = first_parts(address)
        for part in ("state", "plan"):
            assert str(parts[part]) in page, "it can be read before any script runs, and without one"
        assert "finished 1 of 1" in page
        assert '<span class="badge done">done</span>' in str(parts["state"])
        assert re.search(r"<td>1 of 1</td><td>.* kfps per direction", str(parts["plan"]))
        assert "report.html" in str(parts["state"])
        assert "finished 1 of 1" in str(parts["log"])
        assert parts["search"] is not None
        assert fetched(address + "report.html") == "the report"
        for wrong in (
            address + "history.html",
            address[:-2] + "x/",
            address.rsplit("/", 2)[0] + "/",
            address + "plan.yaml",
        ):
            with pytest.raises(urllib.error.HTTPError, match="404") as refused:
                fetched(wrong)
            said = refused.value.read().decode()
            assert "its token" in said or wrong.endswith("history.html")
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in (tmp_path / "run").iterdir()} == before
    assert (tmp_path / "state" / "natxy" / "watch-secret").stat().st_mode & 0o077 == 0


def test_links_in_the_folder_are_not_followed_and_its_pages_have_no_origin(plan: ResolvedPlan, tmp_path: Path) -> None:
    Run(tmp_path / "run", plan)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "run" / "history.html").symlink_to(tmp_path / "secret")
    (tmp_path / "run" / "report.html").write_text("<script>")
    with served(tmp_path / "run") as (_, address):
        assert "history.html" not in fetched(address)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(address + "history.html")
        with urllib.request.urlopen(address + "report.html", timeout=HANG_S) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none'; ")
    (tmp_path / "run" / EVENTS_FILE).unlink()
    (tmp_path / "run" / EVENTS_FILE).symlink_to(tmp_path / "secret")
    done = natxy("watch", tmp_path / "run")
    assert (done.returncode, "is a link" in done.stderr) == (2, True), done.stderr


def test_the_folder_of_a_run_in_a_campaign_is_no_link(plan: ResolvedPlan, tmp_path: Path) -> None:
    night = Night(tmp_path / "night")
    (tmp_path / "private").mkdir()
    Run(tmp_path / "private/one", plan)
    (night.folder / "runs").mkdir()
    (night.folder / "runs/x").symlink_to(tmp_path / "private")
    night.tell(JobStarted(**night.job("x")))
    with served(night.folder) as (_, address):
        assert 'href="runs/x/one/"' not in fetched(address)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(address + "runs/x/one/")


def test_a_line_without_an_end_is_refused_soon(tmp_path: Path) -> None:
    (tmp_path / EVENTS_FILE).write_bytes(b"x" * (20 << 20))
    done = natxy("watch", tmp_path)
    assert done.returncode == 2
    assert f"{EVENTS_FILE}:1: a line of more than 16,777,216 bytes" in done.stderr


def test_the_address_is_another_one_for_another_run_and_another_user(
    plan: ResolvedPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from natxy.watch.page.address import token_of

    first = token_of(tmp_path / "a")
    assert first == token_of(tmp_path / "b" / ".." / "a") != token_of(tmp_path / "b")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert token_of(tmp_path / "a") != first


@pytest.mark.parametrize(
    "line",
    [
        {"event": "repetition_started", "experiment": "x", "repetition": 1},
        {"event": "experiment_finished", "experiment": "x", "state": "done", "reason": ""},
    ],
)
def test_events_that_do_not_follow_from_those_before_are_named(line: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / EVENTS_FILE).write_text(json.dumps(line) + "\n")
    done = natxy("watch", tmp_path)
    assert done.returncode == 2
    assert f"{EVENTS_FILE}:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_shown_is_named(plan: ResolvedPlan, tmp_path: Path) -> None:
    done = natxy("watch", tmp_path)
    assert (done.returncode, "nothing has begun there yet" in done.stderr) == (2, True), done.stderr
    Run(tmp_path / "run", plan)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = natxy("watch", tmp_path / "run", "--port", str(taken.getsockname()[1]))
    assert (done.returncode, "Address already in use; choose another port" in done.stderr) == (2, True), done.stderr


def test_a_course_is_shown_until_the_next_one_has_begun(plan: ResolvedPlan, tmp_path: Path) -> None:
    run = Run(tmp_path / "run", plan)
    view = RunView(ForeignFolder(run.folder))
    assert view.parts()["course"] == "null"
    run.begin(1, 505_000)
    run.end(1, 505_000, Verdict.FAIL)
    run.begin(2, 257_500)
    run.progress(0.01, 10, 10)
    assert view.read()
    assert "step 1: traffic at 505 kfps" in view.parts()["course"]
    for second in (1, 2):
        run.progress(second + 0.01, second * 1000, second * 1000)
    assert view.read()
    assert "step 2: traffic at 257.5 kfps" in view.parts()["course"]


@needs_chromium
def test_a_browser_shows_a_run_as_it_goes_on_even_after_the_server_was_killed(
    plan: ResolvedPlan, tmp_path: Path
) -> None:
    run = Run(tmp_path / "run", plan)
    with browser(tmp_path / "profile") as tab, ExitStack() as stack:
        server, address = stack.enter_context(served(run.folder))
        tab.open(address)
        tab.wait_for("document.body?.innerText.includes('setting up')")
        tab.has(f"document.body.innerText.includes({json.dumps(HOSTILE)})", True)
        run.begin(1, 505_000)
        run.progress(1.2, 1200, 1195)
        tab.wait_for("document.body.innerText.includes('1,200 of 4,000 sent, 5 missing')")
        run.end(1, 505_000, Verdict.FAIL)
        tab.wait_for("document.querySelectorAll('#search svg, #course svg').length == 2")
        tab.has("document.querySelector('dd.fail')?.innerText", f"fail, traffic at 505 kfps per direction: {HOSTILE}")
        assert tab.violations() == []
        tab.has("document.getElementById('connection').innerText", "live")
        server.kill()
        tab.wait_for("document.getElementById('connection').className == 'lost'")
        run.begin(2, 257_500)
        stack.enter_context(served(run.folder, int(address.split(":")[2].split("/")[0])))
        tab.wait_for("document.body.innerText.includes('2 of about 9: 257.5 kfps')")
        tab.wait_for("document.getElementById('connection').className == 'good'")
        run.tell(RunFinished(state=RunState.INTERRUPTED, reason="interrupted"))
        tab.wait_for("document.querySelector('#state .badge').innerText == 'interrupted'")
        tab.has("document.getElementById('connection').innerText", "connected")
        assert tab.evaluate("document.querySelector('img')") is None
        assert [text for text in tab.problems if "net::ERR_" not in text] == []


class Night:
    """A campaign of two runs on one testbed that goes on as a test wants it to."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        jobs = tuple(LoggedJob(run=run, place="one") for run in ("x", "y"))
        self.tell(CampaignStarted(name="night", jobs=jobs, done=0))

    def tell(self, entry: Event) -> None:
        with campaign_log(self.folder) as log:
            log.append(entry)

    def job(self, run: str) -> dict[str, Any]:
        return {"run": run, "place": "one", "testbed": "one", "folder": f"runs/{run}/one"}


@needs_chromium
def test_a_campaign_fills_its_matrix_and_leads_to_the_pages_of_its_runs(plan: ResolvedPlan, tmp_path: Path) -> None:
    night = Night(tmp_path / "night")
    (night.folder / "runs/x").mkdir(parents=True)
    with browser(tmp_path / "profile") as tab, served(night.folder) as (_, address):
        tab.appear(390, 844, dark=True)
        tab.open(address)
        tab.wait_for("document.body?.innerText.includes('0 of 2 measured, 0 under way')")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(address + "runs/x/one/")
        night.tell(JobStarted(**night.job("x")))
        tab.wait_for("document.querySelector('td.running')?.innerText == 'running'")
        run = Run(night.folder / "runs/x/one", plan)
        run.begin(1, 505_000)
        tab.wait_for(f"document.querySelector('td.running').innerText.endsWith({json.dumps(HOSTILE)})")
        # A part that arrives between the two would replace the link that has the focus.
        tab.has("(document.querySelector('td.running a').focus(), document.activeElement.tagName)", "A")
        tab.evaluate("document.getElementById('plan').style.width = '150px'")
        scrolled = "document.querySelector('#plan .scroll').scrollLeft"
        tab.has(f"({scrolled} = 40, {scrolled})", 40)
        run.begin(5, 250_000)
        tab.wait_for("document.querySelector('td.running').innerText.includes('44 %')")
        tab.has(scrolled, 40)
        tab.has("document.activeElement.closest('td')?.className", "running")
        tab.has("document.title", "0 % · night · natxy watch")
        assert tab.violations() == []
        tab.open(address + tab.evaluate("document.activeElement.getAttribute('href')"))
        tab.wait_for("document.body?.innerText.includes('5 of about 9: 250 kfps')")
        tab.open(address)
        night.tell(JobEnded(**night.job("x"), ending=Ending.FAILED, exit_code=5, reason=HOSTILE))
        why = json.dumps(f"x on one: waiting: {HOSTILE}")
        tab.wait_for(f"document.getElementById('state')?.innerText.includes({why})")
        run_plan(plan, night.folder / "runs/y/one", RunListener())
        night.tell(JobStarted(**night.job("y")))
        night.tell(JobEnded(**night.job("y"), ending=Ending.DONE, exit_code=0, reason=""))
        tab.wait_for("document.querySelector('td.done')?.innerText.includes('fps')")
        tab.has("document.body.innerText.includes('1 of 2 measured')", True)
        tab.has("document.getElementById('log').innerText.includes('one: y/one done')", True)
        for name in ("report", "history"):
            (night.folder / f"{name}.html").write_text(f"the {name}")
            tab.wait_for(f"[...document.querySelectorAll('#state a')].at(-1)?.innerText == '{name}'")
            assert fetched(f"{address}{name}.html") == f"the {name}"
        assert tab.problems == []
        for outside in ("runs/x/", "runs/", "runs/y/one/plan.yaml", "runs/%2e%2e/"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                fetched(address + outside)


def test_a_server_that_is_asked_to_end_does_so_beside_a_viewer(plan: ResolvedPlan, tmp_path: Path) -> None:
    run = Run(tmp_path / "run", plan)
    first, *others = os.sched_getaffinity(0)
    run.tell(TestbedBuilt(experiment="x", took_s=1, tester_cores=(first,), description={}))
    with served(run.folder) as (server, address), urllib.request.urlopen(address + "events", timeout=HANG_S) as viewer:
        assert viewer.readline() == b"event: state\n"
        # The tester's core is left to it.
        assert os.sched_getaffinity(server.pid) == ({*others} or {first})
        run.tell(RunFinished(state=RunState.DONE, exit_code=0))
        wait_until(lambda: os.sched_getaffinity(server.pid) == {first, *others})
        server.send_signal(2)
        assert server.wait(HANG_S) == 130
        assert server.stderr
        assert server.stderr.read() == "natxy: interrupted\n"


def test_a_run_that_waits_for_cores_says_so_in_the_matrix(plan: ResolvedPlan, tmp_path: Path) -> None:
    night = Night(tmp_path / "night")
    view = CampaignView(ForeignFolder(night.folder))
    (night.folder / "runs/x").mkdir(parents=True)
    night.tell(JobStarted(**night.job("x")))
    assert view.read()
    log = night.folder / "runs/x/one.log"
    log.write_text(f"warning: waiting for core 0, which process 7 {HOSTILE} holds\n\n")
    assert view.read()
    assert not view.read()
    shown = json.loads(view.parts()["plan"])
    assert "<br>warning: waiting for core 0, which process 7 " in shown
    assert HOSTILE not in shown
    Run(night.folder / "runs/x/one", plan).begin(1, 505_000)
    assert view.read()
    assert "waiting for core 0" not in json.loads(view.parts()["plan"])


def test_a_campaign_takes_cores_while_its_runs_measure_on_this_machine(plan: ResolvedPlan, tmp_path: Path) -> None:
    night = Night(tmp_path / "night")
    view = CampaignView(ForeignFolder(night.folder))
    runs = {}
    for name, tester, core in (("x", "", 1), ("y", "root@tester", 0)):
        folder = night.folder / "runs" / name / "one"
        folder.parent.mkdir(parents=True)
        runs[name] = Run(folder, plan)
        runs[name].tell(TestbedBuilt(experiment="x", took_s=1, tester_cores=(core,), description={}))
        night.tell(JobStarted(**night.job(name), tester=tester))
    view.read()
    assert view.tester_cores == {1}
    runs["x"].tell(RunFinished(state=RunState.DONE, exit_code=0))
    view.read()
    assert view.tester_cores == set()
