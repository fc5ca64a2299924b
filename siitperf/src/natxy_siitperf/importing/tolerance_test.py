# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.yaml.loading import plan_of
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import import_plan
from natxy_siitperf.importing.source import Source
from tests.support.siitperf_confs import conf_text


@pytest.mark.parametrize(
    ("name", "procedure", "gateway", "changed", "tolerance"),
    [
        ("nat64", "throughput", None, {}, '{reverse: "0.01%"}'),
        ("nat64", "validated-connection-rate", None, {}, '{reverse: "0.01%"}'),
        ("siit", "throughput", None, {}, '{reverse: "0.01%"}'),
        # Nothing is translated to IPv6, or nothing is corrupted, or no frame decides on a rate.
        ("nat64", "connection-rate", None, {}, None),
        ("nat64", "throughput", None, {"Reverse": "0"}, None),
        ("siit", "throughput", "map646", {}, None),
        ("nat44", "throughput", None, {}, None),
        ("siit", "pdv", None, {}, None),
    ],
)
def test_a_gateway_that_corrupts_frames_now_and_then_has_a_loss_tolerance(
    name: str, procedure: str, gateway: str | None, changed: dict[str, str], tolerance: str | None
) -> None:
    text = import_plan(Source(parse_conf(conf_text(name, **changed)), procedure, gateway=gateway))
    # The sentences of a plan's head are wrapped.
    said = "sends one frame in 65,536 to IPv6 with a UDP checksum of 0" in text.replace("\n#   ", " ")
    assert (f"    loss_tolerance: {tolerance}  # " in text, said) == ((tolerance is not None,) * 2)
    assert "loss_tolerance" not in text or tolerance
    experiment = plan_of(text, Path("plan.yaml")).experiments[0]
    most = experiment.loss_tolerance.most if experiment.loss_tolerance else 0
    assert most == (1e-4 if tolerance else 0)
