# SPDX-License-Identifier: Apache-2.0
"""Tests what is said of a field that a plan does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.yaml.loading_test import errors_of, experiment


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("title: Mine", "title: unknown field; did you mean 'name' or 'description'?"),
        ("frame_size: 64", "frame_size: unknown field; it belongs in `defaults` or in an experiment"),
        ("max_rate: 5k", "max_rate: unknown field. Expected one of "),
        ("experiment: []", "experiment: unknown field; did you mean 'experiments'?"),
    ],
)
def test_an_unknown_field_of_the_plan_is_answered_with_what_was_meant(tmp_path: Path, line: str, hint: str) -> None:
    assert f"plan.yaml:2:1: {hint}" in errors_of(tmp_path, experiment("connections: 50k", before=line))


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("size: 64", "size: unknown field; did you mean 'frame_size'?"),
        ("repetitions: 5", "repetitions: unknown field; did you mean 'repeat'?"),
        ("max_rate: 5k", "max_rate: unknown field; it belongs in `search`"),
        ("udp_timeout_s: 5", "udp_timeout_s: unknown field; it belongs in `gateway`"),
        ("seed: 5", "seed: unknown field; it belongs at the top of the plan"),
        ("timing: {connections: 5}", "timing.connections: unknown field; it belongs beside `timing`"),
        ("timing: {tril: 5}", "timing.tril: unknown field; did you mean 'trial'?"),
        ("addresses: {left: {dot: 10.0.0.1/24}}", "addresses.left.dot: unknown field; did you mean 'dut'?"),
        ("subscribers: {ipv4: 198.18.128.0/24, inner: 10.0.0.2}", "subscribers.ipv4: does not go with the other"),
        ("expect: {atleast: 5k}", "expect.atleast: unknown field; did you mean 'at_least'?"),
    ],
)
def test_an_unknown_field_of_an_experiment_is_answered_with_what_was_meant(
    tmp_path: Path, line: str, hint: str
) -> None:
    assert f"experiments[0].{hint}" in errors_of(tmp_path, experiment(f"connections: 50k\n    {line}"))
