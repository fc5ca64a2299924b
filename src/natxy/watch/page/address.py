# SPDX-License-Identifier: Apache-2.0
"""Makes the token in the address of a page: whoever does not know it sees nothing, other users of the machine included.

The token is the same each time, so that a page that is open finds a server again which was started anew.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from natxy.system.whole_file import whole_file
from natxy.untrusted.files import make_own_folder, opened_own

_BYTES = 32


def token_of(folder: Path) -> str:
    """Returns the token of a run's folder: only who can read this user's secret can compute it."""
    return hmac.new(_secret(), str(folder.resolve()).encode(), hashlib.sha256).hexdigest()[:32]


def _secret() -> bytes:
    """Returns this user's secret from XDG's state folder, made the first time; another one each time if it cannot be
    kept there, or if others may know what is kept."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # Relative paths are to be ignored (XDG Base Directory Specification).
    state = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    file = state / "natxy" / "watch-secret"
    try:
        if file.exists():
            with opened_own(file, others_may=0) as kept:
                if len(known := kept.read()) == _BYTES:
                    return known
        new = secrets.token_bytes(_BYTES)
        make_own_folder(file.parent)
        with whole_file(file, own_folder=True) as out:
            os.fchmod(out.fileno(), 0o600)
            out.write(new)
    except OSError:
        return secrets.token_bytes(_BYTES)
    return new
