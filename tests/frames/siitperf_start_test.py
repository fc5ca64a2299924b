# SPDX-License-Identifier: Apache-2.0
"""Tests how soon the programs that stand in for siitperf's send, by the frames that reach a gateway."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.support import needs
from tests.support.siitperf_start import MOST_S, WAYS, Way, bed_to_start_in, to_first_frame_s
from tests.support.timing import takes_at_most

pytestmark = needs.LAB


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_first_frame_leaves_soon_after_the_start(tmp_path: Path, way: Way) -> None:
    with bed_to_start_in(tmp_path) as bed:
        # The first call makes what later ones find: the run, or the engine that is kept open.
        to_first_frame_s(bed, way)
        takes_at_most(MOST_S, partial(to_first_frame_s, bed, way))
