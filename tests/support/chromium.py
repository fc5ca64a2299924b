# SPDX-License-Identifier: Apache-2.0
"""Opens pages in headless Chromium, without a network."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.command import HANG_S

CHROMIUM: Final = shutil.which("chromium")
PATIENT: Final = ("--virtual-time-budget=20000",)
"""Makes Chromium wait for the charts, in virtual time, but not for a clock."""

AXE: Final = files("axe_core_python").joinpath("axe.min.js")
"""Holds the source of axe-core."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")

_AXE: Final = """
addEventListener("load", () => setTimeout(async () => {
  const counts = new Map();
  for (const each of document.querySelectorAll("tr, details, li, svg *")) {
    const kinds = counts.get(each.parentNode) ?? new Map();
    counts.set(each.parentNode, kinds);
    const kind = each.tagName + each.getAttribute("class");
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (kinds.get(kind) > 3) each.remove();
  }
  const found = await axe.run(document, {resultTypes: ["violations"]});
  const told = document.createElement("pre");
  told.id = "axe";
  told.textContent = JSON.stringify({
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    passed: found.passes.map(each => each.id),
    violations: found.violations.flatMap(each => each.nodes.map(
      node => [each.impact, each.id, node.target.join(" "), node.failureSummary].join(" | "))),
  });
  document.body.append(told);
}, 3000));
"""


def browse(page: Path, profile: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Opens a page as the arguments say, such as `--dump-dom`, and returns how Chromium ended."""
    assert CHROMIUM is not None
    return subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}",
            *arguments, page.as_uri(),
        ],
        capture_output=True, text=True, timeout=HANG_S, check=True,
    )  # fmt: skip


def accessibility(page: Path, folder: Path, *, dark: bool, width: int) -> dict[str, Any]:
    """Judges a page by the rules of axe-core, with live charts.

    Returns whether the page was `dark`, the rules that it `passed`, and a line for each of its `violations`. The page
    is judged without its policy, which lets no other scripts run. Of rows, details, items and parts of charts that are
    alike, the first three of each parent are judged, because contrast takes 20 s for thousands of them.
    """
    axe = AXE.read_text(encoding="utf-8")
    source = re.sub(r"<meta http-equiv=[^>]+>", "", page.read_text(encoding="utf-8"))
    judged = folder / "judged.html"
    judged.write_text(f"{source}<script>{axe}</script><script>{_AXE}</script>", encoding="utf-8")
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if dark else "1")
    opened = browse(judged, folder / "profile", "--dump-dom", scheme, f"--window-size={width},900", *PATIENT)
    told = re.search(r'<pre id="axe">(.*?)</pre>', opened.stdout, re.DOTALL)
    assert told is not None, "axe-core did not end"
    found: dict[str, Any] = json.loads(html.unescape(told[1]))
    return found
