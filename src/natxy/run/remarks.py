# SPDX-License-Identifier: Apache-2.0
"""What the repetitions of an experiment have to say of themselves."""

from __future__ import annotations

from collections.abc import Mapping


def sum_up(remarks: Mapping[int, str]) -> str:
    """`remarks` by the repetition's number, empty where there is none; each is said once."""
    said: dict[str, list[str]] = {}
    for number, remark in remarks.items():
        said.setdefault(remark, []).append(str(number))
    if len(said) == 1:
        return next(iter(said))
    return "; ".join(
        f"repetition{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {remark}"
        for remark, numbers in said.items()
        if remark
    )
