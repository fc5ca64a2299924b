# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import asyncio
import io
import lzma
import os
import pwd
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from natxy.campaign.attempt import there as there_module
from natxy.campaign.attempt.task import Outcome, Task, is_complete
from natxy.campaign.attempt.there import carry_out_there, folder_there
from natxy.campaign.jobs.model import CampaignTester
from natxy.campaign.jobs.queue import Ending
from natxy.dut.transport.ssh import connect
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import plan_of
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from natxy.run.run import run_plan
from tests.support import needs
from tests.support.processes import runs
from tests.support.sshd import Sshd, running_sshd

pytestmark = needs.SSHD


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    with running_sshd(tmp_path / "sshd") as running:
        yield running


@pytest.fixture
def tester(sshd: Sshd) -> CampaignTester:
    return CampaignTester(ssh=sshd.target, natxy=str(Path(sys.executable).with_name("natxy")))


def there(given: Task) -> Path:
    """Returns the folder of a task on the tester: this machine is that too."""
    return Path(pwd.getpwuid(os.getuid()).pw_dir) / folder_there(given)


def has_measured(given: Task) -> bool:
    events = there(given) / "run/events.jsonl"
    return events.exists() and "trial_finished" in events.read_text()


def measuring(given: Task) -> int:
    """Returns the process of natxy that measures a task there."""
    found = [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and _works_in(int(entry), there(given))]
    return min(found)


def _works_in(pid: int, folder: Path) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return Path(f"/proc/{pid}/cwd").readlink() == folder and b"--output" in words and b"sh" not in words
    except OSError:
        return False


def task(tmp_path: Path, repeat: int) -> Task:
    experiment = {
        "name": "a", "gateway": "simulated", "procedure": "throughput",
        "search": {"min_rate": "1k", "max_rate": "9k", "error": "1k"},
    }  # fmt: skip
    plan = {"name": "p", "testbed": {"kind": "simulated"}, "repeat": repeat, "experiments": [experiment]}
    return Task("x/far", tmp_path / "campaign/runs/x/far", resolve(Plan.model_validate(plan)).to_yaml(), [["true"]])


def test_what_is_not_wanted_any_more_ends_there_and_comes_home_in_part(tester: CampaignTester, tmp_path: Path) -> None:
    given = task(tmp_path, 10_000)
    try:
        outcome = carry_out_there(given, tester, lambda: not has_measured(given))
        assert outcome == Outcome(Ending.FAILED, 130, "interrupted")
        assert RunReader(given.folder).run.state is RunState.INTERRUPTED
    finally:
        shutil.rmtree(there(given))


def boot_once(sshd: Sshd, given: Task, pids: list[int]) -> bool:
    """Stops sshd once natxy has measured something, and adds natxy's process to `pids`; starts sshd again when that has
    ended. A task stays wanted."""
    if not pids and has_measured(given):
        pids.append(measuring(given))
        sshd.stop()
    elif pids and not runs(pids[0]) and sshd.process.poll() is not None:
        sshd.start()
    return True


def test_natxy_ends_with_its_connection_and_the_next_attempt_resumes_once_the_tester_has_booted(
    sshd: Sshd, tester: CampaignTester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there_module, "_AGAIN_S", 0.1)
    given = task(tmp_path, 400)
    try:
        outcome = carry_out_there(given, tester, partial(boot_once, sshd, given, []))
        assert (outcome.ending, outcome.exit_code) == (Ending.FAILED, None)
        assert outcome.reason.startswith(f"{tester.ssh}: ")
        assert carry_out_there(given, tester, lambda: True) == Outcome(Ending.DONE, 0)
        assert len([*RunReader(given.folder).run.experiments[0].repetitions]) == 400
        assert not there(given).exists()
    finally:
        shutil.rmtree(there(given), ignore_errors=True)
    assert [path.name for path in given.folder.parent.iterdir() if path != given.folder] == ["far.log"]
    assert carry_out_there(given, tester, lambda: pytest.fail("it is done")) == Outcome(Ending.DONE)


def test_a_run_that_had_ended_when_its_connection_was_lost_is_done(tester: CampaignTester, tmp_path: Path) -> None:
    given = task(tmp_path, 1)
    complete = there(given) / "run"
    complete.parent.mkdir(parents=True)
    run_plan(plan_of(given.plan, Path("plan.yaml")), complete, RunListener())
    try:
        assert carry_out_there(given, tester, lambda: True) == Outcome(Ending.DONE)
        assert is_complete(given.folder)
        assert not there(given).exists()
    finally:
        shutil.rmtree(there(given), ignore_errors=True)


def test_a_tester_that_does_not_come_back_is_given_up(
    sshd: Sshd, tester: CampaignTester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there_module, "_AGAIN_S", 0.1)
    given = task(tmp_path, 10_000)

    def lose() -> bool:
        if has_measured(given):
            sshd.stop()
            # Not before: a busy machine's first connection may take longer.
            monkeypatch.setattr(there_module, "_BOOT_S", 0.2)
        return True

    try:
        assert carry_out_there(given, tester, lose).ending is Ending.FAILED
        assert "make `ssh" in carry_out_there(given, tester, lambda: pytest.fail("it was never reached")).reason
    finally:
        sshd.start()
        shutil.rmtree(there(given))


def test_a_prefix_for_root_has_all_commands_and_natxy_ends_with_its_connection(
    sshd: Sshd, tester: CampaignTester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there_module, "_AGAIN_S", 0.1)
    # As sudo does, it stays between sshd and natxy, and clears what the kernel sends at its parent's death.
    prefix, used = tmp_path / "as root", tmp_path / "used"
    prefix.write_text(f'#!/bin/sh\necho "$3" >> {used}\nexec 4<&0\n"$@" <&4 & wait $!\n')
    prefix.chmod(0o755)
    tester = CampaignTester(ssh=tester.ssh.model_copy(update={"as_root": [str(prefix)]}), natxy=tester.natxy)
    given = task(tmp_path, 400)
    try:
        assert carry_out_there(given, tester, partial(boot_once, sshd, given, [])).ending is Ending.FAILED
        used.write_text("")
        assert carry_out_there(given, tester, lambda: True) == Outcome(Ending.DONE, 0)
        assert not there(given).exists()
        ran = used.read_text()
        assert [word for word in ("plan.yaml", "flock", "tar", 'rm -rf "$1"') if word not in ran] == []
    finally:
        shutil.rmtree(there(given), ignore_errors=True)


def test_a_plan_that_is_wrong_there_is_refused(tester: CampaignTester, tmp_path: Path) -> None:
    given = Task("x/far", tmp_path / "far", "name: p\n")
    try:
        outcome = carry_out_there(given, tester, lambda: True)
        assert (outcome.ending, outcome.exit_code) == (Ending.REFUSED, 2)
    finally:
        shutil.rmtree(there(given))


def test_what_does_not_end_there_is_given_up(
    tester: CampaignTester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there_module, "_TO_CLEAN_UP_S", 0.2)
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' TERM\ntouch begun\nsleep 5\n")
    deaf.chmod(0o755)
    given = task(tmp_path, 1)
    try:
        tester = tester.model_copy(update={"natxy": str(deaf)})
        outcome = carry_out_there(given, tester, lambda: not (there(given) / "begun").exists())
        assert outcome == Outcome(Ending.FAILED, None, f"{tester.ssh}: it did not end there within 0.2 s")
    finally:
        shutil.rmtree(there(given), ignore_errors=True)


def test_campaigns_of_two_machines_share_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, found = task(tmp_path, 1), set()
    for name in ("one", "two", "none"):
        monkeypatch.setattr("natxy.campaign.attempt.task._MACHINE_ID", tmp_path / name)
        if name != "none":
            (tmp_path / name).write_text(f"{name}\n")
        found.add(folder_there(given))
    assert len(found) == 3


ADOPTS = """
import ctypes, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: orphans become this process's children
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append("asked to end"))
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL)
time.sleep(1)
print(told)
"""


def test_a_natxy_that_ends_before_it_is_watched_has_no_other_process_end(tmp_path: Path) -> None:
    """The process that adopts the watching shell is the machine's first process otherwise."""
    (tmp_path / "run").mkdir()
    late = tmp_path / "setpriv"
    late.write_text('#!/bin/sh\nsleep 0.3\nshift 2\nexec "$@"\n')
    late.chmod(0o755)
    words = ["sh", "-c", there_module._RUN.replace("{natxy}", "false"), "sh", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", ADOPTS, *words],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_without_its_folder_nothing_is_removed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    words = ["sh", "-c", there_module._RUN.replace("{natxy}", "true"), "sh", "nowhere"]
    done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 1
    assert (tmp_path / "run").is_dir()


def test_a_tester_without_natxy_is_named(tester: CampaignTester, tmp_path: Path) -> None:
    given = task(tmp_path, 1)
    try:
        outcome = carry_out_there(given, tester.model_copy(update={"natxy": "/nowhere/natxy"}), lambda: True)
        assert outcome.ending is Ending.FAILED
        assert outcome.reason == f"{tester.ssh}: /nowhere/natxy is not installed there; give the path by `natxy`"
    finally:
        shutil.rmtree(there(given))


def archive(*members: tuple[str, bytes, bytes]) -> bytes:
    """Returns a tar of members: name, type, content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(content)
            member.linkname = "/etc/shadow" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_only_a_runs_files_are_taken_from_what_a_tester_sends(tmp_path: Path) -> None:
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE)
    hostile = [(f"run/a{number}", kind, b"") for number, kind in enumerate(kinds)]
    names = ("../x", "/tmp/x", "run/../x", "run/.x", "run/a b", "run/sub/x", "other/x", "x")
    hostile += [(name, tarfile.REGTYPE, b"evil") for name in names]
    (tmp_path / "tar").write_bytes(archive(*hostile, ("run/events.jsonl", tarfile.REGTYPE, b"{}")))
    there_module._extract(tmp_path / "tar", tmp_path / "new")
    assert [(file.name, file.read_bytes()) for file in (tmp_path / "new").iterdir()] == [("events.jsonl", b"{}")]


def header_of(kind: bytes, size: int) -> bytes:
    """Returns the header of a member; a size above what tar can write is a negative number."""
    member = tarfile.TarInfo("run/x")
    member.type = kind
    header = bytearray(member.tobuf())
    header[124:136] = size.to_bytes(12) if size >= 8**11 else b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


@pytest.mark.parametrize(
    "sent",
    [
        b"nothing of the kind" * 100,
        lzma.compress(archive(("run/x", tarfile.REGTYPE, bytes(10**6)))),
        archive(("run/x", tarfile.REGTYPE, bytes(5000)))[:2000],
        archive(("run/x", tarfile.REGTYPE, bytes(500)))[:1024] + b"damaged" * 200,
        b"".join(header_of(tarfile.GNUTYPE_LONGNAME, 2) + b"x".ljust(512, b"\0") for _ in range(2000)),
    ],
)
def test_what_is_no_tar_is_said(sent: bytes, tmp_path: Path) -> None:
    (tmp_path / "tar").write_bytes(sent)
    with pytest.raises(DutError, match="is no archive of tar"):
        there_module._extract(tmp_path / "tar", tmp_path / "new")


def test_a_member_before_the_archives_beginning_ends_it(tmp_path: Path) -> None:
    backwards = header_of(tarfile.REGTYPE, 256**12 - 512)
    (tmp_path / "tar").write_bytes(header_of(tarfile.REGTYPE, 0) + backwards + bytes(1024))
    # A later Python takes the header for damaged.
    with pytest.raises(DutError, match=r"none that natxy makes|is no archive of tar"):
        there_module._extract(tmp_path / "tar", tmp_path / "new")


def test_a_file_with_holes_comes_home_whole(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/x").write_bytes(b"begin")
    os.truncate(tmp_path / "run/x", 1 << 20)
    subprocess.run(["tar", "--sparse", "-cf", "tar", "run"], cwd=tmp_path, check=True)
    assert (tmp_path / "tar").stat().st_size < 1 << 19
    there_module._extract(tmp_path / "tar", tmp_path / "new")
    assert (tmp_path / "new/x").read_bytes() == (tmp_path / "run/x").read_bytes()


def test_a_folder_of_too_many_files_ends_it(tmp_path: Path) -> None:
    (tmp_path / "tar").write_bytes(archive(*[(f"run/x{number}", tarfile.REGTYPE, b"") for number in range(101)]))
    with pytest.raises(DutError, match="none that natxy makes"):
        there_module._extract(tmp_path / "tar", tmp_path / "new")


def test_a_command_that_cannot_fetch_says_why(tester: CampaignTester, tmp_path: Path) -> None:
    async def fetched(command: str) -> None:
        async with await connect(tester.ssh) as connection:
            with (tmp_path / "tar").open("wb") as out:
                await there_module._sent(connection, command, out)

    with pytest.raises(DutError, match=r"ended there with exit code 3; it printed: tar: no space$"):
        asyncio.run(fetched("echo tar: no space >&2; exit 3"))
    # What is printed without end is read, so that the command ends, and only its beginning is kept.
    with pytest.raises(DutError, match=r"it printed: x{2000}$"):
        asyncio.run(fetched("head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1"))


def test_a_tester_that_sends_without_end_is_left(
    tester: CampaignTester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there_module, "_MOST_BYTES", 1000)
    given = task(tmp_path, 1)
    try:
        outcome = carry_out_there(given, tester, lambda: True)
    finally:
        shutil.rmtree(there(given))
    assert (outcome.ending, "more than the 1,000 bytes" in outcome.reason) == (Ending.FAILED, True), outcome
    assert [path.name for path in given.folder.parent.iterdir()] == ["far.log"]
