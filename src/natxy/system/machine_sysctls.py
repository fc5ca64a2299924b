# SPDX-License-Identifier: Apache-2.0
"""Changes sysctls of the whole machine for a run, and restores them even when the run is killed.

Some sysctls (`nf_conntrack_max`, `net.core.wmem_default`) exist once for all network namespaces. A file keeps the
original value and the process that changed it, written before the change. So a later run can restore the values that
a killed run left, and two runs at the same time do not take each other's values for the original ones.
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
    """Describes a changed sysctl: its original value, and the value that each owner (as text) wants."""

    original: str
    wanted: dict[str, str] = field(default_factory=dict)


class MachineSysctls:
    """Holds sysctls at the values that `owner` wants until it releases them. Names have dots, values are text."""

    def __init__(
        self, owner: Owner | None = None, *, state_file: Path = STATE_FILE, root: Path = Path("/proc/sys")
    ) -> None:
        self._owner = str(owner or Owner.current())
        self._state_file = state_file
        self._root = root

    def read(self, name: str) -> str:
        """Returns the value in force. Raises DutError when the kernel has no such setting."""
        try:
            return " ".join(self._path(name).read_text().split())
        except OSError as error:
            raise DutError(f"sysctl {name} cannot be read ({error.strerror}); is its kernel module loaded?") from error

    def hold(self, name: str, value: str) -> None:
        """Sets `name` to `value`. Raises DutError when a live run needs another value, or the kernel refuses."""
        with self._locked() as settings:
            held = settings.setdefault(name, _Held(original=self.read(name)))
            for owner, wanted in held.wanted.items():
                if owner != self._owner and wanted != value and Owner.parse(owner).is_alive():
                    raise DutError(
                        f"sysctl {name} should become {value}, but process {Owner.parse(owner).pid} holds it at "
                        f"{wanted}: wait until that natxy run has ended"
                    )
            held.wanted[self._owner] = value
            # Store before the change: a run killed in between does no harm then.
            self._store(settings)
            try:
                self._write(name, value)
            except DutError:
                self._drop(settings, name, self._owner)
                raise

    def release(self, name: str) -> None:
        """Restores the original value of `name` when no other owner needs its own."""
        with self._locked() as settings:
            self._drop(settings, name, self._owner)

    def release_all(self) -> None:
        with self._locked() as settings:
            for name in list(settings):
                self._drop(settings, name, self._owner)

    def release_dead_owners(self) -> list[str]:
        """Restores the sysctls that killed processes left changed; returns their names.

        A sysctl that cannot be written from this network namespace stays in the file for a run in the initial one.
        """
        restored = set()
        with self._locked() as settings:
            for name, owner in _of_dead_owners(settings):
                if os.access(self._path(name), os.W_OK):
                    self._drop(settings, name, str(owner))
                    restored.add(name)
        return sorted(restored)

    def left_by_dead_owners(self) -> list[tuple[str, Owner]]:
        """Returns the sysctls that killed processes left changed, with these processes."""
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
        # Lock the folder, so that no lock file is left.
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
        # A reboot has restored everything.
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
                f"{self._state_file} cannot be written ({error.strerror}); natxy needs it to restore the settings of "
                "this machine. Run as root"
            ) from error


def _of_dead_owners(settings: dict[str, _Held]) -> list[tuple[str, Owner]]:
    wanted = [(name, Owner.parse(text)) for name, held in settings.items() for text in held.wanted]
    return [(name, owner) for name, owner in wanted if not owner.is_alive()]


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
