# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.plan.yaml.frame_size_lists import FRAME_SIZE_LISTS
from natxy.plan.yaml.loading import load_plan

PLAN = """\
name: p
{top}
testbed: {{kind: simulated}}
experiments:
  - {{name: e, gateway: simulated, procedure: throughput, search: {{max_rate: 1M}}{own}}}
"""


def sizes(folder: Path, own: str = "", top: str = "") -> list[int]:
    path = folder / "plan.yaml"
    path.write_text(PLAN.format(own=own and f", {own}", top=top))
    return [experiment.frame_size for experiment in load_plan(path).experiments]


def test_the_lists_are_the_standards() -> None:
    # RFC 2544 §9.1, and RFC 8219 §5.1.1 with its sizes for jumbo frames.
    ethernet = [64, 128, 256, 512, 1024, 1280, 1518]
    assert [*FRAME_SIZE_LISTS["rfc2544"]] == ethernet
    assert [*FRAME_SIZE_LISTS["rfc8219"]] == sorted([*ethernet, 768, 1522, 2048, 4096, 8192, 9216])


@pytest.mark.parametrize("name", list(FRAME_SIZE_LISTS))
def test_a_list_is_a_sweep(tmp_path: Path, name: str) -> None:
    assert sizes(tmp_path, f"frame_size: {name}") == list(FRAME_SIZE_LISTS[name])
    assert sizes(tmp_path, top=f"defaults: {{frame_size: {name}}}") == list(FRAME_SIZE_LISTS[name])


@pytest.mark.parametrize(
    ("own", "top"),
    [
        ("family: ipv6", ""),
        ("", "family: ipv6"),
        ("", "defaults: {family: ipv6}"),
        ("translation: siit", ""),
    ],
)
def test_where_a_side_is_ipv6_the_smallest_frame_has_84_bytes(tmp_path: Path, own: str, top: str) -> None:
    own = ", ".join(filter(None, ["frame_size: rfc8219", own]))
    assert sizes(tmp_path, own, top) == [84, *FRAME_SIZE_LISTS["rfc8219"][1:]]


@pytest.mark.parametrize(("headers", "smallest"), [("hop-by-hop", 92), ("both", 100)])
def test_extension_headers_need_longer_frames(tmp_path: Path, headers: str, smallest: int) -> None:
    own = f"frame_size: rfc2544, family: ipv6, extension_headers: {headers}"
    assert sizes(tmp_path, own) == [smallest, *FRAME_SIZE_LISTS["rfc2544"][1:]]


def test_a_cell_is_called_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN.format(own=", frame_size: rfc2544", top=""))
    experiment = load_plan(path).experiments[1]
    assert (experiment.cell, experiment.sweep) == ({"frame_size": 128}, "e")


def test_an_unknown_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="frame_size"):
        sizes(tmp_path, "frame_size: rfc9999")
