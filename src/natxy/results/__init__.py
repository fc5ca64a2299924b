# SPDX-License-Identifier: Apache-2.0
"""The results of a run: the SQLite store, the records that are read from it, and values computed from them."""

from typing import Final

RESULTS_FILE: Final = "results.sqlite"
"""Names the database in the folder of a run."""
