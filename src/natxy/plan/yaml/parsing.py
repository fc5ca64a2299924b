# SPDX-License-Identifier: Apache-2.0
"""Parses the YAML of a plan. Whatever the text is, it gives a document or a YAMLError with the place of the mistake."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.constructor import ConstructorError, RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

# An alias of aliases multiplies what it stands for. Without aliases the file's length is the limit.
MOST_VALUES: Final = 1_000_000
# More levels than any plan has.
DEEPEST: Final = 50
# Digits and signs of a number: more than any setting has, and so few that it can be calculated with.
LONGEST_NUMBER: Final = 40
_ENDLESS: Final = re.compile(rf"[\d_]{{{LONGEST_NUMBER + 1}}}")
_CORE: Final = "tag:yaml.org,2002:"
_TAGS: Final = frozenset(
    _CORE + name for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")
)
_NUMBERS: Final = frozenset({f"{_CORE}int", f"{_CORE}float"})
_WORDS: Final = {"int": "whole number", "float": "number", "bool": "true or false", "timestamp": "date"}


def parse(text: str) -> Any:
    """Returns the document with the lines and columns of its values. Raises YAMLError."""
    yaml = YAML()
    yaml.Composer = _Composer
    yaml.Constructor = _Constructor
    return yaml.load(text)


class _Composer(Composer):
    """Refuses deep nesting as soon as it is read. An anchor may be given anew, as YAML has it."""

    _depth = 0

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        # The library's warning would be a line of its source on the user's terminal.
        self.warn_double_anchors = False

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self._depth += 1
        if self._depth > DEEPEST:
            mark = self.parser.peek_event().start_mark
            raise ComposerError(None, None, f"nested more than {DEEPEST} levels deep; write it flatter", mark)
        node: Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Constructor(RoundTripConstructor):
    """Constructs only what YAML's core schema has, and reports where a value does not fit its tag."""

    def construct_document(self, node: Node) -> Any:
        _check(node)
        extents: dict[int, Extent | None] = {}
        extent = _extent(node, extents)
        if extent.levels > DEEPEST:
            raise _mistake(node, f"its aliases nest more than {DEEPEST} levels deep; write it flatter")
        if extent.values > max(MOST_VALUES, len(extents)):
            raise _mistake(node, f"its aliases make more than {MOST_VALUES:,} values; write it without aliases")
        return super().construct_document(node)

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except YAMLError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            kind = _WORDS.get(_tag(node), _tag(node))
            raise _mistake(node, f"no {kind}, although it looks like one; put it in quotes") from error


def _check(root: Node) -> None:
    """Raises ConstructorError for a tag, a number or a text that no plan has."""
    seen: set[int] = set()
    left = [root]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        left += _parts(node)
        if node.tag not in _TAGS:
            raise _mistake(node, f"the tag {_tag(node)} has no meaning in a plan; remove it")
        if not isinstance(node, ScalarNode):
            continue
        if (node.tag in _NUMBERS and len(node.value) > LONGEST_NUMBER) or _ENDLESS.search(node.value):
            raise _mistake(node, f"a number of more than {LONGEST_NUMBER} digits; no setting is that long")
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            raise _mistake(node, "half of a character, \\ud800 to \\udfff; write the character itself")


class Extent(NamedTuple):
    """Holds how many values a node has, and on how many levels, those behind aliases included."""

    values: int
    levels: int


def _extent(node: Node, extents: dict[int, Extent | None]) -> Extent:
    """Returns the extent of a node. Raises ConstructorError for an alias inside its own anchor.

    `extents` has those of nodes seen before, None of one that is under way.
    """
    if id(node) not in extents:
        extents[id(node)] = None
        parts = [_extent(part, extents) for part in _parts(node)]
        levels = 1 + max((part.levels for part in parts), default=0)
        extents[id(node)] = Extent(1 + sum(part.values for part in parts), levels)
    extent = extents[id(node)]
    if extent is None:
        raise _mistake(node, "an alias inside its own anchor; write it without")
    return extent


def _parts(node: Node) -> list[Node]:
    """Returns the nodes of a list, or the keys and values of a mapping."""
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return [*node.value] if isinstance(node, CollectionNode) else []


def _tag(node: Node) -> str:
    return str(node.tag).removeprefix(_CORE)


def _mistake(node: Node, problem: str) -> ConstructorError:
    return ConstructorError(None, None, problem, node.start_mark)
