# SPDX-License-Identifier: Apache-2.0
"""Shows findings about machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from natxy.doctor.finding import Finding
from natxy.doctor.machine import THIS_MACHINE
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.run.preflight import missing_programs

_MARKS: Final = {True: Text("ok", "green"), False: Text("missing", "bold red"), None: Text("note", "yellow")}
# Longer names are broken: the finding itself needs the space.
_NAME_WIDTH: Final = 27


def table(findings: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=max(len(mark) for mark in _MARKS.values()))
    table.add_column(overflow="fold", width=min(_NAME_WIDTH, max(len(finding.name) for finding in findings)))
    table.add_column(overflow="fold")
    for finding in findings:
        value = Text(finding.value)
        if finding.remedy:
            value.append(f"\n→ {finding.remedy}", "dim")
        table.add_row(_MARKS[finding.ok], Text(finding.name), value)
    return table


def summary(found: Mapping[str, Sequence[Finding]], plan: ResolvedPlan | None) -> str:
    who = "This machine" if [*found] == [THIS_MACHINE] else "These machines"
    every = [finding for findings in found.values() for finding in findings]
    count = Counter(finding.ok for finding in every)
    counts = f"{count[True]} ok, {count[None]} note{'s' if count[None] != 1 else ''}, {count[False]} missing"
    if count[False]:
        lacking = [
            finding.name if machine == THIS_MACHINE else f"{finding.name} ({machine.partition(',')[0]})"
            for machine, findings in found.items()
            for finding in findings
            if finding.ok is False
        ]
        return f"{who} can measure: nothing yet; missing: {', '.join(lacking)} ({counts})."
    return f"{who} can measure: {_measurable(every, plan)} ({counts})."


def _measurable(every: Sequence[Finding], plan: ResolvedPlan | None) -> str:
    if plan is None:
        names = {finding.name.removeprefix("gateway "): finding.ok for finding in every if "gateway " in finding.name}
        return _but([*names], [name for name, ok in names.items() if not ok], "gateways in a lab")
    skipped = {name for names in missing_programs(plan).values() for name in names}
    return _but([each.name for each in plan.experiments], sorted(skipped), f"experiments of {plan.name}")


def _but(every: Sequence[str], skipped: Sequence[str], what: str) -> str:
    if not skipped:
        return f"all {len(every)} {what}"
    return f"{len(every) - len(skipped)} of {len(every)} {what}, all but {', '.join(skipped)}"
