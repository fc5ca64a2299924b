# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import Any

import pytest

from natxy.engine.messages.results import Verdict
from natxy.errors import NatxyError, PlanError
from natxy.explain.entries import entries
from natxy.explain.finding import explaining
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.written import ExperimentPlan, Plan
from natxy.shipped import DOCS


def facts(*words: str) -> list[str]:
    return [fact for entry in explaining(words) for fact in entry.facts]


def subclasses(cls: type[Any]) -> set[type[Any]]:
    return {cls}.union(*(subclasses(each) for each in cls.__subclasses__()))


@pytest.mark.parametrize(
    ("words", "page", "fact"),
    [
        (["invalid"], "reference/glossary.md", "The tester fell short"),
        (["Invalid"], "reference/glossary.md", "The tester fell short"),
        (["phase", "1"], "reference/glossary.md", "preliminary phase"),
        (["α"], "reference/glossary.md", "share of the connection rate"),
        (["alpha"], "reference/glossary.md", "share of the connection rate"),
        (["responders"], "reference/glossary.md", "replies"),
        (["deviation"], "reference/glossary.md", "less than an RFC asks for"),
        (["device", "under", "test"], "reference/glossary.md", "gateway that is measured"),
        (["conntrack"], "reference/glossary.md", "table of connections"),
        (["corrected buffer time"], "reference/glossary.md", "length of that burst"),
        (["3"], "reference/cli.md", "too slow"),
        (["exit", "code", "3"], "reference/cli.md", "too slow"),
        (["exit", "codes"], "reference/cli.md", "success"),
        (["tester_drops"], "reference/rpc.md", "verdict: invalid"),
        (["max_invalid"], "reference/plan.md", "default: 3"),
        (["conntrack_max"], "reference/gateways.md", "nf_conntrack_max"),
        (["learning", "frames"], "reference/glossary.md", "neighbour discovery"),
        (["The rest is 20 ms; RFC 2544 §23 asks for at least 5 s."], "explanation/conformance.md", "natxy: yes"),
        (["RFC 2544 §24"], "explanation/conformance.md", "natxy: lab"),
        (["RFC 2544 26.1"], "explanation/conformance.md", "natxy: yes"),
        (["Disp."], "reference/glossary.md", "as a share of the median"),
        (["95", "%"], "reference/glossary.md", "19 of 20"),
        (["RFC 2544"], "explanation/conformance.md", "frame sizes"),
        (["9693"], "explanation/conformance.md", "validation, with α"),
        (["rfc9693", "4.10"], "explanation/conformance.md", "order of reading the state table"),
        (["RFC 9693 §4"], "explanation/conformance.md", "tear-down rate"),
        (["RFC 9693 §5.2"], "explanation/conformance.md", "scalability"),
        (["RFC 8219 §7.5"], "explanation/conformance.md", "back-to-back frames"),
        (["MLRsearch"], "reference/glossary.md", "RFC 9971"),
        (["conditional throughput"], "reference/glossary.md", "RFC 9971"),
        (["dut_busy_s"], "reference/figures.md", "dut_reading_s"),
        (["place"], "how-to/campaign.md", "place of labgrid"),
        (["same_hardware"], "how-to/campaign.md", "name that testbeds share"),
        (["tsc_error_ppm"], "reference/glossary.md", "does not use"),
    ],
)
def test_words_and_where_they_are_explained(words: list[str], page: str, fact: str) -> None:
    assert page in {entry.page for entry in explaining(words)}
    assert any(fact in each for each in facts(*words))


def test_a_section_without_a_standard_is_of_the_one_above() -> None:
    assert {"RFC 2544 §26.5", "RFC 8219 §7.3", "RFC 9693 §4.9"} <= {entry.title for entry in entries()}


def test_everything_that_a_message_may_name_is_explained() -> None:
    for verdict in Verdict:
        assert explaining([verdict])
    codes = {error.exit_code for error in subclasses(NatxyError)} - {NatxyError.exit_code}
    assert codes >= {2, 3, 4, 5, 6}
    for code in codes:
        assert explaining(["exit code", str(code)])
    for name in {"driver", "baseline_ratio", *Plan.model_fields, *ExperimentPlan.model_fields} - {"sweep", "title"}:
        assert explaining([name])


def test_marks_of_markdown_are_gone_and_the_links_exist() -> None:
    for entry in entries():
        assert entry.facts, entry
        assert not [fact for fact in entry.facts if re.search(r"\]\(|`|\*\*", fact)]
        for link in (entry.page, *entry.links):
            assert (DOCS / link.partition("#")[0]).is_file(), entry


def test_a_near_word_is_suggested_and_others_are_not() -> None:
    with pytest.raises(PlanError, match="did you mean 'disturbed'"):
        explaining(["disturbd"])
    with pytest.raises(PlanError, match="did you mean 'disk'"):
        explaining(["dissk"], ["disk"])
    with pytest.raises(PlanError, match="'qqqq' is not a word that natxy explains; `natxy explain` lists all words"):
        explaining(["qqqq"])
    with pytest.raises(PlanError, match="10 is no exit code of natxy, but may be one of a script around it"):
        explaining(["10"])


@pytest.mark.parametrize("procedure", DECLARATIONS)
def test_every_procedure_is_explained(procedure: str) -> None:
    assert facts(procedure)
