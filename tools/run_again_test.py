# SPDX-License-Identifier: Apache-2.0
"""Tests which failed tests tools/test.sh runs again, with a pytest that fails as it should."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.repeated_tests import failures

TOOLS = Path(__file__).parent
# It fails so many tests, with an exit code, or when it runs them again, another number.
PYTEST = """#!/bin/sh
for word; do case $word in --junit-xml=*) xml=${word#*=} ;; cache_dir=*) cache=${word#*=} ;; esac; done
case $xml in *-again.xml) count=$AGAIN ;; *long.xml) count=$FAILING ;; *) count=0 ;; esac
mkdir -p "$cache/v/cache"
[ "$xml" = "${xml%-again.xml}" ] || [ "$count" = 0 ] || code=1
{ echo '{'; for i in $(seq "$count"); do echo "  \\"t$i\\": true,"; done; echo '}'; } > "$cache/v/cache/lastfailed"
{
	echo '<testsuite><testcase classname="m" name="t0"/>'
	for i in $(seq "$FAILING"); do
		failure=
		[ "$i" -gt "$count" ] || failure='<failure message="late"/>'
		case $xml in *-again.xml | *long.xml) echo "<testcase classname='m' name='t$i'>$failure</testcase>" ;; esac
	done
	echo '</testsuite>'
} > "$xml"
case $xml in *-again.xml) [ "$count" = 0 ] ;; *) [ "$count" = 0 ] || exit "$CODE" ;; esac
"""


@pytest.mark.parametrize(
    ("failing", "code", "again", "ended", "counts"),
    [
        (0, 1, 0, 0, "2 passed, 0 failed"),
        (3, 1, 0, 0, "5 passed, 0 failed"),
        (3, 1, 1, 1, "4 passed, 1 failed"),
        (4, 1, 0, 1, "2 passed, 4 failed"),
        # pytest could not run all tests.
        (1, 3, 0, 1, "2 passed, 1 failed"),
    ],
    ids=["none failed", "three pass again", "one fails again", "four failed", "pytest broke down"],
)
def test_up_to_three_failed_tests_run_again(
    tmp_path: Path, failing: int, code: int, again: int, ended: int, counts: str
) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("test.sh", "count.py"):
        shutil.copy(TOOLS / name, tmp_path / "tools")
    for folder in ("src", "tests", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    programs = tmp_path / ".venv" / "bin"
    (programs / "python").symlink_to(sys.executable)
    (programs / "pytest").write_text(PYTEST)
    (programs / "pytest").chmod(0o755)
    variables = {"FAILING": failing, "CODE": code, "AGAIN": again}
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        [tmp_path / "tools" / "test.sh", "long"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == ended, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith(counts)
    # Nothing hides that tests failed at first.
    assert len({*failures(tmp_path / "build" / "tests")}) == failing
    assert done.stderr.count("passed when it ran again") == (failing - again if failing <= 3 and code == 1 else 0)
