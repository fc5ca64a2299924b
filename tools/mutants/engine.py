# SPDX-License-Identifier: Apache-2.0
"""Tests the engine's mutants of `engine.toml`: `python -m tools.mutants.engine`.

A mutated file is compiled without optimization, as the build of the tests would, and linked with the test beside it.
Mutants whose file and test have not changed are not tested again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Final

from tools.mutants.baseline import FOLDER, REPOSITORY, digest
from tools.mutants.mutations import one_line
from tools.mutants.survivors import Judged, Known, Outcome, finish

LIST: Final = Path(__file__).with_name("engine.toml")
_ENGINE: Final = REPOSITORY / "engine"
_BUILD: Final = REPOSITORY / "build/engine"
_LONGEST_TEST_S: Final = 120


@dataclass(frozen=True)
class Mutant:
    file: str
    before: str
    after: str

    def mutated(self, text: str) -> str:
        """Returns the mutated text of the file. Raises ValueError unless it has `before` once."""
        if text.count(self.before) != 1:
            times = text.count(self.before)
            raise ValueError(f"{LIST.name}: expected once in {self.file}, found {times} times: {self.before}")
        return text.replace(self.before, self.after)


def mutants(toml: str) -> Iterator[Mutant]:
    for file, listed in tomllib.loads(toml).items():
        for each in listed["mutants"]:
            yield Mutant(file, each["before"], each["after"])


def compiler_and_options(words: list[str]) -> tuple[list[str], list[str]]:
    """Splits a command into the compiler, which is two words where Meson has found ccache, and its options."""
    compiler = [*takewhile(lambda word: not word.startswith("-"), words)]
    return compiler, words[len(compiler) :]


@dataclass(frozen=True)
class Program:
    """The test of a file: `trial/verdict` is that of trial/verdict.hpp and trial/verdict.cpp."""

    name: str

    @property
    def test(self) -> Path:
        return _ENGINE / f"{self.name}_test.cpp"

    @cached_property
    def _target(self) -> str:
        return f"{self.name}_test".replace("/", "_")

    @cached_property
    def _compiler(self) -> list[str]:
        """Returns how the build compiles the test, without the names of files."""
        every = json.loads((_BUILD / "compile_commands.json").read_text(encoding="utf-8"))
        [command] = [each["command"] for each in every if each["output"].endswith(f".p/{self._target}.cpp.o")]
        # A precompiled header is of no use with other options.
        words = shlex.split(re.sub(r"-include [a-z_]+\.hpp", "", command))
        return words[: words.index("-MD")]

    @cached_property
    def _libraries(self) -> list[str]:
        commands = subprocess.check_output(["ninja", "-C", _BUILD, "-t", "commands", self._target], text=True)
        words = shlex.split(commands.splitlines()[-1])
        return [word for word in words[1:] if word not in ("-o", self._target) and not word.endswith(".o")]

    def outcome(self, folder: Path) -> Outcome:
        """Runs the test with the files that `folder` has instead of the engine's."""
        compiler, options = compiler_and_options(self._compiler)
        # The mutated one first. A header alone has none.
        sources = [path for root in (folder, _ENGINE) if (path := root / f"{self.name}.cpp").exists()][:1]
        program = folder / "test"
        files = [str(path) for path in (self.test, *sources)]
        command = [*compiler, f"-I{folder}", f"-I{_ENGINE}", *options, "-O0", "-w", *files, "-o", str(program)]
        built = subprocess.run([*command, *self._libraries], cwd=_BUILD, capture_output=True)
        if built.returncode:
            (folder / "errors").write_bytes(built.stderr)
            return Outcome.UNUSABLE
        try:
            done = subprocess.run([program, "--gtest_fail_fast"], capture_output=True, timeout=_LONGEST_TEST_S)
        except subprocess.TimeoutExpired:
            return Outcome.TOO_LONG
        finally:
            program.unlink()
        return Outcome.KILLED if done.returncode else Outcome.SURVIVED


def judge(mutant: Mutant, known: Known) -> Judged:
    text = (REPOSITORY / mutant.file).read_text(encoding="utf-8")
    inside = Path(mutant.file).relative_to("engine")
    program = Program(str(inside.with_suffix("")))
    key = digest(text, mutant.mutated(text), program.test.read_text(encoding="utf-8"))
    if key not in known.outcomes:
        folder = FOLDER / "engine" / key
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        (folder / inside).write_text(mutant.mutated(text), encoding="utf-8")
        known.add(key, program.outcome(folder))
    line = text[: text.index(mutant.before)].count("\n") + 1
    return Judged(mutant.file, line, one_line(mutant.before), one_line(mutant.after), known.outcomes[key])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), help="how many mutants are tested at once")
    at_once = parser.parse_args().at_once
    listed = [*mutants(LIST.read_text(encoding="utf-8"))]
    nothing = FOLDER / "engine/unchanged"
    nothing.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(str(Path(mutant.file).relative_to("engine").with_suffix("")) for mutant in listed):
        if (found := Program(name).outcome(nothing)) is not Outcome.SURVIVED:
            raise SystemExit(f"{name}_test without a mutant: {found}; see {nothing}")
    known = Known(FOLDER / "engine.jsonl")
    judged = []
    with ThreadPoolExecutor(at_once) as pool:
        for number, each in enumerate(pool.map(lambda mutant: judge(mutant, known), listed), 1):
            print(f"engine: {number} of {len(listed)}", end="\r", flush=True)
            judged.append(each)
    return finish(judged, "the engine's list", FOLDER / "engine.json")


if __name__ == "__main__":
    sys.exit(main())
