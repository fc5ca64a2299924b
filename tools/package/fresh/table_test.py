# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tools.package.fresh.table import figures, rows

_LINES = (
    "prepare\tmaking a root\t80\n"
    "install_s\tapt update\t3.4\n"
    "install_s\tapt install\t60.2\n"
    "file_mib\tthe package\t95\n"
    "own_mib\tits files\t319\n"
    "installed_mib\tall of it\t484\n"
    "measure_s\tmeasuring\t120.4\n"
    "condition\tprocessor\tAn Engine\n"
    "condition\tcores\t2\n"
    "condition\tload\t{load}\n"
)


def test_a_way_takes_the_sum_of_its_steps() -> None:
    _, _, deb, clone, machine = rows(
        {"clone-trixie": figures(_LINES.format(load="7.25")), "deb": figures(_LINES.format(load="0.5"))}
    )
    assert deb == "| the Debian package | 1 min 04 s | 2 min | 3 min 04 s | 95 MiB | 484 MiB | 0 |"
    assert clone.startswith("| a clone, on Debian 13 | 1 min 04 s |")
    assert clone.endswith("| 484 MiB | 7 |")
    assert machine.startswith("\nMeasured on An Engine, 2 cores. The load is")
