# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.procedures import DECLARATIONS
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.written import ExperimentPlan
from natxy.procedures.registry import procedures


def test_every_procedure_that_a_plan_can_name_can_be_measured() -> None:
    assert {name: procedure.declaration for name, procedure in procedures().items()} == DECLARATIONS


def test_every_procedure_has_a_place_of_its_own_in_lists() -> None:
    positions = [declaration.list_position for declaration in DECLARATIONS.values()]
    assert len(positions) == len({*positions})
    # There is room for another one between any two.
    assert [position % 10 for position in positions] == [0] * len(positions)


@pytest.mark.parametrize("declaration", DECLARATIONS.values(), ids=DECLARATIONS.keys())
def test_declarations_are_complete_and_consistent(declaration: type[ProcedureDeclaration]) -> None:
    names = [figure.name for figure in declaration.figures]
    assert names
    assert len(names) == len(set(names))
    assert declaration.summary
    assert declaration.takes <= ExperimentPlan.model_fields.keys()
    # A plan's author would not know which of the two to write.
    assert not (declaration.model_fields.keys() - {"name"}) & ExperimentPlan.model_fields.keys()
