# SPDX-License-Identifier: Apache-2.0
"""Parses the YAML of a plan. Whatever the text is, it gives a document or a YAMLError with the place of the mistake."""

from __future__ import annotations

from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.constructor import ConstructorError, RoundTripConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

# An alias of aliases multiplies what it stands for. Without aliases the file's length is the limit.
MOST_VALUES: Final = 1_000_000
# Digits and signs of a number: more than any setting has, and so few that its calculations stay finite.
LONGEST_NUMBER: Final = 40
_CORE: Final = "tag:yaml.org,2002:"
_TAGS: Final = frozenset(
    _CORE + name for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")
)
_NUMBERS: Final = frozenset({f"{_CORE}int", f"{_CORE}float"})
_WORDS: Final = {"int": "whole number", "float": "number", "bool": "true or false", "timestamp": "date"}


def parse(text: str) -> Any:
    """Returns the document with the lines and columns of its values. Raises YAMLError, or RecursionError."""
    yaml = YAML()
    yaml.Constructor = _Constructor
    return yaml.load(text)


class _Constructor(RoundTripConstructor):
    """Constructs only what YAML's core schema has, and names the place of a value that has not its tag's form."""

    def construct_document(self, node: Node) -> Any:
        own: dict[int, int] = {}
        if _values(node, own) > MOST_VALUES and len(own) <= MOST_VALUES:
            raise _mistake(node, f"its aliases make more than {MOST_VALUES:,} values; write it without aliases")
        return super().construct_document(node)

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except YAMLError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            kind = _WORDS.get(_name(node), _name(node))
            raise _mistake(node, f"no {kind}, although it looks like one; put it in quotes") from error


def _values(node: Node, known: dict[int, int]) -> int:
    """Returns the number of values in the node, those behind aliases included; `known` has it for nodes seen before.

    Raises ConstructorError for a tag, a number or a text that no plan has.
    """
    if (seen := known.get(id(node))) is not None:
        return seen
    known[id(node)] = 1
    if node.tag not in _TAGS:
        raise _mistake(node, f"the tag {_name(node)} has no meaning in a plan; remove it")
    if isinstance(node, ScalarNode):
        if node.tag in _NUMBERS and len(node.value) > LONGEST_NUMBER:
            raise _mistake(node, f"a number of {len(node.value):,} characters; no setting is that long")
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            raise _mistake(node, "half of a character, \\ud800 to \\udfff; write the character itself")
    if isinstance(node, CollectionNode):
        parts = [part for pair in node.value for part in pair] if isinstance(node, MappingNode) else node.value
        known[id(node)] += sum(_values(part, known) for part in parts)
    return known[id(node)]


def _name(node: Node) -> str:
    """Returns the name of the node's tag."""
    return str(node.tag).removeprefix(_CORE)


def _mistake(node: Node, problem: str) -> ConstructorError:
    return ConstructorError(None, None, problem, node.start_mark)
