# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.errors import DutError
from natxy.system import ledger as module
from natxy.system.ledger import FILE, Entry, Kind, Ledger, Place, here
from natxy.system.process_owner import Owner

ME = Owner.current()
DEAD = Owner(ME.pid, ME.start_ticks + 1)
LIVE = Owner(ME.pid + 1, 1)
WHAT = "sysctl net.core.wmem_default"


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes LIVE a process that runs."""
    monkeypatch.setattr(Owner, "is_alive", lambda self: self in (ME, LIVE))


def changed(folder: Path, owner: Owner, *, value: str = "500", original: str = "100") -> Entry:
    return Ledger(folder, owner).add(
        Kind.SETTING, WHAT, value=value, before=lambda: original, undo=lambda text: (("set", text),)
    )


def test_an_entry_is_stored_before_its_change_and_goes_after_its_undoing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    entry = changed(tmp_path, ME)
    assert ledger.entries() == [entry]
    assert (entry.original, entry.value, entry.undo) == ("100", "500", (("set", "100"),))
    undone: list[bool] = []
    ledger.release(entry, lambda _: undone.append(ledger.entries() == [entry]))
    assert undone == [True]
    assert not (tmp_path / FILE).exists()


def test_an_interrupt_after_an_entry_was_stored_removes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = changed(tmp_path, ME, value="400")
    store, calls = Ledger._store, 0

    def interrupted(self: Ledger, entries: list[Entry]) -> None:
        nonlocal calls
        store(self, entries)
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "_store", interrupted)
    with pytest.raises(KeyboardInterrupt):
        changed(tmp_path, ME)
    assert Ledger(tmp_path).entries() == [earlier]


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    changed(folder, ME)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / FILE)] == [0o700, 0o600]


def test_what_could_not_be_undone_stays(tmp_path: Path) -> None:
    entry = changed(tmp_path, ME)

    def refuse(_: Entry) -> None:
        raise DutError("refused")

    with pytest.raises(DutError, match="refused"):
        Ledger(tmp_path).release(entry, refuse)
    assert Ledger(tmp_path).entries() == [entry]


def test_left_are_the_entries_of_dead_processes_and_other_boots(
    tmp_path: Path, alive: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner in (ME, DEAD, LIVE):
        changed(tmp_path, owner)
    assert [entry.process() for entry in Ledger(tmp_path).left()] == [DEAD]
    monkeypatch.setattr(module, "boot_id", lambda: "another")
    assert [entry.process() for entry in Ledger(tmp_path).left()] == [ME, DEAD, LIVE]


@pytest.mark.parametrize("earlier", [ME, DEAD, LIVE])
def test_the_value_from_before_the_first_change_is_the_original(tmp_path: Path, alive: None, earlier: Owner) -> None:
    changed(tmp_path, earlier)
    again = changed(tmp_path, ME, original="500")
    assert (again.original, again.undo) == ("100", (("set", "100"),))
    assert [entry.process() for entry in Ledger(tmp_path).entries()] == [*({earlier} - {ME}), ME]


def test_a_boot_made_an_earlier_original_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(tmp_path, DEAD)
    monkeypatch.setattr(module, "boot_id", lambda: "another")
    assert changed(tmp_path, ME, original="300").original == "300"


def test_the_last_of_two_processes_undoes_a_change(tmp_path: Path) -> None:
    mine, others = changed(tmp_path, ME), changed(tmp_path, LIVE)
    undone: list[str] = []
    Ledger(tmp_path).release(mine, lambda _: undone.append("mine"))
    assert undone == []
    Ledger(tmp_path).release(others, lambda _: undone.append("others"))
    assert undone == ["others"]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_last_one_undoes_what_the_others_did_the_latest_change_first(tmp_path: Path, first: int) -> None:
    entries = [
        Ledger(tmp_path, owner).add(Kind.SETTING, WHAT, before=lambda: "100", undo=lambda _, undo=undo: undo)  # type: ignore[misc]
        for owner, undo in ((ME, (("a",), ("shared",))), (LIVE, (("b",), ("shared",))), (DEAD, (("c",),)))
    ]
    undone: list[Entry] = []
    for entry in entries[first:] + entries[:first]:
        Ledger(tmp_path).release(entry, undone.append)
    (last,) = undone
    assert [command for (command,) in last.undo] == ["c", "b", "a", "shared"]


def test_two_runs_cannot_need_different_values(tmp_path: Path, alive: None) -> None:
    changed(tmp_path, LIVE)
    with pytest.raises(DutError, match=f"{WHAT} should become 600, but process {LIVE.pid} holds it at 500: wait"):
        changed(tmp_path, ME, value="600")
    assert changed(tmp_path, ME).value == "500"
    changed(tmp_path / "other", DEAD)
    assert changed(tmp_path / "other", ME, value="600").value == "600"


def test_changes_at_different_places_are_different(tmp_path: Path) -> None:
    for namespace in (1, 2):
        Ledger(tmp_path).add(Kind.SETTING, WHAT, here(namespace=namespace), before=lambda: "100")
    assert len(Ledger(tmp_path).entries()) == 2


@pytest.mark.parametrize(
    ("boot_id", "namespace", "ssh", "same"),
    [
        ("boot", 1, "b", True),
        ("boot", 1, None, True),
        ("boot", 2, "a", False),
        ("another", 1, "a", False),
        ("boot", None, "a", False),
    ],
)
def test_a_place_is_one_whatever_reaches_it(boot_id: str, namespace: int | None, ssh: str | None, same: bool) -> None:
    place, other = Place(boot_id="boot", namespace=1, ssh="a"), Place(boot_id=boot_id, namespace=namespace, ssh=ssh)
    assert place.is_same(other) == other.is_same(place) == same


def test_machines_without_namespaces_differ_by_their_target() -> None:
    one, other = (Place(boot_id="boot", ssh=ssh) for ssh in ("a", "b"))
    assert one.is_same(one)
    assert not one.is_same(other)


def test_two_spellings_of_a_machine_have_one_original(tmp_path: Path, alive: None) -> None:
    places = [Place(boot_id="boot", namespace=1, ssh=f'{{"host": "{host}"}}') for host in ("gw", "gw.example")]
    Ledger(tmp_path, LIVE).add(Kind.SETTING, WHAT, places[0], value="500", before=lambda: "100")
    assert Ledger(tmp_path).add(Kind.SETTING, WHAT, places[1], value="500", before=lambda: "500").original == "100"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"kind": "folder"}]', '[{"kind": "soup"}]', "\0", "[" * 100_000])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    for ask in (Ledger(tmp_path).entries, Ledger(tmp_path).left, lambda: changed(tmp_path, ME)):
        with pytest.raises(DutError, match=rf"{tmp_path}/{FILE}, the list .* cannot be read: it is damaged"):
            ask()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DutError, match=r"file/ledger\.json cannot be written: (Not a directory|File exists)"):
        changed(tmp_path / "file", ME)
    with pytest.raises(DutError, match="cannot be written"):
        Ledger(tmp_path / "file").check_writable()


def test_to_check_whether_it_can_be_written_changes_nothing(tmp_path: Path) -> None:
    Ledger(tmp_path).check_writable()
    assert not (tmp_path / FILE).exists()
    entry = changed(tmp_path, ME)
    Ledger(tmp_path).check_writable()
    assert Ledger(tmp_path).entries() == [entry]


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "ledger.new").symlink_to(precious)
    with pytest.raises(DutError, match="cannot be written"):
        changed(tmp_path, ME)
    assert precious.read_text() == "kept"


@given(st.lists(st.tuples(st.sampled_from([ME, LIVE, DEAD]), st.booleans()), max_size=12))
def test_whatever_the_order_the_last_release_undoes(steps: list[tuple[Owner, bool]]) -> None:
    """Compares the value after each step with the model: it is changed while anybody has an entry."""
    with tempfile.TemporaryDirectory() as folder:
        path, setting = Path(folder), Path(folder) / "setting"
        setting.write_text("100")
        held: set[Owner] = set()
        for owner, takes in steps:
            if takes:
                Ledger(path, owner).add(Kind.SETTING, WHAT, value="500", before=setting.read_text)
                setting.write_text("500")
                held.add(owner)
            else:
                for entry in (entry for entry in Ledger(path).entries() if entry.process() == owner):
                    Ledger(path).release(entry, lambda stored: setting.write_text(stored.original or ""))
                held.discard(owner)
            assert setting.read_text() == ("500" if held else "100")
            assert {entry.process() for entry in Ledger(path).entries()} == held


def test_the_file_is_json_for_people(tmp_path: Path) -> None:
    changed(tmp_path, ME)
    (written,) = json.loads((tmp_path / FILE).read_text())
    assert written["what"] == WHAT
    assert written["owner"] == str(ME)
