# SPDX-License-Identifier: Apache-2.0
"""Answers to thresholds for other programs: JUnit XML, a Markdown summary and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from natxy.export.rows import Row
from natxy.report.tables.table import Table
from natxy.report.tables.thresholds import threshold_table
from natxy.report.text.formats import TableFormat, render
from natxy.report.words import thresholds
from natxy.results.analysis.thresholds import Answer, Judged, overall
from natxy.untrusted.texts import json_text, plain

_HEADINGS: Final = {
    Answer.MET: "natxy: every threshold is met",
    Answer.MISSED: "natxy: a threshold is missed",
    Answer.UNDECIDED: "natxy: undecided",
}


def junit(name: str, judged: Sequence[Judged]) -> str:
    """Returns JUnit XML with a test case for each threshold; those that are undecided count as skipped."""
    suite = TestSuite(plain(name))
    for each in judged:
        expected = plain(f"{each.figure.title}: {thresholds.expected(each)}")
        case = TestCase(expected, classname=plain(each.experiment.name))
        found = plain(f"found {thresholds.found(each)}")
        match each.answer:
            case Answer.MISSED:
                case.result = [Failure(found, "missed")]
            case Answer.UNDECIDED:
                case.result = [Skipped(f"{plain(thresholds.answer(each))}; {found}")]
            case Answer.MET:
                case.system_out = found
        suite.add_testcase(case)
    xml = JUnitXml("natxy")
    xml.add_testsuite(suite)
    text: bytes = xml.tostring()
    return text.decode()


def markdown(judged: Sequence[Judged], tables: Iterable[Table] = ()) -> str:
    """Returns a summary for the page of a job: the thresholds, then further tables."""
    heading = f"## {_HEADINGS[overall(judged)]}\n\n" if judged else "## natxy\n\n"
    first = [threshold_table(judged)] if judged else []
    return heading + render([*first, *tables], TableFormat.MARKDOWN)


def document(judged: Sequence[Judged], rows: Iterable[Row] = ()) -> str:
    """Returns JSON with the overall answer, every threshold and, of a comparison, its rows."""
    whole = {
        "answer": overall(judged) if judged else None,
        "thresholds": [_threshold(each) for each in judged],
        "comparison": list(rows),
    }
    return json_text(whole) + "\n"


def _threshold(judged: Judged) -> dict[str, Any]:
    return {
        "experiment": judged.experiment.name,
        "title": judged.experiment.title,
        "figure": judged.figure.name,
        "expected": thresholds.expected(judged),
        "found": thresholds.found(judged),
        "baseline": judged.against or None,
        "unit": judged.unit,
        "limit": judged.limit,
        "value": judged.value,
        "low": judged.interval.low if judged.interval else None,
        "high": judged.interval.high if judged.interval else None,
        "answer": judged.answer,
        "reason": judged.reason or None,
        "repetitions": judged.repetitions,
    }
