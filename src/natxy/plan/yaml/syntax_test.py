# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml.error import YAMLError

from natxy.errors import PlanError
from natxy.plan.yaml.loading import load_plan
from natxy.plan.yaml.syntax import why_no_yaml

MISTAKES = [
    ("name: x\nexperiments:\n\t- name: a\n", "3:1", "a tab; use spaces"),
    ("name: x\nseed 5\nexperiments: []\n", "2:1", "a colon and a space are missing after this name"),
    ("name:x\nexperiments: []\n", "2:12", "a space is missing after the colon of the line above: 'name:x'"),
    ("name: x\n  seed: 5\n", "2:7", "this line is indented more than the line above, "),
    ("name: x\nexperiments:\n  - name: a\n   seed: b\n", "4:4", "this line is not aligned with the lines above"),
    ("title\n  seed: 5\n", "2:7", "a colon is missing in the line above: 'title'"),
    ("name: a: b\n", "1:8", "a second colon in one value; put the value in quotes"),
    ("name: 'it's'\nseed: 1\n", "1:11", "text after the end of a value; put the whole value in quotes"),
    ('name: "hello\nseed: 1\n', "1:7", "this quote is never closed"),
    ('name: "C:\\path"\n', "1:11", "unknown escape in double quotes; use single quotes"),
    ("name: x\ntestbed: {kind: lab\nseed: 1\n", "2:10", "the closing } is missing, or a comma"),
    ("testbed: {kind: lab}}\n", "1:21", "this } closes nothing; remove it"),
    ('{"name": [}', "1:11", "a value is missing before this }"),
    ("name: x\nseed: 1\nname: y\n", "3:1", "'name' is here twice; remove one"),
    ("name: %x\n", "1:7", "a value cannot begin with %; put it in quotes"),
    ("name: *x\n", "1:7", "* refers to an anchor, and no anchor has this name"),
    ("name: x\n---\nname: y\n", "2:1", "a plan is a single document; remove everything from here on"),
    ("name: x\ntitle: \x07\n", "2:8", "an unprintable character, 0x07; remove it"),
]


@pytest.mark.parametrize(("text", "position", "likely"), MISTAKES)
def test_the_likely_mistake_and_its_line_are_told(tmp_path: Path, text: str, position: str, likely: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(PlanError) as caught:
        load_plan(file)
    said, shown, mark = str(caught.value).splitlines()
    assert said.startswith(f"{file}:{position}: not valid YAML: {likely}")
    line, column = map(int, position.split(":"))
    assert shown[2:] == "".join(each if each.isprintable() else " " for each in text.splitlines()[line - 1])
    assert mark.index("^") == 2 + column - 1


def test_a_mistake_far_to_the_right_is_told_without_its_line(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(f"name: {'x' * 200}: y\n")
    with pytest.raises(PlanError) as caught:
        load_plan(file)
    assert str(caught.value) == f"{file}:1:207: not valid YAML: a second colon in one value; put the value in quotes"


def test_a_mistake_without_a_place_is_told_in_the_parsers_words() -> None:
    assert why_no_yaml(Path("p.yaml"), "name: x\n", YAMLError("too deep")) == "p.yaml: not valid YAML: too deep"
