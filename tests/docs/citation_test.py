# SPDX-License-Identifier: Apache-2.0
"""Compares what others are asked to cite with the program that they cite."""

from __future__ import annotations

from ruamel.yaml import YAML

import natxy
from tests.support.pages import REPOSITORY


def test_the_citation_names_this_version() -> None:
    citation = YAML(typ="safe").load(REPOSITORY / "CITATION.cff")
    assert (citation["title"].partition(":")[0], citation["version"]) == ("natxy", natxy.__version__)
    assert {"cff-version", "message", "authors", "license"} <= citation.keys()
