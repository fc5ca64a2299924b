# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole machine that a run changes for a while, and gives back whatever happens.

Some sysctls (`nf_conntrack_max`, `net.core.wmem_default`) exist once for all network namespaces. The value from
before the change is written to a file first, together with the process that asked for it; so a later run can give
back what a killed one left changed, and two runs at once don't take each other's values for the original ones.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from natxy.errors import DutError
from natxy.system.process_owner import Owner

STATE_FILE = Path("/run/natxy-machine.json")


@dataclass
class _Held:
    """A changed sysctl: its value from before, and what each owner wants (owners as text)."""

    original: str
    wanted: dict[str, str] = field(default_factory=dict)


class MachineSysctls:
    """Sysctls held at a value by `owner` until released. Names are written with dots, values as text."""

    def __init__(
        self, owner: Owner | None = None, *, state_file: Path = STATE_FILE, root: Path = Path("/proc/sys")
    ) -> None:
        self._owner = str(owner or Owner.current())
        self._state_file = state_file
        self._root = root

    def read(self, name: str) -> str:
        """The value in force; DutError when the kernel has no such setting."""
        try:
            return " ".join(self._path(name).read_text().split())
        except OSError as error:
            raise DutError(f"sysctl {name} cannot be read ({error.strerror}); is its kernel module loaded?") from error

    def hold(self, name: str, value: str) -> None:
        """Sets `name` to `value`; DutError when another live run needs a different value or the kernel refuses."""
        with self._locked() as settings:
            held = settings.setdefault(name, _Held(original=self.read(name)))
            for owner, wanted in held.wanted.items():
                if owner != self._owner and wanted != value and Owner.parse(owner).is_alive():
                    raise DutError(
                        f"sysctl {name} should become {value}, but process {Owner.parse(owner).pid} holds it at "
                        f"{wanted}: wait until that natxy run has ended"
                    )
            held.wanted[self._owner] = value
            # Before the change, so that being killed in between does no harm.
            self._store(settings)
            try:
                self._write(name, value)
            except DutError:
                self._drop(settings, name, self._owner)
                raise

    def release(self, name: str) -> None:
        """Gives `name` its value from before, once no owner needs it any longer."""
        with self._locked() as settings:
            self._drop(settings, name, self._owner)

    def release_all(self) -> None:
        with self._locked() as settings:
            for name in list(settings):
                self._drop(settings, name, self._owner)

    def release_dead_owners(self) -> list[str]:
        """Gives back what killed processes left changed; returns the names of those sysctls.

        One that cannot be written from here (they belong to the initial network namespace) stays noted for a run
        that can.
        """
        given_back = set()
        with self._locked() as settings:
            for name, owner in _of_dead_owners(settings):
                if os.access(self._path(name), os.W_OK):
                    self._drop(settings, name, str(owner))
                    given_back.add(name)
        return sorted(given_back)

    def left_by_dead_owners(self) -> list[tuple[str, Owner]]:
        """Which sysctls killed processes left changed."""
        with self._locked() as settings:
            return _of_dead_owners(settings)

    def _path(self, name: str) -> Path:
        return self._root / name.replace(".", "/")

    def _write(self, name: str, value: str) -> None:
        try:
            self._path(name).write_text(value)
        except OSError as error:
            raise DutError(
                f"sysctl {name} cannot be set to {value} ({error.strerror}); this needs root in the machine's "
                "initial network namespace, and a value that the kernel accepts"
            ) from error

    def _drop(self, settings: dict[str, _Held], name: str, owner: str) -> None:
        held = settings.get(name)
        if held is None or held.wanted.pop(owner, None) is None:
            return
        if not held.wanted:
            self._write(name, held.original)
            del settings[name]
        self._store(settings)

    @contextmanager
    def _locked(self) -> Iterator[dict[str, _Held]]:
        # The lock is on the folder, so that no lock file stays behind.
        folder = os.open(self._state_file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield self._load()
        finally:
            os.close(folder)

    def _load(self) -> dict[str, _Held]:
        try:
            state = json.loads(self._state_file.read_text())
        except FileNotFoundError:
            return {}
        # A reboot has undone everything already.
        if state["boot_id"] != _boot_id():
            return {}
        return {name: _Held(**held) for name, held in state["sysctls"].items()}

    def _store(self, settings: dict[str, _Held]) -> None:
        if not settings:
            self._state_file.unlink(missing_ok=True)
            return
        state = {"boot_id": _boot_id(), "sysctls": {name: asdict(held) for name, held in settings.items()}}
        draft = self._state_file.with_suffix(".new")
        try:
            draft.write_text(json.dumps(state, indent=1))
            draft.replace(self._state_file)
        except OSError as error:
            raise DutError(
                f"{self._state_file} cannot be written ({error.strerror}); natxy notes there what to give back, so it "
                "changes no setting of this machine without it. Run as root"
            ) from error


def _of_dead_owners(settings: dict[str, _Held]) -> list[tuple[str, Owner]]:
    wanted = [(name, Owner.parse(text)) for name, held in settings.items() for text in held.wanted]
    return [(name, owner) for name, owner in wanted if not owner.is_alive()]


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
