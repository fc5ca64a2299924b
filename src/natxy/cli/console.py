# SPDX-License-Identifier: Apache-2.0
"""Where verbs print tables."""

from __future__ import annotations

import rich.console


class Console(rich.console.Console):
    """Leaves it to `reported_errors` that nobody reads on; rich itself would end with exit code 1."""

    def on_broken_pipe(self) -> None:
        raise
