# SPDX-License-Identifier: Apache-2.0
"""Builds the engine for wheels, by Meson as `make setup` does, and adds its programs to them.

NATXY_WHEEL_ENGINE chooses otherwise: `none` makes a wheel of the control plane alone, `portable` packs what `make
portable` has built, and the name of an instruction set, such as `x86-64-v3`, makes an engine for other machines than
this one. An editable installation gets no engine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PROGRAMS: Final = ("natxy-engine", "natxy-reference")
_PACKAGES: Final = "build-essential pkg-config libdpdk-dev nlohmann-json3-dev libfmt-dev"
_LIBRARIES: Final = ("libdpdk", "nlohmann_json", "fmt")


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Is found by Hatchling, through pyproject.toml."""

    _folder: TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        isa = os.environ.get("NATXY_WHEEL_ENGINE", "native")
        if version == "editable" or isa == "none":
            return
        if isa == "portable":
            self._pack(sorted(Path(self.root, "build", "portable").glob("natxy-*")), build_data)
            return
        if missing := _missing():
            self.app.abort(
                f"the engine needs {', '.join(missing)}, which are not here: `apt install {_PACKAGES}`, or set "
                "NATXY_WHEEL_ENGINE=none to install natxy without its engine"
            )
        # A build of an earlier wheel records the Meson of pip's isolated environment, which is gone.
        self._folder = TemporaryDirectory(prefix="natxy-wheel-")
        build = Path(self._folder.name)
        self._run("meson", "setup", str(build), str(Path(self.root, "engine")), f"-Disa={isa}", "-Dtests=false")
        self._run("ninja", "-C", str(build), *_PROGRAMS)
        self._pack([build / program for program in _PROGRAMS], build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._folder:
            self._folder.cleanup()

    def _pack(self, programs: list[Path], build_data: dict[str, Any]) -> None:
        if not programs:
            self.app.abort("build/portable has no engine: run `make portable` first")
        build_data["shared_scripts"] = {str(program): program.name for program in programs}
        # It runs with any Python 3, but only on this kind of machine.
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            self.app.abort(f"{done.stdout[-4000:]}\n{command[0]} could not build the engine (exit {done.returncode})")


def _missing() -> list[str]:
    """Returns what is needed to build the engine and is not on this machine."""
    programs = [name for name in ("c++", "pkg-config") if shutil.which(name) is None]
    if "pkg-config" in programs:
        return [*programs, *_LIBRARIES]
    return programs + [
        name for name in _LIBRARIES if subprocess.run(["pkg-config", "--exists", name], check=False).returncode
    ]
