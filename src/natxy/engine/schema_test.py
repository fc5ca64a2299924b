# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.engine.schema import message_schema_text

SCHEMA_FILE = Path(__file__).parents[3] / "docs" / "reference" / "rpc.schema.json"


def test_the_published_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text() == message_schema_text(), "regenerate it by `make docs`"
