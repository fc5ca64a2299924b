# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy_siitperf import cards
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.trial.ports import find_trial_ports
from tests.support.siitperf_confs import conf_text

ETHERNET, NVME = "0x020000", "0x010802"


@pytest.fixture
def drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cards, "DRIVERS", tmp_path)
    monkeypatch.setattr("natxy_siitperf.trial.ports.find_engine", lambda: Path("natxy-engine"))
    return tmp_path


def bind(drivers: Path, driver: str, address: str, kind: str = ETHERNET) -> None:
    folder = drivers / driver / address
    folder.mkdir(parents=True)
    (folder / "class").write_text(f"{kind}\n", encoding="ascii")


def test_cards_of_dpdks_drivers_are_found_in_the_order_of_their_addresses(drivers: Path) -> None:
    assert cards.bound_cards() == []
    bind(drivers, "vfio-pci", "0000:41:00.1")
    bind(drivers, "vfio-pci", "0000:02:00.0", NVME)
    bind(drivers, "igb_uio", "0000:05:00.0")
    bind(drivers, "ixgbe", "0000:01:00.0")
    (drivers / "vfio-pci" / "new_id").touch()
    assert cards.bound_cards() == ["0000:05:00.0", "0000:41:00.1"]
    bind(drivers, "uio_pci_generic", "0000:41:00.0")
    assert cards.bound_cards() == ["0000:05:00.0", "0000:41:00.0", "0000:41:00.1"]


def test_the_programs_take_the_first_two(drivers: Path) -> None:
    conf = parse_conf(conf_text("siit"))
    bind(drivers, "vfio-pci", "0000:41:00.1")
    with pytest.raises(PlanError, match=r"^1 network cards are bound to a driver of DPDK, expected two; bind them"):
        find_trial_ports(conf, 84, {})
    bind(drivers, "vfio-pci", "0000:41:00.0")
    bind(drivers, "vfio-pci", "0000:42:00.0")
    devices = [(port.side, port.device) for port in find_trial_ports(conf, 84, {}).ports]
    assert devices == [("left", "0000:41:00.0"), ("right", "0000:41:00.1")]
