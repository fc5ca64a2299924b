# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.model.units import Unit
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.procedures.figures import Figure, applies, per_direction

# The figures of both directions by their common name, so that a new figure has to be added on one of the two sides.
MORE_IS_BETTER = {
    "throughput": {"rate"},
    "frame-loss-rate": {"lossless_rate"},
    "overload": {"single", "many"},
    "back-to-back": {"burst", "implied_buffer", "corrected_buffer"},
    "burst": {"rate"},
    "connection-rate": {"rate"},
    "validated-connection-rate": {"rate"},
    "tear-down-rate": {"rate"},
    "receive-rate": {"receive_rate"},
    "ndr-pdr": {"rate", "partial_drop_rate"},
    "table-capacity": {"capacity", "c0", "r0", "cs", "rs", "ct"},
    "binding-check": {"spoofed", "rate_alone", "rate_beside"},
    "binding-churn": {"bindings"},
    "port-set": {"connections", "several", "ports", "ranges"},
    "tcp-connection-rate": {"rate"},
    "churn": {"rate"},
    "ageing": {"lifetime", "youngest_gone", "oldest_kept"},
    "fill": {"refused_from"},
    "tcp-goodput": {"goodput", "line_share"},
    "dns64-rate": {"rate"},
}
LESS_IS_BETTER = {
    "frame-cost": {"instructions", "single", "connection", "cycles", "background"},
    "frame-loss-rate": {"loss_at_maximum"},
    "latency": {"tl", "wcl", "lost_tagged"},
    "single-tag-latency": {"latency", "lost_tagged"},
    "pdv": {"pdv", "min_delay", "lost"},
    "ipdv": {"max", "min", "median", "lost"},
    "overload": {"degradation"},
    "burst": {"gap"},
    "system-recovery": {"recovery", "overload_loss"},
    "reset": {"loss", "timestamps"},
    "tear-down-rate": {"full", "empty", "net"},
    "binding-check": {"passed", "lost_alone", "lost_beside", "cost"},
    "binding-churn": {
        "unchanged_lost",
        "change",
        "old_passed",
        "old_time",
        "new_lost",
        "new_time",
        "new_whole",
    },
    "port-set": {"outside"},
    "churn": {"delay_new", "delay_old", "loss_new", "loss_old"},
    "fill": {"refused", "forgotten", "delay_10", "delay_50", "delay_90", "delay_99"},
    "tcp-goodput": {"retransmits"},
    "dns64-rate": {"delay_median", "delay_p99"},
}


def figures(*, more_is_better: bool) -> dict[str, set[str]]:
    found = {
        procedure: {
            figure.name.removesuffix("_forward").removesuffix("_reverse")
            for figure in declaration.figures
            if figure.is_better_when_higher == more_is_better and not figure.of_tester
        }
        for procedure, declaration in DECLARATIONS.items()
    }
    return {procedure: names for procedure, names in found.items() if names}


def test_each_figure_is_better_in_one_direction() -> None:
    assert figures(more_is_better=True) == MORE_IS_BETTER
    assert figures(more_is_better=False) == LESS_IS_BETTER


@pytest.mark.parametrize(
    ("name", "directions", "shown"),
    [
        ("tl", "forward", True),
        ("tl_forward", "forward", True),
        ("tl_forward", "reverse", False),
        ("tl_reverse", "reverse", True),
        ("tl_reverse", "forward", False),
        ("lost_tagged_reverse", "forward", False),
        ("tl_reverse", "bidirectional", True),
        ("tl_forward", None, True),
    ],
)
def test_a_direction_in_which_nothing_is_sent_has_no_figures(name: str, directions: str | None, shown: bool) -> None:
    assert applies(Figure(name, "Some delay", Unit.NS), directions) == shown


def test_a_figure_of_each_direction_is_called_after_it() -> None:
    both = per_direction("min", "Smallest", Unit.PERCENT, more_is_better=True, signed=True)
    assert [(each.name, each.title) for each in both] == [
        ("min_forward", "Smallest, forward"), ("min_reverse", "Smallest, reverse"),
    ]  # fmt: skip
    assert all(each.signed and each.is_better_when_higher for each in both)
    assert not any(each.signed or each.is_better_when_higher for each in per_direction("min", "Smallest", Unit.NS))
