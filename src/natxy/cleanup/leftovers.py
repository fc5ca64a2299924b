# SPDX-License-Identifier: Apache-2.0
"""Lists what processes that no longer run have left changed, and gives it back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from natxy.cleanup.gateways import remove_recorded
from natxy.cleanup.namespaces import links_in, links_of_any, remove_namespace
from natxy.cleanup.places import Places
from natxy.dut.transport.undone import undo
from natxy.errors import DutError, NatxyError
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.machines import SshTarget
from natxy.system.autogroup import find_autogroup
from natxy.system.ledger import Entry, Kind, Ledger
from natxy.system.process_owner import boot_id
from natxy.system.programs import end_programs_of

_NAMES: Final = {
    Kind.FOLDER: "the folder {what}",
    Kind.GATEWAY: "{what}",
    Kind.LAB: "the lab of {what}",
    Kind.NAMESPACE: "the network namespace {what}",
    Kind.PRIORITY: "the nice value {original} of the session {what}",
    Kind.PROGRAMS: "{what}",
    Kind.SETTING: "{what}, which was {original}",
}


@dataclass(frozen=True)
class Returned:
    """Says of an entry that it was given back, or with a `problem`, why not."""

    entry: Entry
    problem: str | None = None


def described(entry: Entry) -> str:
    """Returns what an entry is of, as text for people."""
    text = _NAMES[entry.kind].format(what=entry.what, original=entry.original)
    return f"{text}, on {SshTarget.model_validate_json(entry.place.ssh)}" if entry.place.ssh else text


def give_back(concerned: Callable[[Entry], bool] = lambda _: True, ledger: Ledger | None = None) -> Iterator[Returned]:
    """Gives back those changes that dead processes left and that are `concerned`, the latest first.

    Yields each entry with its outcome. Raises DutError when the ledger cannot be read.
    """
    cleaner = _Cleaner(ledger or Ledger())
    left = [entry for entry in cleaner.ledger.left() if concerned(entry)]
    # Programs first: what they still do would come after its undoing.
    left.sort(key=lambda entry: entry.kind == Kind.PROGRAMS)
    with cleaner.places:
        for entry in reversed(left):
            try:
                cleaner.undo(entry)
            except (NatxyError, OSError) as error:
                yield Returned(entry, str(error))
            else:
                yield Returned(entry)


def problems_of_leftovers(plan: ResolvedPlan) -> Iterator[str]:
    """Gives back what killed runs left on the machines of a plan; yields a sentence for what cannot be given back."""
    for returned in give_back(partial(_is_of, plan)):
        if returned.problem:
            yield (
                f"a killed run left {described(returned.entry)}, which could not be undone: {returned.problem}. "
                "`natxy cleanup` tries again"
            )


def _is_of(plan: ResolvedPlan, entry: Entry) -> bool:
    """Returns True for changes of this machine and of those that the plan measures by ssh."""
    if entry.place.ssh is None:
        return True
    targets = [host.ssh for host in plan.testbed.remote_hosts.values()]
    targets += [tester.location.ssh for tester in plan.testbed.further_testers]
    targets += [location.ssh for location in plan.testbed.dut_locations if location.ssh]
    return SshTarget.model_validate_json(entry.place.ssh) in [target.from_anywhere() for target in targets]


class _Cleaner:
    """Undoes changes and removes their entries. Every method raises DutError or OSError when that fails."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.places = Places()

    def undo(self, entry: Entry) -> None:
        if not self._is_undone_by_boot(entry):
            match entry.kind:
                case Kind.FOLDER:
                    _remove_folder(Path(entry.what))
                case Kind.GATEWAY:
                    self._remove_gateway(entry)
                case Kind.LAB:
                    # What it is made of has entries of its own.
                    pass
                case Kind.NAMESPACE:
                    _remove_namespace(entry.what)
                case Kind.PROGRAMS:
                    alive = {other.process().pid for other in self.ledger.entries() if other.is_owned()}
                    end_programs_of(entry.process(), alive)
                case Kind.PRIORITY:
                    self.ledger.release(entry, _restore_priority)
                case Kind.SETTING:
                    self._restore(entry)
        self.ledger.remove(entry)

    def _is_undone_by_boot(self, entry: Entry) -> bool:
        if entry.place.ssh is None:
            # Not every folder for temporary files is empty after a boot.
            return entry.place.boot_id != boot_id() and entry.kind != Kind.FOLDER
        # A driver sets its gateway up again when it has booted the DUT.
        return entry.kind == Kind.SETTING and self.places.was_booted_since(entry.place)

    def _restore(self, entry: Entry) -> None:
        if transport := self.places.reach(entry.place):
            self.ledger.release(entry, lambda stored: undo(stored, transport))

    def _remove_gateway(self, entry: Entry) -> None:
        for other in self.ledger.entries():
            # A machine behind ssh may have been booted since.
            there = other.place.is_same(entry.place) or (entry.place.ssh and other.place.ssh == entry.place.ssh)
            if there and other.kind == Kind.GATEWAY and other.is_owned():
                raise DutError(f"process {other.process().pid} measures {other.what} there: wait until it has ended")
        if transport := self.places.reach(entry.place):
            remove_recorded(entry, transport)


def _remove_folder(folder: Path) -> None:
    if not folder.name.startswith("natxy-"):
        raise DutError(f"{folder} is no folder that natxy makes: look at it, and remove it by hand")
    if folder.exists():
        shutil.rmtree(folder)


def _remove_namespace(name: str) -> None:
    """Removes a namespace; one of a host only when no interface is left in it, which may be the machine's."""
    if name.endswith("-host") and (links := [link for link in links_in(name) if link not in links_of_any()]):
        out = f"ip -n {name} link set {links[0]} netns 1"
        raise DutError(f"the interface {links[0]} is still in it; move it out by `{out}`")
    remove_namespace(name)


def _restore_priority(entry: Entry) -> None:
    if group := find_autogroup(entry.what):
        group.set(int(entry.original or 0))
