# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of the documentation, and writes its quotations: `python -m tools.gallery CAMPAIGN`.

CAMPAIGN is the folder in which `natxy campaign tools/gallery/gallery.yaml` has measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from natxy.report.page.html import write_report
from natxy.results.reader import RunReader
from tools.bench.speed_tables import put
from tools.gallery.pictures import take
from tools.gallery.quotes import block_rows, condition_rows, printed_end, printed_tables, search_rows
from tools.gallery.result import result_rows

PICTURES: Final = Path("docs/pictures")
_RUNS: Final = ("quickstart", "gateways", "connections", "delays")


def main(campaign: Path) -> None:
    readers = [RunReader(campaign / "runs" / name / "lab") for name in _RUNS]
    for reader in readers:
        write_report(reader)
    PICTURES.mkdir(exist_ok=True)
    take(campaign, PICTURES)
    quickstart = readers[0].run
    tutorial = Path("docs/tutorial/first-measurement.md")
    _put(Path("README.md"), "result", result_rows(quickstart))
    _put(tutorial, "printed", printed_tables(quickstart))
    _put(tutorial, "search", search_rows(quickstart, "forwarding-throughput"))
    _put(tutorial, "end-of-run", printed_end(quickstart))
    _put(Path("docs/explanation/statistics.md"), "blocks", block_rows(quickstart, "nat", "forwarding"))
    _put(Path("docs/gallery.md"), "measured", condition_rows([reader.run for reader in readers]))


def _put(page: Path, name: str, rows: Iterable[str]) -> None:
    page.write_text(put(page.read_text(encoding="utf-8"), name, rows), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
