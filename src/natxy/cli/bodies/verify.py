# SPDX-License-Identifier: Apache-2.0
"""Tells what was found in a bundle."""

from __future__ import annotations

from collections.abc import Mapping

from natxy.bundle.contents import computing_versions
from natxy.bundle.verification import Verified
from natxy.report.words.states import run_state
from natxy.untrusted.texts import plain


def lines(found: Verified) -> list[str]:
    run = found.run
    again = (
        "computed again from its database: the same"
        if found.computed_again
        else f"not computed again: made with {_listed(found.computed_with)}; here is {_listed(computing_versions())}"
    )
    return [
        f"{plain(run.name)}: {run_state(run)}, begun {plain(run.started_at)}, natxy {plain(run.natxy_version)}, "
        f"seed {run.seed}",
        f"{found.file_count} files: none is missing, and the hashes among them fit",
        f"Report, tables, plan and conditions: {again}",
        _signature(found),
    ]


def _signature(found: Verified) -> str:
    if found.signer:
        return f"Signed by {plain(found.signer)}, with the {found.signed_with}"
    if found.signed_with:
        return f"Signed with the {found.signed_with}; --allowed-signers FILE tells whose it is"
    return "Not signed: anybody may have made it"


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{plain(name)} {plain(version)}" for name, version in versions.items())
