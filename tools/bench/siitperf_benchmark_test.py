# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.bench.siitperf_benchmark import FORMS, requests_of


@pytest.mark.parametrize("name", FORMS)
def test_a_form_varies_what_its_name_says(name: str) -> None:
    _, request = requests_of(FORMS[name])
    (stream,) = request.streams
    flows = stream.flows
    assert flows
    assert (stream.frame.size, request.delay_histogram) == (64, "pdv" in name)
    for port, most in ((flows.source_port, 64_512), (flows.destination_port, 49_151)):
        assert port.max - port.min + 1 == (most if "ports" in name else 1)
    for address in (flows.source_address, flows.destination_address):
        assert address.size == (65_533 if "addresses" in name else 1)
