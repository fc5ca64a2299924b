# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from natxy.campaign.attempt.carrying import carry_out
from natxy.campaign.attempt.place import held_place
from natxy.campaign.attempt.task import Outcome, Task
from natxy.campaign.jobs.model import Place
from natxy.campaign.jobs.queue import Ending
from natxy.errors import DutError
from tests.support.command import HANG_S
from tests.support.timing import wait_until

# Knows the places rack1, which may be had, and rack2, whose machine is missing. FREE has what nobody has reserved.
STAND_IN = """#!/bin/sh
cd FOLDER || exit 1
[ "$1" != -p ] || { place=$2; shift 2; }
case $1 in
  show) case $place in
          rack[12]) echo "Place '$place':" ;;
          rack) echo "Place 'rack1':" ;;
          *) echo "trying" >&2; echo "place pattern $place matches nothing" >&2; exit 1 ;;
        esac ;;
  reserve) until mkdir "${4#name=}" 2>/dev/null; do sleep 0.02; done; echo export LG_TOKEN=T0K3N ;;
  acquire) [ "$place" = rack1 ] || { echo its machine is missing >&2; exit 1; }
           echo "$LG_HOSTNAME/$LG_USERNAME at $LG_COORDINATOR" > rack1/holder ;;
  release-from) [ "$(cat "$place/holder")" = "$2 at $LG_COORDINATOR" ] && rm -r "$place" ;;
  cancel-reservation) [ "$2" = T0K3N ] && { rmdir rack* 2>/dev/null; echo "$2" >> cancelled; } ;;
esac
"""
PLACE = Place(name="rack1", coordinator="lab:20408")
HOLD = """
import sys
from natxy.campaign.jobs.model import Place
from natxy.campaign.attempt.place import held_place
with held_place(Place(name="rack1", coordinator="lab:20408"), "night-1", lambda: True):
    print("held", flush=True)
    sys.stdin.read()
"""

# Its program goes on after it was killed, until their input ends, like a natxy that gives everything back.
HOLD_WITH_PROGRAM = """
import subprocess, sys
from natxy.campaign.jobs.model import Place
from natxy.campaign.attempt.place import held_place
with held_place(Place(name="rack1", coordinator="lab:20408"), "night-1", lambda: True) as holding:
    program = subprocess.Popen(["cat"], stdout=subprocess.DEVNULL, pass_fds=[holding.descriptor])
    print("held", flush=True)
    program.wait()
"""


@pytest.fixture
def labgrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder where a program that stands in for labgrid-client keeps its state."""
    program = tmp_path / "labgrid-client"
    program.write_text(STAND_IN.replace("FOLDER", str(tmp_path)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def holder(labgrid: Path) -> str:
    # Another process may remove it at any moment.
    try:
        return (labgrid / "rack1/holder").read_text().strip()
    except FileNotFoundError:
        return ""


def test_a_place_is_held_until_the_programs_that_inherit_it_have_ended(labgrid: Path) -> None:
    with held_place(PLACE, "night-1", lambda: True) as holding:
        assert holder(labgrid) == "natxy/night-1 at lab:20408"
        assert holding.variables["LG_PLACE"] == "rack1"
        with pytest.raises(DutError, match="interrupted"), held_place(PLACE, "night-2", lambda: False):
            pass
        still_held = ["sh", "-c", 'sleep 0.3; test -e "$1"', "sh", str(labgrid / "rack1/holder")]
        user = subprocess.Popen(still_held, pass_fds=[holding.descriptor])
    assert user.wait() == 0
    assert holder(labgrid) == ""
    assert (labgrid / "cancelled").read_text() == "T0K3N\n"


def test_a_killed_holder_has_it_no_more_and_the_next_one_gets_it(labgrid: Path) -> None:
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        assert holder(labgrid) == "natxy/night-1 at lab:20408"
        process.kill()
    wait_until(lambda: not holder(labgrid))


def test_the_next_attempt_waits_for_the_program_of_a_killed_one_and_keeps_its_place(labgrid: Path) -> None:
    got, end = threading.Event(), threading.Event()

    def next_attempt() -> None:
        with held_place(PLACE, "night-1", lambda: True):
            got.set()
            end.wait(HANG_S)

    thread = threading.Thread(target=next_attempt)
    command = [sys.executable, "-c", HOLD_WITH_PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        process.kill()
        thread.start()
        assert not got.wait(0.5)
        assert holder(labgrid) == "natxy/night-1 at lab:20408"
        with pytest.raises(DutError, match="interrupted"), held_place(PLACE, "night-1", lambda: False):
            pass
    assert got.wait(HANG_S)
    # The killed one has given its own place back before.
    assert (labgrid / "cancelled").read_text() == "T0K3N\n"
    assert holder(labgrid) == "natxy/night-1 at lab:20408"
    end.set()
    thread.join(HANG_S)
    assert holder(labgrid) == ""


def test_what_the_same_holder_still_has_is_given_back_first(labgrid: Path) -> None:
    (labgrid / "rack1").mkdir()
    (labgrid / "rack1/holder").write_text("natxy/night-1 at lab:20408\n")
    with held_place(PLACE, "night-1", lambda: True):
        pass
    assert holder(labgrid) == ""


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("rick1", "labgrid-client -p rick1 show: place pattern rick1 matches nothing"),
        ("rack", "labgrid has no place rack; `labgrid-client places` lists those that it has"),
        ("rack2", "labgrid did not give the place rack2: its machine is missing"),
    ],
)
def test_a_place_that_cannot_be_had_fails_the_job(labgrid: Path, name: str, error: str) -> None:
    task = Task("x/one", labgrid / "x/one", "", place=Place(name=name), holder="night-1")
    assert carry_out(task, lambda: True) == Outcome(Ending.FAILED, None, error)
    assert not (labgrid / name).exists()
    assert task.log.read_text() == f"natxy: {error}\n"


def test_without_labgrid_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DutError, match="`place` needs labgrid-client, which no folder of PATH has"):
        held_place(PLACE, "night-1", lambda: True).__enter__()
