# SPDX-License-Identifier: Apache-2.0
"""Reads a table of softwires in whichever of the known formats it has, from a text or from a file."""

from __future__ import annotations

from pathlib import Path

from natxy.plan.bindings.csv_table import read_csv
from natxy.plan.bindings.lines import TableError, TableReader
from natxy.plan.bindings.snabb import is_snabb, read_snabb
from natxy.plan.bindings.vpp import is_vpp, read_vpp
from natxy.untrusted.files import text_of


def read_table(text: str) -> TableReader:
    """Returns the softwires of a text. Raises TableError, which names the line and the field."""
    reads = read_snabb if is_snabb(text) else read_vpp if is_vpp(text) else read_csv
    found = reads(text)
    if not found.ends:
        raise TableError(
            "expected softwires: lines of ipv4,psid,b4 below a line with these names, those of Snabb's lwAFTR, or "
            "VPP's `map add domain` and `map add rule`"
        )
    return found


def read_table_file(path: Path) -> TableReader:
    """Returns the softwires of a file. TableError names the file, the line and the field."""
    try:
        return read_table(text_of(path))
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from error
    except TableError as error:
        raise TableError(f"{path}, {error}") from error
