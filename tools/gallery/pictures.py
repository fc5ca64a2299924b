# SPDX-License-Identifier: Apache-2.0
"""Takes pictures of parts of reports in headless Chromium."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.support.browser import Tab, browser

_OVERVIEW: Final = ("//header", "//section[@aria-label='Overview']")
_SCALE: Final = 1.5
_ABOVE: Final = 32
_BELOW: Final = 4
# Live charts come one after the other, those in folded parts only when they are unfolded.
_ALIVE: Final = """
[...document.querySelectorAll(".chart")].every(
  chart => chart.classList.contains("live") || chart.closest("details:not([open])"))
"""
_DRAWN: Final = """
(window.drawn ??= (requestAnimationFrame(() => setTimeout(() => { window.drawn = 2; }, 500)), 1)) == 2
"""
_BOXES: Final = """
(() => {
  const boxes = PATHS.map(path => {
    const found = document.evaluate(path, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue;
    return found?.getBoundingClientRect().toJSON();
  });
  return boxes;
})()
"""


@dataclass(frozen=True)
class Picture:
    """Says what a picture shows: the first element of each XPath in `parts`, and what is between them.

    `page` is a file in the campaign's folder, `width` that of the window, and `height` where the picture ends at the
    latest, all in CSS pixels.
    """

    name: str
    page: str
    parts: tuple[str, ...] = _OVERVIEW
    width: int = 900
    height: float = 2000
    dark: bool = False


def _run(name: str) -> str:
    return f"runs/{name}/lab/report.html"


def _chapter(experiment: str) -> tuple[str, ...]:
    chapter = f"//article[h3[@id='{experiment}']]"
    return f"{chapter}/h3", f"{chapter}//figure"


PICTURES: Final = (
    Picture("quickstart", _run("quickstart")),
    Picture("quickstart-dark", _run("quickstart"), dark=True),
    Picture("quickstart-phone", _run("quickstart"), width=390, height=844),
    Picture("quickstart-search", _run("quickstart"), _chapter("forwarding-throughput")),
    Picture(
        "quickstart-validity", _run("quickstart"), ("//section[h2='Validity']/h2", "//section[h2='Validity']//table")
    ),
    Picture("gateways", _run("gateways"), ("//section[starts-with(h2, 'Gateways side by side')]",)),
    Picture("connections", _run("connections"), ("//article[@class='sweep']",), dark=True),
    Picture("latency", _run("delays"), _chapter("latency")),
    Picture("pdv", _run("delays"), _chapter("nat-pdv")),
)


def take(campaign: Path, folder: Path) -> None:
    """Takes all pictures of the campaign in a folder, and writes them into another as WebP."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile, browser(Path(profile)) as tab:
        for picture in PICTURES:
            tab.appear(picture.width, 900, dark=picture.dark)
            tab.load((campaign / picture.page).resolve())
            tab.wait_for(_ALIVE)
            # What has not been in view may have an estimated height only.
            tab.appear(picture.width, tab.evaluate("document.documentElement.scrollHeight"), dark=picture.dark)
            tab.wait_for(_DRAWN)
            tab.picture(folder / f"{picture.name}.webp", _area(tab, picture))


def _area(tab: Tab, picture: Picture) -> dict[str, float]:
    boxes: list[Any] = tab.evaluate(_BOXES.replace("PATHS", json.dumps(picture.parts)))
    if None in boxes:
        missing = [path for path, box in zip(picture.parts, boxes, strict=True) if box is None]
        raise ValueError(f"{picture.page} has no {missing} for the picture {picture.name}")
    top = max(0.0, min(box["top"] for box in boxes) - _ABOVE)
    bottom = min(max(box["bottom"] for box in boxes) + _BELOW, top + picture.height)
    return {"x": 0, "y": top, "width": picture.width, "height": bottom - top, "scale": _SCALE}
