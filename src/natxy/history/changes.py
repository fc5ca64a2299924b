# SPDX-License-Identifier: Apache-2.0
"""Finds what changed between two runs of an experiment: versions, kernels, machine, settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from natxy.history.past import PastExperiment, PastRun
from natxy.results.analysis.compare import differing

_ABSENT = "–"


@dataclass(frozen=True)
class Change:
    """Holds one thing that changed, with its value before and after."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} → {self.after}"


def changes(before: tuple[PastRun, PastExperiment], after: tuple[PastRun, PastExperiment]) -> tuple[Change, ...]:
    """Returns the changes from one run of an experiment to a later one, the most telling first."""
    (old_run, old), (new_run, new) = before, after
    settings = [*_settings(old, new, same_natxy=old_run.natxy_version == new_run.natxy_version)]
    # Gateways also report what the plan sets, in another notation.
    planned = {change.what.replace("gateway.", "gateway's ", 1) for change in settings}
    return (
        *_natxy(old_run, new_run),
        *(change for change in _gateway(old.gateway, new.gateway) if change.what not in planned),
        *_machine(old_run, new_run, old.gateway, new.gateway),
        *settings,
    )


def _natxy(old: PastRun, new: PastRun) -> Iterator[Change]:
    if old.natxy_version != new.natxy_version:
        yield Change("natxy", old.natxy_version, new.natxy_version)


@lru_cache(maxsize=1024)
def _gateway(old: str, new: str) -> tuple[Change, ...]:
    """Returns changes of what a gateway reported, none if it reported nothing in one of the runs."""
    before, after = json.loads(old), json.loads(new)
    if old == new or not before or not after:
        return ()
    kernels = before.pop("kernel", ""), after.pop("kernel", "")
    found = [Change("gateway's kernel", *kernels)] if kernels[0] != kernels[1] else []
    # The version often contains the kernel's, which is a change of its own.
    if found and all(kernels) and before["version"].replace(*kernels) == after["version"]:
        del before["version"], after["version"]
    versions = {"version": "gateway"}
    return (
        *(
            Change(versions.get(field, f"gateway's {field}"), *values)
            for field, values in _differing(before, after).items()
        ),
        *found,
    )


def _machine(old: PastRun, new: PastRun, old_gateway: str, new_gateway: str) -> Iterator[Change]:
    for fact, values in _differing(old.machine, new.machine).items():
        # A lab's gateway runs on the tester's kernel.
        if fact == "kernel" and _kernel(old_gateway, values[0]) and _kernel(new_gateway, values[1]):
            continue
        yield Change(f"tester's {fact}", *values)


def _kernel(gateway: str, kernel: str) -> bool:
    return kernel in json.loads(gateway).get("kernel", "")


def _settings(old: PastExperiment, new: PastExperiment, *, same_natxy: bool) -> Iterator[Change]:
    for field, (before, after) in _differing_settings(old.settings, new.settings):
        # Another version of natxy has other fields, with the values that the older one always used.
        if same_natxy or _ABSENT not in (before, after):
            yield Change(field, before, after)


@lru_cache(maxsize=1024)
def _differing_settings(old: str, new: str) -> tuple[tuple[str, tuple[str, str]], ...]:
    return () if old == new else tuple(_differing(json.loads(old), json.loads(new)).items())


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    found = differing([before, after])
    return {field: (_shown(values[0]), _shown(values[1])) for field, values in found.items()}


def _shown(value: str | None) -> str:
    return _ABSENT if value is None else value
