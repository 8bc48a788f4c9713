"""Mutations of Python source: where they are possible, what they replace, and a sample by a seed.

A mutation replaces one operator, comparison, number, bound of a slice, or the name of a minimum or maximum.
Texts, messages of errors, annotations, decorators, ``__all__``, representations of objects and the looks of a
figure (`COSMETIC`) are left alone, and so are ``True`` and ``False``.
"""

from __future__ import annotations

import ast
import contextlib
import io
import random
import tokenize
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "*", "**": "*", "@": "*"}
_BITS = {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"}
_REPLACED_OPERATORS = _ARITHMETIC | _BITS
_REPLACED_COMPARISONS = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
_EXTREMES = {"min": "max", "minimum": "maximum", "fmin": "fmax", "argmin": "argmax", "nanmin": "nanmax"}
_REPLACED_NAMES = _EXTREMES | {new: old for old, new in _EXTREMES.items()}
COSMETIC = frozenset(
    {
        "alpha",
        "dpi",
        "figsize",
        "fontsize",
        "labelpad",
        "linestyle",
        "linewidth",
        "markersize",
        "rotation",
        "stacklevel",
        "zorder",
    }
)
_REPRESENTATIONS = frozenset(("__repr__", "__str__", "_repr_html_", "__rich__"))
_LOGGERS = frozenset(("logger", "log"))
_TYPES = frozenset(("bool", "int", "float", "str", "list", "tuple", "dict", "set"))
_COLLECTIONS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.DictComp)
_TOLERANCE = 1e-5  # a smaller number is one, and only a much larger one is another


@dataclass(frozen=True, slots=True)
class Mutation:
    """One replacement in one line of one file.

    Parameters
    ----------
    path : str
        The file, relative to the checkout.
    text : str
        The line without its indentation: it finds the place again when other lines have changed.
    column : int
        Where in `text` the replaced part begins.
    old, new : str
        The replaced part and its replacement.
    line : int
        The line's number, from 1.
    scope : str
        The enclosing classes and functions, joined by full stops; empty at the level of the module.
    first, last : int
        The lines of the statement, or of its head: a test reaches the mutation if it executes one of them.
    """

    path: str
    text: str
    column: int
    old: str
    new: str
    line: int
    scope: str
    first: int
    last: int

    @property
    def key(self) -> str:
        """What names it in tables."""
        after = self.text[: self.column] + self.new + self.text[self.column + len(self.old) :]
        return name_mutation(self.path, self.scope, self.text, after)

    def apply(self, source: str) -> str:
        """Return the source with the replacement.

        Parameters
        ----------
        source : str
            The text of the file.

        Returns
        -------
        str
            The mutated text.

        Raises
        ------
        LookupError
            If the line is not there.
        """
        lines = source.splitlines(keepends=True)
        line = lines[self.line - 1] if self.line <= len(lines) else ""
        start = len(line) - len(line.lstrip()) + self.column
        if line.strip() != self.text or line[start : start + len(self.old)] != self.old:
            raise LookupError(f"{self.path}:{self.line} is not {self.text!r}")
        lines[self.line - 1] = line[:start] + self.new + line[start + len(self.old) :]
        return "".join(lines)


def name_mutation(path: str, scope: str, text: str, after: str) -> str:
    """Return the key of a mutation of a line, from the file, the place in it, and the line after it."""
    place = f"{path}::{scope}" if scope else path
    return f"{place}: {text} ⟶ {after}"


def list_mutations(source: str, path: str) -> list[list[Mutation]]:
    """List the mutations of a file, place by place.

    Parameters
    ----------
    source : str
        The text of the file.
    path : str
        Its name in the mutations.

    Returns
    -------
    list of list of Mutation
        For each place, in the order of the text, what can stand there instead.
    """
    places: dict[tuple[int, int], list[Mutation]] = {}
    for mutation in _Finder(source, path).find():
        places.setdefault((mutation.line, mutation.column), []).append(mutation)
    return [places[place] for place in sorted(places)]


def sample_mutations(
    folders: Mapping[str, Sequence[Path]], root: Path, number: int, seed: int
) -> list[Mutation]:
    """Draw mutations: for each folder in proportion to its lines, places without repetition.

    Parameters
    ----------
    folders : mapping of str to sequence of Path
        The files of each stratum.
    root : Path
        The checkout.
    number : int
        How many to draw.
    seed : int
        Of the generator.

    Returns
    -------
    list of Mutation
        In the order of strata, files and lines.
    """
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    lengths = {
        name: sum(len(path.read_text().splitlines()) for path in files) for name, files in folders.items()
    }
    chosen: list[Mutation] = []
    for name, quota in apportion(lengths, number).items():
        places = [
            place
            for path in sorted(folders[name])
            for place in list_mutations(path.read_text(), path.relative_to(root).as_posix())
        ]
        drawn = sorted(generator.sample(range(len(places)), min(quota, len(places))))
        chosen += [generator.choice(places[place]) for place in drawn]
    return chosen


def apportion(sizes: Mapping[str, int], number: int) -> dict[str, int]:
    """Divide a number in proportion to sizes, by largest remainders."""
    total = sum(sizes.values())
    shares = {name: number * size // total for name, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: (-(number * sizes[name] % total), name))
    for name in by_remainder[: number - sum(shares.values())]:
        shares[name] += 1
    return shares


class _Finder:
    """Walks the syntax tree of a file, and yields what can be replaced."""

    def __init__(self, source: str, path: str) -> None:
        self._path = path
        self._lines = source.splitlines()
        self._tree = ast.parse(source)
        self._tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type in {tokenize.OP, tokenize.NAME}
        ]

    def find(self) -> Iterator[Mutation]:
        for statement in self._tree.body:
            yield from self._visit(statement, "", (statement.lineno, _get_end(statement)))

    def _visit(self, node: ast.AST, scope: str, span: tuple[int, int]) -> Iterator[Mutation]:
        """Visit a node: `span` is the statement's lines."""
        if _is_untouched(node):
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for default in (
                node.args.defaults + [one for one in node.args.kw_defaults if one]
                if isinstance(node, ast.FunctionDef)
                else []
            ):
                yield from self._visit(default, scope, _get_span(default))
            scope = f"{scope}.{node.name}".lstrip(".")
            for statement in node.body:
                yield from self._visit(statement, scope, span)
            return
        if isinstance(node, ast.stmt):
            compound = hasattr(node, "body")
            span = (node.lineno, node.body[0].lineno - 1 if compound else _get_end(node))
            span = (span[0], max(span))
        for old, new, line, column in self._find_replacements(node):
            text = self._lines[line - 1]
            margin = len(text) - len(text.lstrip())
            yield Mutation(self._path, text.strip(), column - margin, old, new, line, scope, *span)
        for child in _list_children(node):
            yield from self._visit(child, scope, span)

    def _find_replacements(self, node: ast.AST) -> Iterator[tuple[str, str, int, int]]:
        """Find what can be replaced of a node itself: old, new, line, column."""
        match node:
            case ast.BinOp() | ast.AugAssign() | ast.Compare() | ast.BoolOp():
                for left, right, table in _list_operators(node):
                    yield from self._replace_operator(left, right, table)
            case ast.UnaryOp(op=ast.Not()):
                yield ("not", "", *self._start(node))
            case ast.UnaryOp(op=ast.USub()):
                yield ("-", "+", *self._start(node))
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                line, column = self._start(node)
                old = self._lines[line - 1][column : self._column(line, node.end_col_offset or 0)]
                yield from ((old, new, line, column) for new in _replace_number(value))
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _REPLACED_NAMES:
                line = _get_end(node)
                column = self._column(line, node.end_col_offset or 0) - len(name)
                yield name, _REPLACED_NAMES[name], line, column
            case ast.Slice():
                yield from self._replace_bounds(node)

    def _replace_bounds(self, node: ast.Slice) -> Iterator[tuple[str, str, int, int]]:
        """Move the bounds of a slice that are no numbers."""
        for bound in (node.lower, node.upper):
            if bound and not isinstance(bound, ast.Constant) and bound.lineno == bound.end_lineno:
                line, column = self._start(bound)
                old = self._lines[line - 1][column : self._column(line, bound.end_col_offset or 0)]
                yield old, f"({old}) + 1", line, column

    def _replace_operator(
        self, left: ast.expr, right: ast.expr, table: Mapping[str, str]
    ) -> Iterator[tuple[str, str, int, int]]:
        """Find the operator between two operands."""
        start = (_get_end(left), self._column(_get_end(left), left.end_col_offset or 0))
        end = self._start(right)
        between = [one for one in self._tokens if start <= one.start < end and one.string not in "()"]
        old = " ".join(one.string for one in between)
        if old in table and between[0].start[0] == between[-1].start[0]:
            yield (old, table[old], *between[0].start)

    def _start(self, node: ast.AST) -> tuple[int, int]:
        return node.lineno, self._column(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def _column(self, line: int, offset: int) -> int:
        """Convert an offset in bytes into one in characters."""
        return len(self._lines[line - 1].encode()[:offset].decode())


def _list_operators(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, Mapping[str, str]]]:
    """List the operands on both sides of each operator of a node, and what may replace the operator."""
    match node:
        case ast.BinOp(left=left, right=right) if not _joins_texts(left, right):
            yield left, right, _REPLACED_OPERATORS
        case ast.AugAssign(target=left, value=right) if not _joins_texts(left, right):
            yield left, right, {f"{old}=": f"{new}=" for old, new in _REPLACED_OPERATORS.items()}
        case ast.Compare(left=first, comparators=others):
            for left, right in pairwise([first, *others]):
                for place in (0, 1):
                    table = {
                        old: new[place] for old, new in _REPLACED_COMPARISONS.items() if len(new) > place
                    }
                    yield left, right, table
        case ast.BoolOp(values=values):
            for left, right in pairwise(values):
                yield left, right, {"and": "or", "or": "and"}


def _replace_number(value: float) -> tuple[str, ...]:
    if isinstance(value, int):
        return (str(value + 1), str(value - 1) if value else "-1")
    if value == 0.0:
        return ("1.0",)
    return (repr(value * 1000.0) if abs(value) < _TOLERANCE else repr(value * 1.001),)


def _is_untouched(node: ast.AST) -> bool:
    """Say whether nothing below a node is replaced."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if name.strip("_").lower() in _LOGGERS:
            return True
        case ast.FunctionDef(name=name):
            return name in _REPRESENTATIONS
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.keyword(arg=name):
            return name == "__all__" or name in COSMETIC
    return False


def _list_children(node: ast.AST) -> list[ast.AST]:
    """List what is visited below a node: no annotations and no types."""
    match node:
        case ast.AnnAssign(value=value):
            return [value] if value else []
        case ast.Call(func=ast.Name(id="isinstance"), args=[what, _]):
            return [what]
        case ast.arguments():
            return [*node.defaults, *(one for one in node.kw_defaults if one)]
    return list(ast.iter_child_nodes(node))


def _joins_texts(left: ast.expr, right: ast.expr) -> bool:
    """Say whether an operator joins texts, lists or types, where another one would only fail."""
    for one in (left, right):
        if isinstance(one, _COLLECTIONS) or (
            isinstance(one, ast.Constant) and isinstance(one.value, str | None)
        ):
            return True
        if isinstance(one, ast.Name) and one.id in _TYPES:
            return True
    return False


def _get_span(node: ast.expr) -> tuple[int, int]:
    return node.lineno, _get_end(node)


def _get_end(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", None) or node.lineno)  # type: ignore[attr-defined]


def find_again(mutation: Mutation, source: str) -> dict[str, int]:
    """Find where a mutation stands in a source that may have changed elsewhere.

    Parameters
    ----------
    mutation : Mutation
        The mutation.
    source : str
        The text of its file.

    Returns
    -------
    dict of str to int
        Its ``line``, ``first`` and ``last``, of the place nearest to the old one; empty if it is not there.
    """
    with contextlib.suppress(LookupError):
        mutation.apply(source)
        return {"line": mutation.line, "first": mutation.first, "last": mutation.last}
    same = [
        one for place in list_mutations(source, mutation.path) for one in place if one.key == mutation.key
    ]
    if not same:
        return {}
    nearest = min(same, key=lambda one: abs(one.line - mutation.line))
    return {"line": nearest.line, "first": nearest.first, "last": nearest.last}
