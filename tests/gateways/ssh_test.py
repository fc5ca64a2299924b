# SPDX-License-Identifier: Apache-2.0
"""Tests commands over ssh with a real sshd on loopback."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator
from ipaddress import ip_interface
from pathlib import Path

import pytest

from natxy.cleanup.leftovers import described, give_back
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.linux import LinuxForwardGateway, NftablesGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.hotplug import HotPlug
from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError, PlanError
from natxy.plan.gateways.linux import LinuxForwardConfig, NftablesConfig
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.testbeds.machines import DutLocation, SshTarget
from natxy.system.ledger import Ledger
from natxy.system.process_owner import Owner, boot_id
from natxy.testbeds.cabled import CabledTestbed
from tests.support import needs
from tests.support.command import HANG_S
from tests.support.lab_frames import IPV4
from tests.support.processes import runs
from tests.support.sshd import Sshd, running_sshd
from tests.support.timing import wait_until

pytestmark = needs.SSHD


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    with running_sshd(tmp_path / "sshd") as running:
        yield running


def test_arguments_input_and_output_arrive_as_they_are(sshd: Sshd) -> None:
    odd = ["a b", "$HOME", "'", '"', "*", ";true", "", "ä\n"]
    with SshTransport(sshd.target) as transport:
        done = transport.run(["printf", "%s|", *odd])
        assert done.stdout == "".join(f"{word}|" for word in odd)
        done = transport.run(["sh", "-c", "cat; echo said >&2; exit 3"], input="given", check=False)
        assert (done.returncode, done.stdout, done.stderr) == (3, "given", "said\n")
        assert transport.run(["cat"]).stdout == ""
        assert transport.run(["cat"], input="").stdout == ""


def test_output_that_is_not_text_is_replaced(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        done = transport.run(["sh", "-c", r"printf 'a\377b'; printf '\303' >&2"])
        assert (done.stdout, done.stderr) == ("a\ufffdb", "\ufffd")


def test_a_machine_is_one_place_whatever_its_target(sshd: Sshd) -> None:
    targets = [sshd.target, sshd.target.model_copy(update={"connect_timeout": 9.0})]
    places = []
    for target in targets:
        with SshTransport(target) as transport:
            places.append(transport.place())
    assert places[0] != places[1]
    assert places[0].is_same(places[1])
    assert places[0].boot_id == boot_id()
    assert f"net:[{places[0].namespace}]" == os.readlink("/proc/self/ns/net")


def test_a_machine_without_namespaces_is_a_place(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    boottime = "Mon Nov 23 10:00:00 2026\n"
    monkeypatch.setattr(SshTransport, "run", lambda *_: CompletedCommand((), 0, boottime, ""))
    with SshTransport(sshd.target) as transport:
        place = transport.place()
    assert (place.boot_id, place.namespace) == (boottime.strip(), None)


def test_all_commands_share_a_connection(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        ends = {transport.run(["sh", "-c", "echo $SSH_CONNECTION"]).stdout for _ in range(3)}
        assert len(ends) == 1


def test_failure_says_what_the_program_said(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport, pytest.raises(DutError, match="exit code 3; it printed: no"):
        transport.run(["sh", "-c", "echo no >&2; exit 3"])


def test_missing_program(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        with pytest.raises(DutError, match="natxy-no-such-program is not installed there"):
            transport.run(["natxy-no-such-program"], check=False)
        assert transport.run(["echo", "on"]).stdout == "on\n"


def test_missing_prefix_for_root(sshd: Sshd) -> None:
    target = sshd.target.model_copy(update={"as_root": ["natxy-no-sudo", "-n"]})
    with SshTransport(target) as transport, pytest.raises(DutError, match=r"^natxy-no-sudo is not installed there"):
        transport.run(["echo"])


def test_program_without_an_end_is_given_up(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        with pytest.raises(DutError, match=r"did not end within 0\.5 s"):
            transport.run(["sleep", "2"], timeout_s=0.5)
        assert transport.run(["echo", "on"]).stdout == "on\n"


def test_a_program_that_keeps_the_output_of_what_started_it_is_told(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        with pytest.raises(DutError, match="ended, but a program that it started still held its output"):
            # The shell needs time to begin and to end.
            transport.run(["sh", "-c", "sleep 600 &"], timeout_s=4)
        transport.run(["sh", "-c", "sleep 0 > /dev/null 2>&1 &"], timeout_s=30)


def test_what_a_program_without_an_end_started_ends_with_it(sshd: Sshd, tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = f"sleep 600 & echo $! > {started}; sleep 600"
    with SshTransport(sshd.target) as transport:
        with pytest.raises(DutError, match="did not end within"):
            # The script needs time to begin.
            transport.run(["sh", "-c", script], timeout_s=4)
        child = int(started.read_text())
        wait_until(lambda: not runs(child))


def test_program_killed_by_a_signal_failed(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        assert transport.run(["sh", "-c", "kill -9 $$"], check=False).returncode == -9


def test_prefix_for_root(sshd: Sshd) -> None:
    target = sshd.target.model_copy(update={"as_root": ["env", "WHO=root"]})
    with SshTransport(target) as transport:
        assert transport.run(["sh", "-c", "echo $WHO"]).stdout == "root\n"


def test_commands_from_two_threads(sshd: Sshd, tmp_path: Path) -> None:
    end = tmp_path / "end"
    with SshTransport(sshd.target) as transport:
        script = f"until [ -e {end} ]; do sleep 0.05; done"
        slow = threading.Thread(target=transport.run, args=(["sh", "-c", script],))
        slow.start()
        try:
            transport.run(["true"])
            assert slow.is_alive()
        finally:
            end.touch()
            slow.join()


def test_unknown_host_key(sshd: Sshd) -> None:
    sshd.known_hosts("")
    with SshTransport(sshd.target) as transport, pytest.raises(DutError, match=r"known_hosts.*fingerprint"):
        transport.run(["true"])


def test_changed_host_key(sshd: Sshd) -> None:
    host, _, _ = (sshd.folder / "known_hosts").read_text().partition(" ")
    sshd.known_hosts(f"{host} {(sshd.folder / 'authorized_keys').read_text()}")
    with SshTransport(sshd.target) as transport, pytest.raises(DutError, match=r"known_hosts.*fingerprint"):
        transport.run(["true"])


def test_refused_login(sshd: Sshd) -> None:
    sshd.authorized_keys("")
    with SshTransport(sshd.target) as transport, pytest.raises(DutError, match=r"login was refused.*BatchMode=yes"):
        transport.run(["true"])


def test_nobody_listens(sshd: Sshd) -> None:
    sshd.stop()
    with SshTransport(sshd.target) as transport, pytest.raises(DutError, match=r"refused|Connect call failed"):
        transport.run(["true"])


def test_a_name_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("asyncssh.connect", unknown)
    said = "dut: no address is known for this name (Name or service not known); correct the name, or give the address"
    with SshTransport(SshTarget(host="dut")) as transport, pytest.raises(DutError, match=f"{re.escape(said)}$"):
        transport.run(["true"])


def test_no_answer() -> None:
    # Discard-only addresses (RFC 6666) never answer. A machine without IPv6 reports at once that they are unreachable.
    target = SshTarget(host="100::1", connect_timeout=0.3)
    with SshTransport(target) as transport, pytest.raises(DutError, match=r"no answer within 0\.3 s|unreachable"):
        transport.run(["true"])


def test_a_machine_that_has_just_not_answered_is_not_asked_again() -> None:
    with socket.socket() as hung:
        hung.bind(("127.0.0.1", 0))
        hung.listen()
        target = SshTarget(host="127.0.0.1", port=hung.getsockname()[1], connect_timeout=0.3)
        with SshTransport(target) as transport:
            for _ in range(2):
                with pytest.raises(DutError, match=r"no answer within 0\.3 s"):
                    transport.run(["true"])
                assert transport._silent_until > 0
                # The machine of the test may be slow.
                transport._silent_until += HANG_S
        hung.accept()[0].close()
        hung.setblocking(False)
        with pytest.raises(BlockingIOError):
            hung.accept()


def test_broken_configuration(sshd: Sshd) -> None:
    (sshd.folder / "ssh_config").write_text("Port many\n")
    with SshTransport(sshd.target) as transport, pytest.raises(DutError, match="ssh configuration"):
        transport.run(["true"])


def test_lost_connection_is_told_and_made_anew(sshd: Sshd) -> None:
    with SshTransport(sshd.target) as transport:
        with pytest.raises(DutError, match="connection was lost"):
            transport.run(["sh", "-c", "kill -9 $PPID; sleep 5"])
        assert transport.run(["echo", "back"]).stdout == "back\n"


class DutAlone(CabledTestbed):
    def _take_ends(self) -> None:
        pass

    def description(self) -> dict[str, str]:
        return {}


def test_settings_are_given_back_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    # Keeps each sysctl in a file, so that the machine's own don't change.
    settings = tmp_path / "settings"
    settings.mkdir()
    (programs / "sysctl").write_text(
        f'#!/bin/sh\ncd {settings}\n[ $1 = -qw ] || exec cat "$2"\necho "${{2#*=}}" > "${{2%%=*}}"\n'
    )
    (programs / "nft").write_text("#!/bin/sh\ncat > /dev/null\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    before = {
        "net.ipv4.ip_forward": "0",
        "net.ipv6.conf.all.forwarding": "1",
        "net.netfilter.nf_conntrack_max": "262144",
        "net.netfilter.nf_conntrack_buckets": "65536",
        "net.netfilter.nf_conntrack_udp_timeout": "30",
        "net.netfilter.nf_conntrack_udp_timeout_stream": "120",
    }
    for name, value in before.items():
        (settings / name).write_text(f"{value}\n")

    def in_force() -> dict[str, str]:
        return {name: (settings / name).read_text().strip() for name in before}

    config = NftablesConfig(conntrack_max=5, hash_size=6, udp_timeout_s=7, udp_stream_timeout_s=8)
    with running_sshd(tmp_path / "second", programs=programs) as dut:
        with SshTransport(dut.target) as killed:
            gateway = NftablesGateway(config, killed, DutInterfaces("a", "b"), IPV4)
            gateway.apply()
            gateway.apply()
            assert [*in_force().values()] == ["1", "1", "5", "6", "7", "8"]
        assert {entry.original for entry in Ledger().entries()} == {*before.values()}
        with monkeypatch.context() as later:
            later.setattr(Owner, "is_alive", lambda _: False)
            assert {returned.problem for returned in give_back()} == {None}
        assert in_force() == before
        with DutAlone([DutLocation(ssh=dut.target, left="a", right="b")]) as testbed:
            later_gateway = testbed.create_gateway(config, IPV4)
            later_gateway.apply()
            assert [*in_force().values()] == ["1", "1", "5", "6", "7", "8"]
            later_gateway.remove()
            assert in_force() == before
            assert Ledger().entries() == []


def test_steal_is_read_over_ssh_and_a_lost_dut_ends_no_trial(sshd: Sshd) -> None:
    with DutAlone([DutLocation(ssh=sshd.target, left="a", right="b")]) as testbed:
        watch = testbed.watch()
        assert watch is not None
        assert watch.buffer_frames is None
        watch.begin()
        absence = watch.end()
        assert absence is not None
        assert absence.stolen_s == absence.total_s >= 0
        watch.begin()
        sshd.stop()
        assert watch.end() is None
        sshd.start()


def test_a_duts_own_networks_are_looked_at_before_its_gateway(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ip").write_text("#!/bin/sh\n[ \"$*\" != '-o address' ] || echo '2: eth0    inet 10.0.2.15/24 scope'\n")
    (programs / "ip").chmod(0o755)
    apart = IPV4.model_copy(
        update={"left": LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"))}
    )
    with (
        running_sshd(tmp_path / "second", programs=programs) as dut,
        DutAlone([DutLocation(ssh=dut.target, left="a", right="b")]) as testbed,
    ):
        with pytest.raises(PlanError, match=r"addresses\.left: .* the address 10\.0\.2\.15 on eth0 in 10\.0\.0\.0/16"):
            testbed.create_gateway(NftablesConfig(), IPV4)
        testbed.create_gateway(NftablesConfig(), apart)


def test_cores_come_back_into_service_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpus = tmp_path / "cpu"
    for core in range(1, 4):
        (cpus / f"cpu{core}").mkdir(parents=True)
        (cpus / f"cpu{core}" / "online").write_text("1")
    (cpus / "online").write_text("0-3\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    # Like the kernel, updates the list of cores with each switch.
    (programs / "tee").write_text(
        f'#!/bin/sh\n/usr/bin/tee "$@"\ncd {cpus}\nlist=0\nfor core in 1 2 3; do\n'
        "[ $(cat cpu$core/online) = 1 ] && list=$list,$core\ndone\necho $list > online\n"
    )
    (programs / "tee").chmod(0o755)
    with running_sshd(tmp_path / "second", programs=programs) as second:
        with SshTransport(second.target) as killed:
            plug = HotPlug(killed, str(cpus))
            plug.use([0, 1])
            assert plug.cores() == (0, 1)
        monkeypatch.setattr(Owner, "is_alive", lambda _: False)
        assert [(described(returned.entry), returned.problem) for returned in give_back()] == [
            (f"the cores in service, which was 0,1,2,3, on {second.target}", None)
        ]
        assert [(cpus / f"cpu{core}" / "online").read_text().strip() for core in range(1, 4)] == ["1"] * 3
        assert Ledger().entries() == []


def test_linux_gateways_cores_are_set_by_hot_plug(sshd: Sshd, tmp_path: Path) -> None:
    cpus = tmp_path / "cpu"
    cpus.mkdir()
    (cpus / "online").write_text("0-1\n")
    with SshTransport(sshd.target) as transport:
        transport.hot_plug = HotPlug(transport, str(cpus))
        gateway = LinuxForwardGateway(LinuxForwardConfig(), transport, DutInterfaces("lo", "lo"), IPV4)
        gateway.set_cores([0, 1])
        with pytest.raises(DutError, match="no core 2 in service, but 0, 1"):
            gateway.set_cores([0, 1, 2])
        assert gateway.describe().settings["cores in service"] == "0, 1"
