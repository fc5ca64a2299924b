# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import IPv4Network
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from natxy.engine.messages.common import Side
from natxy.plan.testbeds.vm import Accelerator, VmConfig
from natxy.testbeds.vm.image import VmImage
from natxy.testbeds.vm.qemu import MANAGEMENT_NETWORK, Start, qemu_argv

IMAGE = VmImage(Path("/disks/a,b.img"), "qcow2", Path("/keys/key"))
DIRECT = VmImage(Path("/disks/disk.img"), "raw", Path("/keys/key"), kernel=Path("/disks/k"), initrd=Path("/disks/i"))


def argv(
    image: VmImage = IMAGE,
    *,
    accelerator: Accelerator = "tcg",
    vhost: bool = False,
    mtu: int = 1500,
    cpus: int = 2,
    **settings: Any,
) -> list[str]:
    config = VmConfig(kind="vm", **settings)
    taps = {side: range(10 * number, 10 * number + config.queues) for number, side in enumerate(Side, 1)}
    start = Start(
        accelerator=accelerator,
        cores=(1, 3),
        taps=taps,
        vhosts={side: [each + 100 for each in taps[side]] for side in Side} if vhost else {},
        folder=Path("/tmp/x"),
        ssh_port=40022,
        mtu=mtu,
    )
    return qemu_argv(config, image, start, cpus)


def values(words: list[str], option: str) -> list[str]:
    return [value for word, value in pairwise(words) if word == option]


def test_it_ends_with_natxy_and_runs_on_the_gateways_cores() -> None:
    words = argv()
    assert words[:7] == ["setpriv", "--pdeathsig", "KILL", "taskset", "--cpu-list", "1,3", "qemu-system-x86_64"]
    assert values(words, "-smp") == ["2"]


def test_each_accelerator_has_its_processor() -> None:
    assert (values(argv(), "-accel"), values(argv(), "-cpu")) == (["tcg,thread=multi"], ["max"])
    kvm = argv(accelerator="kvm")
    assert (values(kvm, "-accel"), values(kvm, "-cpu")) == (["kvm"], ["host"])


def test_the_image_is_not_written_to() -> None:
    (drive,) = values(argv(), "-drive")
    assert drive.split(",")[2:] == ["file=/disks/a", "", "b.img", "format=qcow2", "snapshot=on", "cache=unsafe"]
    assert "-kernel" not in argv()


def test_natxys_own_image_is_booted_without_a_boot_loader() -> None:
    words = argv(DIRECT)
    assert (values(words, "-kernel"), values(words, "-initrd")) == (["/disks/k"], ["/disks/i"])
    assert "root=/dev/vda" in values(words, "-append")[0]


def test_the_guest_is_managed_in_a_network_that_nobody_forwards_and_reaches_nothing_there() -> None:
    assert MANAGEMENT_NETWORK.subnet_of(IPv4Network("169.254.0.0/16"))
    management = values(argv(port=2222), "-netdev")[0]
    assert management == (
        "user,id=management,net=169.254.77.0/24,dhcpstart=169.254.77.15,restrict=on,ipv6=off,"
        "hostfwd=tcp:127.0.0.1:40022-169.254.77.15:2222"
    )


def test_each_side_has_its_tap_and_a_nic_without_offloads() -> None:
    words = argv()
    assert values(words, "-netdev")[1:] == ["tap,id=left,fd=10", "tap,id=right,fd=20"]
    left, right = values(words, "-device")[2:4]
    assert left.startswith("virtio-net-pci,netdev=left,mac=02:00:00:00:02:01,")
    assert right.startswith("virtio-net-pci,netdev=right,mac=02:00:00:00:02:02,")
    for offload in ("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6"):
        assert f",{offload}=off" in left
    assert "mq=on" not in left
    assert "host_mtu" not in left


def test_queues_share_the_descriptors() -> None:
    words = argv(queues=2, vhost=True)
    assert values(words, "-netdev")[1] == "tap,id=left,fds=10:11,vhost=on,vhostfds=110:111"
    assert ",mq=on,vectors=6" in values(words, "-device")[2]


def test_a_longer_mtu_is_told_to_the_guest() -> None:
    assert ",host_mtu=2000" in values(argv(mtu=2000), "-device")[2]


@pytest.mark.parametrize("nic", ["e1000e", "vmxnet3"])
def test_other_nics(nic: str) -> None:
    assert values(argv(nic=nic), "-device")[2] == f"{nic},netdev=left,mac=02:00:00:00:02:01,romfile="


def test_vhost_is_given_to_one_queue() -> None:
    assert values(argv(vhost=True), "-netdev")[2] == "tap,id=right,fd=20,vhost=on,vhostfd=120"
