# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutants import engine, survivors
from tools.mutants.baseline import REPOSITORY
from tools.mutants.mutations import mutations, one_line
from tools.mutants.survivors import Judged, Known, Outcome, finish, reasons

WHY = """
[["src/natxy/search/binary.py"]]
before = "if a < b:"
after = "if a <= b:"
why = "a is never b"
"""


def judged(outcome: Outcome, after: str = "if a <= b:") -> Judged:
    return Judged("src/natxy/search/binary.py", 7, "if a < b:", after, outcome)


def test_survivors_need_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(survivors, "LIST", tmp_path / "survivors.toml")
    survivors.LIST.write_text(WHY)
    killed = [judged(Outcome.KILLED)] * 8 + [judged(Outcome.TOO_LONG)]
    assert finish([*killed, judged(Outcome.SURVIVED), judged(Outcome.UNUSABLE, "if a <")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "search         9 of    10 mutants killed (90.0%)",
        "together       9 of    10 mutants killed (90.0%)",
        "without a reason: 0 survivors; not counted: 1 unusable mutants",
    ]
    assert finish([*killed, judged(Outcome.NOT_EXECUTED, "if False:")]) == 1
    assert "binary.py:7: executed by no test\n  - if a < b:\n  + if False:\n" in capsys.readouterr().out


def test_too_few_killed_are_not_enough_whatever_the_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survivors, "LIST", tmp_path / "survivors.toml")
    survivors.LIST.write_text(WHY)
    assert finish([judged(Outcome.KILLED)] * 8 + [judged(Outcome.SURVIVED)]) == 1


def test_outcomes_stay_known(tmp_path: Path) -> None:
    Known(tmp_path / "known").add("key", Outcome.TOO_LONG)
    assert Known(tmp_path / "known").outcomes == {"key": Outcome.TOO_LONG}


def test_each_reason_is_that_of_a_mutant() -> None:
    listed = engine.mutants(engine.LIST.read_text(encoding="utf-8"))
    known = {(each.file, one_line(each.before), one_line(each.after)) for each in listed}
    why = reasons(survivors.LIST.read_text(encoding="utf-8"))
    for file in {file for file, _, _ in why if file.endswith(".py")}:
        source = (REPOSITORY / file).read_text(encoding="utf-8")
        known |= {(file, each.before, each.after) for each in mutations(source)}
    assert [key for key in why if key not in known] == []
    assert [key for key, reason in why.items() if not reason.strip()] == []
