# SPDX-License-Identifier: Apache-2.0
"""Names a pipe into which nobody writes where a verb expects a file: none waits for it, and each says what it is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.command import natxy
from tests.support.stored_values import measured

CAMPAIGN: Final = """
name: c
testbeds: {one: {testbed: {kind: simulated}}}
runs: [{name: r, plan: plan.yaml, on: [one]}]
"""
IS_A_PIPE: Final = "cannot be read: it is a pipe; write what it would give to a file"
NO_RUN: Final = "is not a run folder"
VERBS: Final = (
    (["check", "PIPE"], IS_A_PIPE),
    (["run", "PIPE", "--output", "out"], IS_A_PIPE),
    (["campaign", "PIPE", "--output", "out"], IS_A_PIPE),
    (["campaign", "campaign.yaml", "--output", "out"], IS_A_PIPE),
    (["lab", "up", "PIPE"], IS_A_PIPE),
    (["doctor", "PIPE"], IS_A_PIPE),
    (["selftest", "PIPE"], IS_A_PIPE),
    (["import", "PIPE"], IS_A_PIPE),
    (["verify", "PIPE"], IS_A_PIPE),
    (["bundle", "RUN", "--output", "out.zip", "--sign", "PIPE"], "--sign: plan.yaml is no file"),
    (["verify", "BUNDLE", "--allowed-signers", "PIPE"], "--allowed-signers: plan.yaml is no file"),
    (["calibrate", "--output", "PIPE"], "exists already"),
    (["history", "PIPE"], "Not a directory"),
    (["watch", "PIPE"], "nothing has begun there yet"),
    (["export", "PIPE", "--format", "csv"], NO_RUN),
    (["compare", "PIPE", "RUN"], NO_RUN),
    *(([verb, "PIPE"], NO_RUN) for verb in ("report", "judge", "bundle", "resume")),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("pipes") / "run")


@pytest.mark.parametrize(("words", "said"), VERBS, ids=lambda words: " ".join(words) if isinstance(words, list) else "")
def test_no_verb_waits_for_a_pipe(
    words: list[str], said: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("plan.yaml")
    Path("campaign.yaml").write_text(CAMPAIGN)
    if "BUNDLE" in words:
        assert natxy("bundle", run, "--output", "b.zip", "--sign", key(tmp_path)).returncode == 0
    paths = {"PIPE": "plan.yaml", "RUN": str(run), "BUNDLE": "b.zip"}
    ended = natxy(*(paths.get(word, word) for word in words))
    assert ended.returncode == 2, ended.stderr
    assert said in " ".join(ended.stderr.split())


def key(folder: Path) -> Path:
    """Makes an ssh key."""
    found = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", found], check=True)
    return found
