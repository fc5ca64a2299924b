# SPDX-License-Identifier: Apache-2.0
"""Records everything that natxy changes outside a run's folder, so that it can be given back after a kill as well.

An entry is written before its change is made and removed after the change was undone. Entries of processes that no
longer run, or of an earlier boot, are what dead runs left; `natxy.cleanup` gives it back.

Some changes need no entry, because the kernel undoes them when the process ends: its own nice value and cores, sockets,
programs that end with their pipe, and everything within a network namespace that has an entry.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from natxy.errors import DutError
from natxy.system.interrupts import serialized
from natxy.system.network_namespace import own_cookie
from natxy.system.process_owner import Owner, boot_id
from natxy.untrusted.files import make_own_folder, opened_own

FILE: Final = "ledger.json"


class Kind(StrEnum):
    """The kinds of changes, by how they are undone."""

    FOLDER = "folder"
    """A temporary folder, which is deleted with its files."""
    GATEWAY = "gateway"
    """A gateway and its links on a DUT that natxy did not make; its driver removes them."""
    LAB = "lab"
    """A lab that stands until it is asked to end; entries of its own are of what it is made of."""
    NAMESPACE = "namespace"
    """A network namespace, which is deleted with everything in it."""
    PRIORITY = "priority"
    """The nice value of a session (sched(7), autogroup)."""
    PROGRAMS = "programs"
    """The programs that natxy started, which are killed."""
    SETTING = "setting"
    """A setting with a value from before, such as a sysctl; commands restore it."""


class Place(BaseModel):
    """Describes where a change is: on the machine that booted as `boot_id`, there in a network namespace if it depends
    on one (`namespace`, its cookie; behind ssh its inode). `ssh` reaches a machine other than natxy's own; it is the
    target as JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    boot_id: str
    namespace: int | None = None
    ssh: str | None = None

    def is_same(self, other: Place) -> bool:
        """Returns True for one place, also by another target of ssh if the namespace there is known."""
        return (self.boot_id, self.namespace) == (other.boot_id, other.namespace) and (
            self.namespace is not None or self.ssh == other.ssh
        )


def here(*, namespace: int | None = None) -> Place:
    """Returns this machine, or a network namespace of it."""
    return Place(boot_id=boot_id(), namespace=namespace)


def own_network() -> Place:
    """Returns this process's network namespace on this machine."""
    return here(namespace=own_cookie())


class Entry(BaseModel):
    """Describes a change that `owner` made in its boot `boot_id`.

    `holder` tells those apart who hold one setting together in a process: each of its labs.
    `what`: a noun phrase for people, which identifies the change at its place. `original` and `value`: before and after
    the change. `undo`: the commands that undo a setting. `details`: what the driver of a gateway needs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    what: str
    place: Place
    owner: Annotated[str, Field(pattern=r"^\d+-\d+$")]
    boot_id: str
    holder: int = 0
    original: str | None = None
    value: str | None = None
    undo: tuple[tuple[str, ...], ...] = ()
    details: dict[str, Any] | None = None

    def process(self) -> Owner:
        return Owner.parse(self.owner)

    def is_owned(self) -> bool:
        """Returns True when the process that made the change still runs."""
        return self.boot_id == boot_id() and self.process().is_alive()

    def is_of_same_thing(self, other: Entry) -> bool:
        return (self.kind, self.what) == (other.kind, other.what) and self.place.is_same(other.place)

    def is_same(self, other: Entry) -> bool:
        """Returns True for entries of the same thing by the same holder, which has only one at a time."""
        mine, others = ((each.owner, each.boot_id, each.holder) for each in (self, other))
        return self.is_of_same_thing(other) and mine == others


_ENTRIES: Final = TypeAdapter(list[Entry])


def default_folder() -> Path:
    """Returns the folder of this user's ledger. It outlives a boot, because folders and other machines' settings do."""
    if os.geteuid() == 0:
        return Path("/var/lib/natxy")
    given = os.environ.get("XDG_STATE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".local" / "state") / "natxy"


class Ledger:
    """Reads and writes the ledger in `folder`, for `owner`: this process by default.

    Several processes share it. Its methods raise DutError when its file cannot be read or written.
    """

    def __init__(self, folder: Path | None = None, owner: Owner | None = None) -> None:
        self._folder = folder or default_folder()
        self._owner = owner
        self._file = self._folder / FILE

    def entries(self) -> list[Entry]:
        """Returns all entries, the oldest first."""
        try:
            with opened_own(self._file) as file:
                return _ENTRIES.validate_json(file.read())
        except FileNotFoundError:
            return []
        except (OSError, ValidationError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged, or of another version of natxy"
            raise DutError(
                f"{self._file}, the list of what natxy has to undo, cannot be read: {reason}. Undo the "
                "listed changes by hand, then delete the file"
            ) from error

    def left(self) -> list[Entry]:
        """Returns the entries of processes that no longer run, the oldest first."""
        return [entry for entry in self.entries() if not entry.is_owned()]

    def of(self, kind: Kind, owner: Owner) -> list[Entry]:
        """Returns the entries of one kind that a process of this boot made."""
        wanted = (kind, str(owner), boot_id())
        return [entry for entry in self.entries() if (entry.kind, entry.owner, entry.boot_id) == wanted]

    def add(
        self,
        kind: Kind,
        what: str,
        place: Place | None = None,
        *,
        holder: int = 0,
        value: str | None = None,
        before: Callable[[], str] | None = None,
        undo: Callable[[str], tuple[tuple[str, ...], ...]] | None = None,
        details: dict[str, Any] | None = None,
    ) -> Entry:
        """Writes the entry of a change that is to be made next, and returns it.

        `before` returns the original value, and `undo` the commands that restore it. The original of something that is
        changed already is the one in its earlier entry. Raises DutError when another live process needs another value.
        """
        with self._locked() as entries:
            entry = Entry(
                kind=kind,
                what=what,
                place=place or here(),
                owner=str(self._me),
                boot_id=boot_id(),
                holder=holder,
                value=value,
                details=details,
            )
            same = [other for other in entries if other.is_of_same_thing(entry)]
            for other in same:
                if other.value != value and not other.is_same(entry) and other.is_owned():
                    raise DutError(
                        f"{what} should become {value}, but process {other.process().pid} holds it at {other.value}: "
                        "wait until that natxy run has ended"
                    )
            original = same[0].original if same else before() if before else None
            commands = undo(original) if undo and original is not None else ()
            entry = entry.model_copy(update={"original": original, "undo": commands})
            try:
                self._store([*_without(entry, entries), entry])
            except KeyboardInterrupt:
                # Its caller will not make the change.
                self._store(entries)
                raise
        return entry

    def check_writable(self) -> None:
        """Raises DutError when an entry could not be written."""
        with self._locked() as entries:
            self._store(entries)

    def remove(self, entry: Entry) -> None:
        """Removes the entry of a change that was undone or not made. Does nothing when it is not there."""
        with self._locked() as entries:
            self._store(_without(entry, entries))

    def release(self, entry: Entry, undo: Callable[[Entry], object]) -> None:
        """Undoes a change and removes its entry, or only removes the entry while another one is of the same thing.

        The other one takes over the commands. `undo` gets the entry with those that it took over itself; when it
        raises, the entry stays. Does nothing when the entry is not there. No other process can change the ledger
        meanwhile.
        """
        with self._locked() as entries:
            same = [index for index, other in enumerate(entries) if other.is_of_same_thing(entry)]
            own = next((index for index in same if entries[index].is_same(entry)), None)
            if own is None:
                return
            older = [index for index in same if index < own]
            newer = [index for index in same if index > own]
            if older or newer:
                # The nearest, so that the commands stay in order.
                heir = older[-1] if older else newer[0]
                commands = _latest_first(entries[min(own, heir)], entries[max(own, heir)])
                entries[heir] = entries[heir].model_copy(update={"undo": commands})
            else:
                undo(entries[own])
            del entries[own]
            self._store(entries)

    @property
    def _me(self) -> Owner:
        return self._owner or Owner.current()

    @contextmanager
    def _locked(self) -> Iterator[list[Entry]]:
        try:
            make_own_folder(self._folder)
            # Lock the folder, so that no lock file is left.
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield self.entries()
            os.fsync(folder)
        finally:
            os.close(folder)

    def _store(self, entries: list[Entry]) -> None:
        draft = self._file.with_suffix(".new")
        try:
            if not entries:
                self._file.unlink(missing_ok=True)
                return
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as out:
                out.write(serialized(entries, _ENTRIES, indent=1, exclude_defaults=True).encode())
                out.flush()
                # The entries of other machines' changes have to outlive a power failure of this one, and so has the
                # name of this file, which `_locked` sees to.
                os.fsync(out.fileno())
            draft.replace(self._file)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> DutError:
        return DutError(
            f"{self._file} cannot be written: {error.strerror}. natxy records there what it has to undo; it needs a "
            "folder that it can write to"
        )


def _latest_first(earlier: Entry, later: Entry) -> tuple[tuple[str, ...], ...]:
    """Returns the commands that undo both changes."""
    return (*(command for command in later.undo if command not in earlier.undo), *earlier.undo)


def _without(entry: Entry, entries: list[Entry]) -> list[Entry]:
    return [other for other in entries if not other.is_same(entry)]
