# SPDX-License-Identifier: Apache-2.0
"""Gives this machine back after a benchmark, whatever ends it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from natxy.cleanup.leftovers import described, give_back
from natxy.system.interrupts import INTERRUPTED, one_interrupt
from natxy.system.ledger import Ledger
from natxy.system.process_owner import Owner
from natxy.system.programs import end_programs_of, owned_programs


@contextmanager
def machine_given_back() -> Iterator[None]:
    """Ends the programs that the context started, also on SIGINT, SIGTERM or SIGHUP, with which the process then ends.

    First gives back what a killed benchmark or run left on this machine.
    """
    for returned in give_back(lambda entry: entry.place.ssh is None):
        if returned.problem:
            print(f"{described(returned.entry)} could not be undone: {returned.problem}", file=sys.stderr)
    try:
        with one_interrupt(), owned_programs(Ledger()):
            try:
                yield
            finally:
                end_programs_of(Owner.current(), spared=set())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
