# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from mmap import PAGESIZE

from tools.table_memory import Cache, caches, of_connections

SLABINFO = """slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> …
nf_conntrack         176    240    256   16    1 : tunables    0    0    0 : slabdata     15     15      0
kmalloc-64         35000  35200     64   64    1 : tunables    0    0    0 : slabdata    550    550      0
"""


def test_a_cache_has_the_memory_of_its_slabs() -> None:
    assert caches(SLABINFO) == {
        "nf_conntrack": Cache(176, 256, 15 * PAGESIZE),
        "kmalloc-64": Cache(35000, 64, 550 * PAGESIZE),
    }


def test_caches_that_gained_an_object_for_every_other_connection_are_the_tables() -> None:
    before = {"nf_conntrack": Cache(10, 256, 4096), "others": Cache(0, 64, 0)}
    after = {"nf_conntrack": Cache(110, 256, 30_000), "others": Cache(49, 64, 9000), "new": Cache(50, 96, 5000)}
    assert of_connections(before, after, 100) == {"nf_conntrack, 256 B": 25_904, "new, 96 B": 5000}
