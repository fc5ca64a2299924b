# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.untrusted.texts import (
    csv_cell,
    file_name,
    html,
    json_in_html,
    json_text,
    latex,
    markdown,
    one_line,
    plain,
    plain_within,
)

ANY_TEXT = st.text(st.characters() | st.sampled_from("\x1b\x9b\r\u202e\ud800<>&\"'`|\\{}$=+-@[]*_\n"))


def is_control(character: str) -> bool:
    bidirectional = unicodedata.bidirectional(character) in {
        "LRE",
        "RLE",
        "LRO",
        "RLO",
        "PDF",
        "LRI",
        "RLI",
        "FSI",
        "PDI",
    }
    return character not in "\t\n" and (unicodedata.category(character) in {"Cc", "Zl", "Zp", "Cs"} or bidirectional)


@given(ANY_TEXT)
def test_no_control_character_stays(text: str) -> None:
    for safe in (
        plain(text),
        one_line(text),
        html(text),
        latex(text),
        markdown(text),
        file_name(text),
        json_text(text),
    ):
        assert not any(map(is_control, safe))
    assert "\n" not in one_line(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("over\rwritten", "over\\x0dwritten"),
        ("µs α → ≥ שלום 漢字", "µs α → ≥ שלום 漢字"),
    ],
)
def test_control_characters_are_named_and_all_others_stay(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert plain_within({text: [text, 1, None, {"a": text}]}) == {shown: [shown, 1, None, {"a": shown}]}


@given(ANY_TEXT)
def test_html_is_the_text(text: str) -> None:
    class Texts(HTMLParser):
        found = ""

        def handle_starttag(self, tag: str, attrs: object) -> None:
            raise AssertionError(tag)

        def handle_data(self, data: str) -> None:
            self.found += data

    page = Texts()
    page.feed(html(text))
    page.close()
    assert page.found == plain(text)


@given(st.recursive(ANY_TEXT | st.integers() | st.none(), lambda of: st.lists(of) | st.dictionaries(ANY_TEXT, of)))
def test_json_keeps_the_value_and_its_script_element(value: object) -> None:
    assert json.loads(json_text(value)) == json.loads(json.dumps(value))
    within = json_in_html(value)
    assert "<" not in within
    assert json.loads(within) == plain_within(json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ('=HYPERLINK("http://x")', '\'=HYPERLINK("http://x")'),
        ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("＝1", "'＝1"),
        ("-5", "-5"),
        ("+1.2 % [−0.3, +2.0]", "+1.2 % [−0.3, +2.0]"),
        ("−5 kfps", "−5 kfps"),
        ("1,234", "1,234"),
        (-5.5, -5.5),
        (None, None),
    ],
)
def test_no_cell_is_a_formula(cell: object, written: object) -> None:
    assert csv_cell(cell) == written


@given(ANY_TEXT)
def test_a_cell_of_csv_is_read_as_it_was_written(text: str) -> None:
    out = io.StringIO()
    csv.writer(out).writerow([csv_cell(text)])
    [[read]] = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert read.removeprefix("'") == plain(text).removeprefix("'")
    assert not read.lstrip().startswith(("=", "@"))


@given(ANY_TEXT)
def test_no_markdown_character_is_bare(text: str) -> None:
    left = markdown(text).replace("\\\\", "")
    for character in "`*_<>|[]$":
        assert left.count(character) == left.count("\\" + character)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("^^5cinput", r"\textasciicircum{}\textasciicircum{}5cinput"),
    ],
)
def test_no_latex_command_comes_through(text: str, written: str) -> None:
    assert latex(text) == written


@given(ANY_TEXT)
def test_a_file_name_has_no_path(text: str) -> None:
    name = file_name(text)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert len(name) <= 100


def test_file_names_are_readable() -> None:
    assert file_name("sizes/frame_size=64") == "sizes-frame_size-64"
    assert file_name("/../../etc") == "-..-..-etc"
