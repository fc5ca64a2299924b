# SPDX-License-Identifier: Apache-2.0
"""Finds the small changes of a Python source that its tests should notice.

Comparisons move their boundary or turn round, operators become their opposites, numbers grow, truth values flip,
conditions become constant, and statements that act are deleted. Texts, f-strings, annotations and decorators stay as
they are, and so do `strict`, by which zip() asserts what is true already, the parameters that `del` tells linters of,
and AssertionErrors.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

_SWAPS: Final[dict[type[ast.AST], tuple[bytes, bytes]]] = {
    ast.Lt: (b"<", b"<="),
    ast.LtE: (b"<=", b"<"),
    ast.Gt: (b">", b">="),
    ast.GtE: (b">=", b">"),
    ast.Eq: (b"==", b"!="),
    ast.NotEq: (b"!=", b"=="),
    ast.Is: (b"is", b"is not"),
    ast.IsNot: (b"is not", b"is"),
    ast.In: (b"in", b"not in"),
    ast.NotIn: (b"not in", b"in"),
    ast.And: (b"and", b"or"),
    ast.Or: (b"or", b"and"),
    ast.Add: (b"+", b"-"),
    ast.Sub: (b"-", b"+"),
    ast.Mult: (b"*", b"/"),
    ast.Div: (b"/", b"*"),
    ast.FloorDiv: (b"//", b"/"),
    ast.Mod: (b"%", b"//"),
    ast.Pow: (b"**", b"*"),
    ast.BitOr: (b"|", b"&"),
    ast.BitAnd: (b"&", b"|"),
    ast.LShift: (b"<<", b">>"),
    ast.RShift: (b">>", b"<<"),
}
_ORDERS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Mutation:
    """Holds a changed source. `before` and `after` are the lines that differ, each run of spaces in them as one.

    `lines` are those from the beginning of the statement to the end of the change.
    """

    lines: range
    before: str
    after: str
    source: str


def mutations(source: str) -> list[Mutation]:
    """Returns the mutations of a source in the order of their places."""
    text = source.encode()
    finder = _Finder(text)
    finder.visit(ast.parse(source))
    return [_mutation(text, *edit) for edit in sorted(finder.edits)]


def _mutation(text: bytes, begin: int, end: int, new: bytes, statement_line: int) -> Mutation:
    first = text.rfind(b"\n", 0, begin) + 1
    rest = text.find(b"\n", end)
    before, after = text[first:rest], text[first:begin] + new + text[end:rest]
    lines = range(statement_line, text.count(b"\n", 0, end) + 2)
    return Mutation(
        lines, one_line(before.decode()), one_line(after.decode()), (text[:begin] + new + text[end:]).decode()
    )


def one_line(text: str) -> str:
    return " ".join(text.split())


class _Finder(ast.NodeVisitor):
    """Collects edits of a text: where each begins and ends, in bytes, what it puts there, and its statement's line."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._lines = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
        self._conditions: set[ast.AST] = set()
        self._statement_line = 1
        self.edits: set[tuple[int, int, bytes, int]] = set()

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement_line = node.lineno
        match node:
            case ast.JoinedStr() | ast.keyword(arg="strict"):
                return
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                for statement in node.orelse:
                    self.visit(statement)
                return
            case ast.Compare(ops=[only]) if node in self._conditions and not isinstance(only, _ORDERS):
                pass  # Who notices a constant condition notices the opposite one.
            case ast.UnaryOp(op=ast.Not()) if node in self._conditions:
                pass
            case ast.Compare():
                for operator, (left, right) in zip(node.ops, pairwise([node.left, *node.comparators]), strict=True):
                    self._swap(operator, left, right)
            case ast.BoolOp():
                for left, right in pairwise(node.values):
                    self._swap(node.op, left, right)
            case ast.BinOp():
                self._swap(node.op, node.left, node.right)
            case ast.AugAssign():
                self._swap(node.op, node.target, node.value)
            case ast.UnaryOp(op=ast.Not()):
                self._drop_prefix(node, "not")
            case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
                self._drop_prefix(node, "-")
            case ast.Constant(value=bool() as value):
                self._replace(node, not value)
            case ast.Constant(value=int() as value):
                self._replace(node, value + 1)
            case ast.Constant(value=float() as value):
                self._replace(node, 2 * value or 1.0)
            case ast.If(test=condition) | ast.IfExp(test=condition):
                self._conditions.add(condition)
                self._replace(condition, True)
                self._replace(condition, False)
            case ast.While():
                self._replace(node.test, False)
            case ast.comprehension():
                for condition in node.ifs:
                    self._replace(condition, True)
            case ast.Delete(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
                pass  # This tells linters that a parameter is not read.
            case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
                return  # What cannot happen.
            case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
                self._replace(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                self._replace(node, "pass")
        for field, value in ast.iter_fields(node):
            self._visit_field(field, value if isinstance(value, list) else [value])

    def _visit_field(self, field: str, values: list[object]) -> None:
        for child in values:
            if not isinstance(child, ast.AST) or field == "decorator_list":
                continue
            if field in ("annotation", "returns"):
                # Pydantic's bounds are calls within annotations.
                for call in ast.walk(child):
                    if isinstance(call, ast.Call):
                        self.visit(call)
            else:
                self.visit(child)

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[end_line - 1] + end_column

    def _replace(self, node: ast.expr | ast.stmt, new: object) -> None:
        self._edit(*self._place(node), str(new).encode())

    def _drop_prefix(self, node: ast.expr, prefix: str) -> None:
        begin, _ = self._place(node)
        self._edit(begin, begin + len(prefix), b"")

    def _swap(self, operator: ast.AST, left: ast.expr, right: ast.expr) -> None:
        """Replaces the operator between two operands. Between them may be parentheses and, before it, a comment."""
        if type(operator) not in _SWAPS:
            return
        old, new = _SWAPS[type(operator)]
        begin = self._text.rindex(old, self._place(left)[1], self._place(right)[0])
        self._edit(begin, begin + len(old), new)

    def _edit(self, begin: int, end: int, new: bytes) -> None:
        self.edits.add((begin, end, new, self._statement_line))
