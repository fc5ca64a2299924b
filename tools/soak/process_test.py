# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

from tools.soak.process import holdings

ROLLUP = """\
00400000-7ffc12345000 ---p 00000000 00:00 0                              [rollup]
Rss:              102400 kB
Pss:               90000 kB
Anonymous:         30000 kB
AnonHugePages:      2048 kB
Shared_Hugetlb:     4096 kB
Private_Hugetlb:   81920 kB
"""


def test_huge_pages_are_counted_apart_by_the_kernel(tmp_path: Path) -> None:
    process = tmp_path / "77"
    for descriptor in range(3):
        (process / "fd" / str(descriptor)).mkdir(parents=True)
    (process / "task" / "77").mkdir(parents=True)
    (process / "smaps_rollup").write_text(ROLLUP)
    found = holdings(77, tmp_path)
    assert (found.resident_kib, found.anonymous_kib, found.shared_kib) == (102_400 + 86_016, 30_000, 72_400)
    assert (found.hugepages_kib, found.descriptors, found.threads) == (86_016, 3, 1)


def test_an_open_file_is_a_descriptor_more() -> None:
    before = holdings(os.getpid())
    with open(os.devnull):
        assert holdings(os.getpid()).descriptors == before.descriptors + 1
