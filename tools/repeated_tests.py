# SPDX-License-Identifier: Apache-2.0
"""Runs `make test` many times on this machine, and lists the tests that failed or measured again:

    python3 tools/repeated_tests.py FOLDER --quiet 5 --busy 5

FOLDER must not exist. It gets a clone, in which the engine and its tests are built once. Each run sees the clone
through an overlay of its own and has an empty home, so that no run finds what an earlier run left. Quiet and busy runs
alternate: during a busy run, as many programs as the machine has cores do nothing but compute. The output and the JUnit
files of run N stay in FOLDER/N. Needs root.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

_SOURCE: Final = Path(__file__).resolve().parents[1]
_RUN: Final = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1"
cd "$1"
status=0
make --no-print-directory test > "$2/log" 2>&1 < /dev/null || status=$?
cp build/tests/*.xml "$2" || true
exit $status
"""


def prepared(folder: Path) -> Path:
    """Returns a new clone of this repository's last commit, with all that `make test` builds."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", _SOURCE, clone], check=True)
    subprocess.run(["make", "--no-print-directory", "-C", clone, "engine-tests"], check=True)
    return clone


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Keeps so many cores busy."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def run(clone: Path, own: Path) -> int:
    """Runs the tests once, with what they write in `own`; returns the exit code."""
    for name in ("upper", "work", "home"):
        (own / name).mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment["HOME"] = str(own / "home")
    done = subprocess.run(["unshare", "--mount", "bash", "-c", _RUN, "bash", clone, own], env=environment, check=False)
    for name in ("upper", "work", "home"):
        shutil.rmtree(own / name)
    return done.returncode


def cases(own: Path) -> Iterator[tuple[str, ElementTree.Element]]:
    """Yields the name of each test of a run, and what its JUnit file says of it."""
    for junit in sorted(own.glob("*.xml")):
        for case in ElementTree.parse(junit).iter("testcase"):
            yield f"{case.get('classname', '')}.{case.get('name', '')}", case


def failures(own: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each failed test of a run, and the first line of why."""
    for name, case in cases(own):
        for kind in ("failure", "error"):
            if (found := case.find(kind)) is not None:
                yield name, (found.get("message") or "").partition("\n")[0]


def repetitions(own: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each test of a run that measured again, and why, once for each repetition."""
    for name, case in cases(own):
        for noted in case.iter("property"):
            if noted.get("name") == "measured again":
                yield name, noted.get("value") or ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quiet", type=int, default=5, metavar="RUNS")
    parser.add_argument("--busy", type=int, default=5, metavar="RUNS")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    if folder.exists():
        parser.error(f"{folder} is there already; name a new folder")
    folder.mkdir(parents=True)
    clone = prepared(folder)
    failed: Counter[tuple[str, str]] = Counter()
    again: Counter[tuple[str, str]] = Counter()
    bad = 0
    runs = [
        busy for pair in zip_longest([False] * asked.quiet, [True] * asked.busy) for busy in pair if busy is not None
    ]
    for number, busy in enumerate(runs, 1):
        own = folder / str(number)
        started_s = time.monotonic()
        with hogs(len(os.sched_getaffinity(0)) if busy else 0):
            code = run(clone, own)
        took_s = time.monotonic() - started_s
        log = own / "log"
        counts = log.read_text(errors="replace").splitlines()[-1:] if log.exists() else ["the tests did not begin"]
        print(
            f"{number:2} {'busy ' if busy else 'quiet'} {took_s:6.0f} s, exit code {code}: {' '.join(counts)}",
            flush=True,
        )
        # A test that failed beside others and passed alone ends `make test` well, and is unreliable all the same.
        found = {*failures(own)}
        failed.update(found)
        again.update(repetitions(own))
        bad += code != 0 or bool(found)
    for what, counted in (("failed", failed), ("measured again", again)):
        for (name, why), times in counted.most_common():
            print(f"{what}, {times} in {len(runs)} runs: {name}: {why}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
