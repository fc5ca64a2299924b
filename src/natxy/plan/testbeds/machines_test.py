# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.machines import DutLocation, SshTarget

LINKS: dict[str, Any] = {"left": "eth1", "right": "eth2"}


@pytest.mark.parametrize(("text", "user"), [("10.0.0.9", None), ("root@10.0.0.9", "root")])
def test_an_ssh_target_is_written_as_for_ssh(text: str, user: str | None) -> None:
    target = SshTarget.model_validate(text)
    assert (target.host, target.user) == ("10.0.0.9", user)
    assert str(target) == text


def test_the_configuration_of_ssh_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = SshTarget(host="dut", config=Path("lab/config"))
    assert target.from_anywhere() == SshTarget(host="dut", config=tmp_path / "lab/config")
    assert SshTarget(host="dut").from_anywhere() == SshTarget(host="dut")


def test_cards_are_set_only_where_the_dut_is_known_to_be() -> None:
    cards = {"addresses": "keep", "cards": {"offloads": {"gro": "off"}}}
    assert DutLocation.model_validate(LINKS | cards | {"namespace": "dut"}).cards
    with pytest.raises(ValidationError, match="cards needs to know where the DUT is"):
        DutLocation.model_validate(LINKS | cards)


def test_a_dut_is_in_one_place_and_has_two_interfaces() -> None:
    with pytest.raises(ValidationError, match="expected ssh, or a namespace on this machine, and not both"):
        DutLocation.model_validate(LINKS | {"ssh": "root@dut", "namespace": "dut"})
    with pytest.raises(ValidationError, match="left and right are the same interface, eth1"):
        DutLocation.model_validate(LINKS | {"right": "eth1"})


def test_a_one_armed_dut_has_one_interface() -> None:
    assert DutLocation.model_validate(LINKS | {"right": "eth1", "one_armed": True}).one_armed
    with pytest.raises(ValidationError, match="a one_armed DUT has one interface, not eth1 and eth2"):
        DutLocation.model_validate(LINKS | {"one_armed": True})


ROW: dict[str, Any] = {
    "kind": "hardware",
    "left": {"interface": "t1"},
    "right": {"interface": "t2"},
    "dut": LINKS | {"ssh": "one"},
}


def test_duts_in_a_row_have_a_place_each() -> None:
    row = HardwareConfig.model_validate(
        ROW | {"further_duts": [LINKS | {"ssh": "two"}, LINKS | {"namespace": "three"}]}
    )
    assert (row.fewest_hops, row.most_hops, row.gateway_is_local) == (3, 3, False)
    assert HardwareConfig.model_validate(ROW).most_hops == 1


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"further_duts": [LINKS | {"ssh": "root@one"}]}, r"further_duts\[0\] is the same place as a DUT before it"),
        ({"further_duts": [LINKS]}, r"further_duts\[0\] is a DUT of several in a row; give its `ssh`"),
        ({"further_duts": [LINKS | {"ssh": "two", "addresses": "keep"}]}, r"further_duts\[0\]\.addresses is keep"),
        (
            {"further_duts": [{"ssh": "two", "left": "a", "right": "a", "one_armed": True}]},
            r"further_duts\[0\] is one_armed",
        ),
        (
            {
                "further_duts": [LINKS | {"ssh": "two"}],
                "more_pairs": [
                    {"left": {"interface": "t3"}, "right": {"interface": "t4"}, "dut": {"left": "a", "right": "b"}}
                ],
            },
            "remove more_pairs or further_duts",
        ),
    ],
)
def test_duts_that_cannot_be_in_a_row(own: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        HardwareConfig.model_validate(ROW | own)


@pytest.mark.parametrize(
    ("own", "elsewhere"),
    [
        ({"addresses": "keep"}, True),
        ({}, False),
        ({"addresses": "keep", "namespace": "dut"}, False),
        ({"addresses": "keep", "ssh": "dut"}, False),
    ],
)
def test_only_a_dut_that_natxy_leaves_alone_may_be_elsewhere(own: dict[str, Any], elsewhere: bool) -> None:
    assert DutLocation.model_validate(LINKS | own).may_be_elsewhere == elsewhere
