# SPDX-License-Identifier: Apache-2.0
"""Makes the description that a package index shows of the README, whose links and pictures lead into this repository.

An index has only the text. Links to files become their words, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE: Final = re.compile(r"^!\[[^]]*\]\((?!https?://)[^)]*\)\n+", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^]]+)\]\((?!https?://)[^)]*\)")
_COMMENT: Final = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
_END: Final = "\nThe documentation is installed with natxy, in the folder `docs` of its Python package.\n"


class ReadmeHook(MetadataHookInterface):
    """Gives Hatchling the description, by pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(readme)}


def described(readme: str) -> str:
    """Returns the README without what leads into the repository."""
    for pattern, replacement in ((_PICTURE, ""), (_COMMENT, ""), (_LINK, r"\1")):
        readme = pattern.sub(replacement, readme)
    return readme + _END
