# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from natxy.bundle.signature_test import allowing, made_key
from natxy.cli import app
from tests.support import needs
from tests.support.past_runs import night


def natxy(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_run_is_bundled_beside_its_folder_and_verified(tmp_path: Path) -> None:
    run = night(tmp_path, 1)
    made = natxy("bundle", run)
    assert (made.exit_code, made.output) == (0, f"{tmp_path}/nightly-01.zip\n")
    verified = natxy("verify", tmp_path / "nightly-01.zip")
    assert verified.exit_code == 0, verified.output
    assert verified.output.startswith("nightly: complete, begun 2026-03-01T02:00:00")
    assert "8 files: none is missing, and the hashes among them fit\n" in verified.output
    assert "computed again from its database: the same\n" in verified.output


@needs.programs("ssh-keygen")
def test_a_signed_bundle_says_by_whom(tmp_path: Path) -> None:
    key = made_key(tmp_path)
    run = night(tmp_path, 1)
    assert natxy("bundle", run, "--sign", key).exit_code == 0
    bundle = tmp_path / "nightly-01.zip"
    unknown = natxy("verify", bundle)
    assert unknown.exit_code == 0
    assert "Signed with the ED25519 key SHA256:" in unknown.output
    allowed = allowing(tmp_path, ("alice@lab", key))
    known = natxy("verify", bundle, "--allowed-signers", allowed)
    assert "Signed by alice@lab, with the ED25519 key SHA256:" in known.output
    refused = natxy("verify", bundle, "--allowed-signers", allowing(tmp_path, ("bob", made_key(tmp_path, "other"))))
    assert (refused.exit_code, "does not allow to sign" in refused.output) == (2, True), refused.output
    unsigned = natxy("bundle", run, "--sign", tmp_path / "none")
    assert (unsigned.exit_code, "signs nothing" in unsigned.output) == (2, True), unsigned.output


def test_a_bundle_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    for path, said in (
        (tmp_path / "text.zip", "is no bundle, or is damaged"),
        (tmp_path / "none.zip", "cannot be read"),
    ):
        refused = natxy("verify", path)
        assert (refused.exit_code, said in refused.output) == (2, True), refused.output


def test_an_output_that_belongs_to_a_run_is_kept(tmp_path: Path) -> None:
    run = night(tmp_path, 1)
    refused = natxy("bundle", run, "--output", run / "results.sqlite")
    assert (refused.exit_code, "belongs to a run" in refused.output) == (2, True), refused.output


def test_what_was_not_compared_has_its_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert natxy("bundle", night(tmp_path, 1)).exit_code == 0
    monkeypatch.setattr("natxy.bundle.verification.computing_versions", lambda: {"natxy": "9.9.9"})
    verified = natxy("verify", tmp_path / "nightly-01.zip")
    assert (verified.exit_code, "not computed again" in verified.output) == (3, True), verified.output
