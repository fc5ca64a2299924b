# SPDX-License-Identifier: Apache-2.0
"""Matplotlib figures as SVG that lives inside an HTML page: themed by the page, explained by tooltips, no script."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")

ElementTree.register_namespace("", _SVG)


class Ink(Enum):
    """The page's colours. Matplotlib wants a number, the page knows the meaning: the number is a stand-in for the
    CSS custom property of the same name, which light, dark and print define differently."""

    TEXT = "#010001"
    MUTED = "#010002"
    GRID = "#010003"
    BAND = "#010004"
    BRACKET = "#010005"
    PASS = "#010006"
    FAIL = "#010007"
    INVALID = "#010008"
    PAPER = "#010009"

    @property
    def css(self) -> str:
        return f"var(--{self.name.lower()})"


def inline_svg(figure: Figure, *, name: str, description: str, tooltips: Mapping[str, Sequence[str]]) -> str:
    """`name` makes every id unique in the page. `tooltips`: by artist gid, the text of each of its markers in the
    order they were drawn."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True)
    root = ElementTree.fromstring(buffer.getvalue())
    _drop(root)
    _explain(root, tooltips)
    _make_unique(root, name)
    width, height = (root.attrib.pop(key).removesuffix("pt") for key in ("width", "height"))
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("role", "img")
    root.set("aria-label", description)
    root.set("style", f"stroke-linejoin:round;stroke-linecap:butt;min-width:{float(width) * 0.85:.0f}px")
    return _themed(ElementTree.tostring(root, encoding="unicode"))


def _drop(element: ElementTree.Element) -> None:
    # Matplotlib's style sheet has a `*` selector, which would reach out of the picture into the page.
    for child in list(element):
        if child.tag in _DROPPED:
            element.remove(child)
        else:
            _drop(child)


def _explain(root: ElementTree.Element, tooltips: Mapping[str, Sequence[str]]) -> None:
    groups = {element.get("id"): element for element in root.iter(f"{{{_SVG}}}g")}
    for gid, texts in tooltips.items():
        markers = list(groups[gid].iter(f"{{{_SVG}}}use"))
        for marker, text in zip(markers, texts, strict=True):
            ElementTree.SubElement(marker, f"{{{_SVG}}}title").text = text


def _make_unique(root: ElementTree.Element, name: str) -> None:
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key == _HREF:
                del element.attrib[_HREF]
                element.set("href", f"#{name}-{value.removeprefix('#')}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))


def _themed(text: str) -> str:
    stand_ins = {ink.value: ink.css for ink in Ink}
    return re.sub("|".join(stand_ins), lambda match: stand_ins[match[0]], text)
