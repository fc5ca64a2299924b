# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from natxy.shipped import DOCS, schema_comment, shown


def test_a_path_is_short_only_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    assert shown(DOCS / "index.md") == "docs/index.md"
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert shown(DOCS / "index.md") == str(DOCS / "index.md")
    gone.rmdir()
    assert shown(DOCS / "index.md") == str(DOCS / "index.md")


def test_a_plan_leads_an_editor_to_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = DOCS / "reference/plan.schema.json"
    assert schema_comment(DOCS.parent / "plans") == (
        "# yaml-language-server: $schema=../docs/reference/plan.schema.json"
    )
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    named = schema_comment(Path())
    (tmp_path / "gone").rmdir()
    for comment in (named, schema_comment(Path())):
        address = urlsplit(comment.removeprefix("# yaml-language-server: $schema="))
        assert (address.scheme, unquote(address.path)) == ("file", str(schema))
        assert Path(unquote(address.path)).is_file()
