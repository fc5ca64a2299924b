# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.vm import VmConfig

OWN: dict[str, Any] = {"image": "openbsd.qcow2", "key": "key"}


def described(**written: Any) -> VmConfig:
    found: TestbedConfig = TypeAdapter(TestbedConfig).validate_python({"kind": "vm", **written})
    assert isinstance(found, VmConfig)
    return found


def problems(**written: Any) -> list[str]:
    return [f"{'.'.join(map(str, each.location))}: {each.message}" for each in described(**written).problems()]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"queues": 2, "nic": "e1000e"}, "testbed.queues: QEMU gives a NIC of e1000e one queue, not 2; remove it"),
        ({"user": "admin"}, "testbed.user: is only for your own `image`"),
        ({"port": 2222}, "testbed.port: is only for your own `image`"),
        ({"key": "k"}, "testbed.key: is only for your own `image`"),
        ({"left": "vio1"}, "testbed.left: in the image that natxy builds, the interface is left"),
        ({"image": "x.img"}, "testbed.key: missing; give the private key"),
        (OWN | {"left": "vio1", "right": "vio1"}, "testbed.right: is the same interface as left, vio1"),
    ],
)
def test_settings_that_do_not_fit_are_problems(written: dict[str, Any], problem: str) -> None:
    (found,) = problems(**written)
    assert found.startswith(problem)


@pytest.mark.parametrize(
    "written",
    [{}, {"queues": 4}, {"nic": "vmxnet3"}, OWN | {"user": "admin", "port": 2222, "left": "vio1", "right": "vio2"}],
)
def test_settings_that_fit(written: dict[str, Any]) -> None:
    assert problems(**written) == []


def test_files_are_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    config = described(image="disk", key="~/.ssh/key", known_hosts="/etc/known")
    assert (config.image, config.key) == (tmp_path / "disk", Path("/home/somebody/.ssh/key"))
    assert config.known_hosts == Path("/etc/known")
    assert config.model_dump(mode="json")["key"] == "/home/somebody/.ssh/key"
    monkeypatch.chdir("/")
    assert TypeAdapter(TestbedConfig).validate_python(config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    "refused",
    [
        {"image": "x", "key": "~nobody-of-this-name/key"},
        {"memory": "1"},
        {"memory": "0G"},
        {"memory": "lots"},
        {"memory": "1G,slots=2"},
        {"cpus": 0},
        {"queues": 17},
        {"nic": "rtl8139"},
        {"port": 65536},
        {"accelerator": "hvf"},
        {"left": "a b"},
    ],
)
def test_values_have_limits(refused: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        described(**refused)


def test_it_is_a_machine_of_its_own_beside_the_tester() -> None:
    vm = described()
    assert vm.is_local
    assert vm.gateway_has_machine
    # The programs of this machine are not the gateway's.
    assert not vm.gateway_is_local
    assert (vm.engine_ports.name, vm.engine_ports.driver) == ("tap", "net_af_packet")


def test_its_driver_sets_the_links_unless_they_are_kept() -> None:
    assert described().driver_sets_links
    assert not described(**OWN, addresses="keep").driver_sets_links


def test_it_has_as_many_cores_as_virtual_cpus() -> None:
    assert described().dut_core_count(range(4), 2) == 2
    assert described(dut_cores=[3]).dut_core_count(range(4), 2) == 1
    assert described(cpus=8).dut_core_count(range(2), 2) == 8
