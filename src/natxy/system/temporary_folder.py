# SPDX-License-Identifier: Apache-2.0
"""Makes temporary folders that do not stay, even when natxy is killed."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from natxy.system.ledger import Kind, Ledger
from natxy.system.process_owner import Owner


@contextmanager
def temporary_folder(prefix: str, ledger: Ledger | None = None) -> Iterator[Path]:
    """Makes a folder for this user alone, and deletes it with its files when the context ends.

    Its name has the process that owns it.
    """
    ledger = ledger or Ledger()
    folder = Path(tempfile.gettempdir()) / f"{prefix}{Owner.current()}-{secrets.token_hex(8)}"
    entry = ledger.add(Kind.FOLDER, str(folder))
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        if folder.exists():
            shutil.rmtree(folder)
        ledger.remove(entry)
