# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.history.past import past_run
from natxy.results.reader import RunReader
from tests.support.sample_runs import SampleRun, measured_rates


@pytest.mark.parametrize(("values", "shown"), [([1e5, 1.1e5], False), ([1e5, 1.1e5, 1.2e5], True)])
def test_an_interval_that_tells_nothing_is_kept_and_not_shown(
    tmp_path: Path, values: list[float], *, shown: bool
) -> None:
    sample = SampleRun(tmp_path)
    measured_rates(sample, "one", values)
    (figure,) = past_run("folder", RunReader(sample.end()).run).experiments[0].figures
    assert figure.interval is not None
    assert (figure.shown_interval is not None) is shown
