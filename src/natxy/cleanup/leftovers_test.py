# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from ipaddress import ip_interface
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from natxy.cleanup.gateways import recorded_gateway
from natxy.cleanup.leftovers import Returned, _is_of, described, give_back
from natxy.cleanup.namespaces import links_of_any
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.command import CommandGateway
from natxy.dut.transport.base import LONGEST_S, CompletedCommand
from natxy.dut.transport.local import LocalTransport, NetnsTransport, run_program
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.testbeds.machines import DutLocation, SshTarget
from natxy.system.ledger import Entry, Kind, Ledger, Place
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner
from tests.support.command import HANG_S
from tests.support.timing import wait_until

ME = Owner.current()
DEAD = Owner(ME.pid, ME.start_ticks + 1)
ADDRESSES = AddressPlan(
    left=LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24")),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)


@pytest.fixture(autouse=True)
def folder(own_ledger: Path) -> Path:
    """Returns the folder that has the ledger of these tests."""
    return own_ledger.parent


def left_file(file: Path, *, place: Place | None = None, owner: Owner = DEAD, value: str = "new") -> Entry:
    """Changes a file as a setting, and returns the entry of `owner`."""
    entry = Ledger(owner=owner).add(
        Kind.SETTING,
        f"the file {file.name}",
        place,
        value=value,
        before=file.read_text,
        undo=lambda original: (("sh", "-c", f"printf {original} > {file}"),),
    )
    file.write_text(value)
    return entry


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "setting"
    path.write_text("old")
    return path


def test_a_setting_is_restored(file: Path) -> None:
    entry = left_file(file)
    assert described(entry) == "the file setting, which was old"
    assert [*give_back()] == [Returned(entry)]
    assert file.read_text() == "old"
    assert [*give_back()] == []


def test_what_a_live_process_changed_is_left_alone(file: Path) -> None:
    entry = left_file(file, owner=ME)
    assert [*give_back()] == []
    assert file.read_text() == "new"
    assert Ledger().entries() == [entry]


def test_a_setting_that_a_live_process_needs_too_stays_until_that_has_ended(file: Path) -> None:
    left_file(file)
    mine = left_file(file, owner=ME)
    assert len([*give_back()]) == 1
    assert file.read_text() == "new"
    assert Ledger().entries() == [mine]
    Ledger().release(mine, lambda _: file.write_text(mine.original or ""))
    assert file.read_text() == "old"


def test_the_latest_change_is_undone_first(folder: Path) -> None:
    log = folder / "log"
    for name in ("first", "second", "third"):
        undo = (("sh", "-c", f"echo {name} >> {log}"),)
        Ledger(owner=DEAD).add(Kind.SETTING, name, before=str, undo=lambda _, undo=undo: undo)  # type: ignore[misc]
    assert [returned.entry.what for returned in give_back()] == ["third", "second", "first"]
    assert log.read_text().split() == ["third", "second", "first"]


def test_one_that_cannot_be_restored_is_kept_and_the_others_are_given_back(file: Path) -> None:
    first = left_file(file)
    stuck = Ledger(owner=DEAD).add(Kind.SETTING, "stuck", before=str, undo=lambda _: (("false",),))
    assert [(returned.entry, returned.problem is None) for returned in give_back()] == [(stuck, False), (first, True)]
    assert file.read_text() == "old"
    assert Ledger().entries() == [stuck]


def test_a_command_that_fails_does_not_keep_the_others_from_running(file: Path) -> None:
    undo = (("false",), ("rm", str(file)))
    stuck = Ledger(owner=DEAD).add(Kind.SETTING, "stuck", before=str, undo=lambda _: undo)
    assert ["`false` failed" in (returned.problem or "") for returned in give_back()] == [True]
    assert not file.exists()
    assert Ledger().entries() == [stuck]


def test_a_restored_setting_has_as_much_time_as_a_released_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(LocalTransport, "run", lambda *_, timeout_s, **__: given.append(timeout_s))
    left_file(file)
    assert [returned.problem for returned in give_back()] == [None]
    assert given == [LONGEST_S]


def test_a_boot_has_undone_everything_but_folders(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left_file(file)
    temporary = folder / "natxy-temporary"
    temporary.mkdir()
    (temporary / "file").write_text("")
    for kind in Kind:
        Ledger(owner=DEAD).add(kind, str(temporary))
    monkeypatch.setattr("natxy.cleanup.leftovers.boot_id", lambda: "another")
    assert {returned.problem for returned in give_back()} == {None}
    assert file.read_text() == "new"
    assert not temporary.exists()
    assert Ledger().entries() == []


def test_only_the_places_that_are_concerned(file: Path) -> None:
    remote = Ledger(owner=DEAD).add(
        Kind.SETTING, "there", Place(boot_id="x", ssh='{"host": "dut.invalid"}'), before=str, undo=lambda _: ()
    )
    left_file(file)
    assert len([*give_back(lambda entry: entry.place.ssh is None)]) == 1
    assert Ledger().entries() == [remote]
    assert described(remote) == "there, which was , on dut.invalid"


class TestGateway:
    @pytest.fixture
    def gateway(self, folder: Path) -> Callable[..., CommandGateway]:
        def make(remove: str = "rm") -> CommandGateway:
            config = CommandConfig(
                driver="command",
                apply=[["touch", str(folder / "applied")]],
                remove=[[remove, str(folder / "applied")]],
            )
            return CommandGateway(config, LocalTransport(MachineSysctls()), DutInterfaces("a", "b"), ADDRESSES)

        return make

    def killed(self, gateway: CommandGateway, monkeypatch: pytest.MonkeyPatch) -> None:
        """Applies the gateway, and lets its process appear to have ended."""
        recorded_gateway(gateway, links=False).__enter__()
        gateway.apply()
        monkeypatch.setattr(Owner, "is_alive", lambda self: False)

    def test_it_is_removed_by_its_own_driver(
        self, gateway: Callable[..., CommandGateway], folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.killed(gateway(), monkeypatch)
        assert [described(returned.entry) for returned in give_back()] == ["the gateway command"]
        assert not (folder / "applied").exists()
        assert Ledger().entries() == []

    def test_it_stays_while_a_live_process_measures_at_the_same_place(
        self, gateway: Callable[..., CommandGateway], folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.killed(gateway(), monkeypatch)
        other = Owner(ME.pid + 1, 1)
        monkeypatch.setattr(Owner, "is_alive", lambda self: self == other)
        (entry,) = Ledger().entries()
        Ledger(owner=other).add(Kind.GATEWAY, "the gateway nftables", entry.place)
        (returned,) = give_back()
        assert returned.problem == (f"process {other.pid} measures the gateway nftables there: wait until it has ended")
        assert (folder / "applied").exists()

    def test_its_entry_stays_when_it_cannot_be_removed(
        self, gateway: Callable[..., CommandGateway], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.killed(gateway(remove="false"), monkeypatch)
        (returned,) = give_back()
        assert "failed with exit code 1" in (returned.problem or "")
        assert len(Ledger().entries()) == 1

    def test_its_links_go_although_it_cannot_be_removed(
        self, gateway: Callable[..., CommandGateway], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unset: list[bool] = []
        monkeypatch.setattr(CommandGateway, "unset_links", lambda _: unset.append(True))
        recorded_gateway(gateway(remove="false"), links=True).__enter__()
        monkeypatch.setattr(Owner, "is_alive", lambda self: False)
        (returned,) = give_back()
        assert returned.problem
        assert unset == [True]

    @pytest.mark.parametrize("details", [None, {}, {"config": {"driver": "another"}}])
    def test_a_record_of_another_version_is_a_problem(self, details: dict[str, Any] | None) -> None:
        Ledger(owner=DEAD).add(Kind.GATEWAY, "the gateway x", details=details)
        (returned,) = give_back()
        assert "another version of natxy" in (returned.problem or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
class TestNamespaces:
    @pytest.fixture
    def name(self) -> Iterator[str]:
        name = f"natxy-{DEAD}-dut"
        yield name
        run_program(["ip", "netns", "del", name], check=False)

    def test_one_goes_with_its_links_and_processes(self, name: str) -> None:
        Ledger(owner=DEAD).add(Kind.NAMESPACE, name)
        run_program(["ip", "netns", "add", name])
        run_program(["ip", "-n", name, "link", "add", "one", "type", "veth", "peer", "name", "two"])
        inside = subprocess.Popen(["ip", "netns", "exec", name, "sleep", "600"])
        network = Path(f"/proc/{inside.pid}/ns/net")
        wait_until(lambda: network.stat().st_ino == Path("/run/netns", name).stat().st_ino)
        assert [returned.problem for returned in give_back()] == [None]
        assert inside.wait(timeout=HANG_S) != 0
        assert name not in run_program(["ip", "netns", "list"]).stdout

    def test_a_hosts_namespace_stays_while_an_interface_is_in_it(self) -> None:
        name = f"natxy-{DEAD}-left-host"
        Ledger(owner=DEAD).add(Kind.NAMESPACE, name)
        run_program(["ip", "netns", "add", name])
        try:
            run_program(["ip", "-n", name, "link", "add", "one", "type", "veth", "peer", "name", "two"])
            assert ["is still in it" in (returned.problem or "") for returned in give_back()] == [True]
            run_program(["ip", "-n", name, "link", "del", "one"])
            assert [returned.problem for returned in give_back()] == [None]
        finally:
            run_program(["ip", "netns", "del", name], check=False)

    def test_links_that_every_namespace_has_are_not_the_machines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        name = f"natxy-{DEAD}-left-host"
        Ledger(owner=DEAD).add(Kind.NAMESPACE, name)
        run_program(["ip", "netns", "add", name])
        try:
            # This kernel may have no module of tunnels.
            run_program(["ip", "-n", name, "link", "add", "sit0", "type", "veth", "peer", "name", "tunl0"])
            fresh = "lo  UNKNOWN  00:00:00:00:00:00 <LOOPBACK>\nsit0@NONE  DOWN  0.0.0.0 <NOARP>\ntunl0@NONE  DOWN\n"

            def with_tunnels(argv: list[str], *, check: bool = True) -> CompletedCommand:
                return CompletedCommand((), 0, fresh, "") if argv[0] == "unshare" else run_program(argv, check=check)

            monkeypatch.setattr("natxy.cleanup.namespaces.run_program", with_tunnels)
            assert [returned.problem for returned in give_back()] == [None]
            assert name not in run_program(["ip", "netns", "list"]).stdout
        finally:
            run_program(["ip", "netns", "del", name], check=False)

    def test_every_namespace_has_the_loopback(self) -> None:
        assert "lo" in links_of_any()

    @pytest.mark.parametrize("half_made", [False, True])
    def test_one_that_was_not_made_is_no_problem(self, name: str, half_made: bool) -> None:
        Ledger(owner=DEAD).add(Kind.NAMESPACE, name)
        if half_made:
            # `ip netns add` makes the file, then mounts the namespace on it.
            Path("/run/netns").mkdir(exist_ok=True)
            Path(f"/run/netns/{name}").write_text("")
        assert [returned.problem for returned in give_back()] == [None]
        assert not Path(f"/run/netns/{name}").exists()

    def test_a_sysctl_is_restored_in_its_own_namespace_and_goes_with_it(self, name: str) -> None:
        sysctl = "net.ipv4.ip_forward"
        outside = run_program(["sysctl", "-n", sysctl]).stdout
        run_program(["ip", "netns", "add", name])
        there = NetnsTransport(name, MachineSysctls(), own=False)

        def leave() -> None:
            undo = (("sysctl", "-qw", f"{sysctl}=0"),)
            Ledger(owner=DEAD).add(Kind.SETTING, sysctl, there.place(), before=lambda: "0", undo=lambda _: undo)
            there.run(["sysctl", "-qw", f"{sysctl}=1"])

        leave()
        assert [returned.problem for returned in give_back()] == [None]
        assert there.run(["sysctl", "-n", sysctl]).stdout == "0\n"
        leave()
        run_program(["ip", "netns", "del", name])
        assert [returned.problem for returned in give_back()] == [None]
        assert run_program(["sysctl", "-n", sysctl]).stdout == outside


def test_what_is_left_concerns_the_plans_machines_by_their_whole_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dut = DutLocation(left="a", right="b", ssh=SshTarget(host="gw", user="root", config=Path("ours")))
    plan: Any = SimpleNamespace(testbed=SimpleNamespace(dut_locations=[dut], remote_hosts={}, further_testers=()))

    def concerned(**target: object) -> bool:
        return _is_of(plan, entry_at(Place(boot_id="x", ssh=json.dumps({"host": "gw", "user": "root", **target}))))

    def entry_at(place: Place) -> Entry:
        return Entry(kind=Kind.SETTING, what="a sysctl", place=place, owner="1-1", boot_id="x")

    assert concerned(config=str(tmp_path / "ours"))
    assert not concerned(config="/another/config")
    assert not concerned(config=str(tmp_path / "ours"), port=2222)
    assert _is_of(plan, entry_at(Place(boot_id="x")))
