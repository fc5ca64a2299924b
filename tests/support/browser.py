# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium by its DevTools protocol, over a pair of pipes."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.chromium import AXE, CHROMIUM
from tests.support.command import HANG_S

_JUDGE: Final = """
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  window.judged = JSON.stringify(found.violations.flatMap(each => each.nodes.map(
    node => [each.impact, [each.id, node.target.join(" "), node.failureSummary].join(" | ")])));
}); 0
"""


class Tab:
    """A page that is open in a browser of its own."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Begins to load a page."""
        self._ask("Page.navigate", url=address)

    def load(self, file: Path) -> None:
        """Loads a page of a folder, and waits until it is complete."""
        self.open("about:blank")
        self.open(file.as_uri())
        self.wait_for(f"location.href == {json.dumps(file.as_uri())} && document.readyState == 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Returns the value of an expression of JavaScript on the page."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """Returns the first true value of an expression."""
        end_s = time.monotonic() + HANG_S
        while not (value := self._value(expression)):
            if time.monotonic() > end_s:
                raise AssertionError(f"{expression} stays {value!r} on: {self.evaluate('document.body.innerText')}")
            time.sleep(0.1)
        return value

    def _value(self, expression: str) -> Any:
        """Returns the value of an expression; None while one page takes the place of another."""
        answer = self._answer("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer.get("result", {}).get("result", {}).get("value")

    def has(self, expression: str, value: object) -> None:
        """Returns once an expression has this value. Asserts that it does before anybody would call it a hang.

        What a script of the page shows comes when the page has been told of it, each part at a moment of its own.
        """
        self.wait_for(f"JSON.stringify({expression}) == {json.dumps(json.dumps(value, ensure_ascii=False))}")

    def appear(self, width: int, height: int, *, dark: bool) -> None:
        """Gives the page a size in CSS pixels, and the reader's wish for light or dark."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file: Path, area: Mapping[str, float]) -> None:
        """Writes an area of the page as WebP: `x`, `y`, `width` and `height` in CSS pixels, and the `scale`."""
        taken = self._ask(
            "Page.captureScreenshot", format="webp", quality=80, clip=dict(area), captureBeyondViewport=True
        )
        file.write_bytes(base64.b64decode(taken["data"]))

    def violations(self) -> list[tuple[str, str]]:
        """Returns what axe-core objects to on the page, each with its impact, such as `serious`."""
        self.evaluate(AXE.read_text(encoding="utf-8"))
        self.evaluate(_JUDGE)
        return [(impact, text) for impact, text in json.loads(self.wait_for("window.judged"))]

    def _ask(self, method: str, **parameters: Any) -> Any:
        answer = self._answer(method, **parameters)
        assert "result" in answer, answer
        return answer["result"]

    def _answer(self, method: str, **parameters: Any) -> Any:
        """Returns what Chromium answers, an error too."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                return answer
            self._note(answer)

    def _next(self) -> Any:
        while b"\0" not in self._buffer:
            assert select.select([self._back], [], [], HANG_S)[0], "Chromium does not answer"
            more = os.read(self._back, 65536)
            assert more, "Chromium has ended"
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)

    def _note(self, event: Any) -> None:
        match event.get("method"), event.get("params"):
            case "Log.entryAdded", {"entry": {"level": "error" | "warning", "text": text}}:
                self.problems.append(text)
            case "Runtime.exceptionThrown", {"exceptionDetails": details}:
                self.problems.append(str(details))
            case "Runtime.consoleAPICalled", {"type": "error", "args": arguments}:
                self.problems.append(str(arguments))


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Yields an empty page of a browser that reaches the loopback interface alone."""
    assert CHROMIUM is not None
    read_by_it, to = os.pipe()
    back, written_by_it = os.pipe()
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", f"--user-data-dir={profile}",
    ]  # fmt: skip
    # Chromium reads from 3 and writes to 4, which may be one of the two here.
    shell = f'exec {{r}}<&{read_by_it} {{w}}>&{written_by_it}; exec 3<&$r 4>&$w; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", *command],
        pass_fds=(read_by_it, written_by_it), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(read_by_it)
    os.close(written_by_it)
    try:
        yield Tab(to, back)
    finally:
        process.kill()
        process.wait()
        os.close(to)
        os.close(back)
