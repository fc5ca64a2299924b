# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
from pathlib import Path

_MAKEFILE = Path(__file__).parents[1] / "Makefile"


def test_a_copy_of_natxy_in_the_venv_is_replaced_by_the_sources(tmp_path: Path) -> None:
    def makes_venv() -> bool:
        command: list[str | Path] = ["make", "-C", tmp_path, "-f", _MAKEFILE, "--dry-run", ".venv/.installed"]
        # pytest may itself be run by make.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return "tools/venv.sh" in done.stdout

    packages = tmp_path / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    needed = ("requirements.txt", "requirements-build.txt", "pyproject.toml", "siitperf/pyproject.toml")
    (tmp_path / "siitperf").mkdir()
    for moment, name in enumerate((*needed, ".venv/.installed")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (moment, moment))
    assert not makes_venv()
    (packages / "natxy").mkdir()
    assert makes_venv(), "as after `pip install .`"
