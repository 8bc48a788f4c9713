"""The one formula notation: text to a syntax tree, nothing evaluated.

Python's operators ``+ - * / **`` with Python's precedence, calls of operators by name, numbers, and columns:
a plain identifier, or anything at all between backticks (a backtick inside is doubled). Some notations are
short forms: ``x**2`` is ``square(x)``, ``x**3`` is ``cube(x)``, ``1/x`` is ``inv(x)``, ``-x`` is ``neg(x)``
and ``abs(a - b)`` is ``absdiff(a, b)``. Parentheses keep a part from being drawn into a short form:
``x**(2)`` is ``pow(x, 2)``.
"""

from __future__ import annotations

import re
import reprlib
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Literal

from symscreen.errors import FormulaError

__all__ = ["MAX_FORMULA_CHARS", "MAX_FORMULA_DEPTH", "SyntaxNode", "parse_formula", "quote_column"]

MAX_FORMULA_CHARS = 10_000
MAX_FORMULA_DEPTH = 150

_TOKEN_PATTERN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<column>`(?:[^`]|``)*`)
      | (?P<name>[^\W\d]\w*)
      | (?P<mark>\*\*|[-+*/(),])
    )""",
    re.VERBOSE,
)
_INFIX: dict[str, tuple[int, str]] = {"+": (10, "add"), "-": (10, "sub"), "*": (20, "mul"), "/": (20, "div")}
_NAMED_POWERS = {2: "square", 3: "cube"}


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    """A node of a parsed formula.

    Parameters
    ----------
    kind : {"number", "name", "column", "call"}
        ``name`` is a bare identifier, ``column`` one in backticks.
    value : int, float or str
        The number, the name, or the name of the operator called.
    arguments : tuple of Syntax
        A call's arguments.
    position : int
        Where in the text it begins, from 0.
    parenthesised : bool
        Whether it stood in parentheses of its own.
    depth : int
        The longest path down from here.
    """

    kind: Literal["number", "name", "column", "call"]
    value: float | str
    arguments: tuple[SyntaxNode, ...] = ()
    position: int = 0
    parenthesised: bool = False
    depth: int = 0


def quote_column(name: str, reserved_names: frozenset[str] = frozenset()) -> str:
    """Write a column's name as a formula has it: bare if it is a plain identifier, else in backticks.

    Parameters
    ----------
    name : str
        Any text.
    taken : frozenset of str
        Identifiers that mean something else bare, such as operators' names.

    Returns
    -------
    str

    Examples
    --------
    >>> quote_column("x1"), quote_column("a b"), quote_column("lambda"), quote_column("`")
    ('x1', '`a b`', '`lambda`', '````')
    """
    # Python's identifiers may hold marks (e and a combining accent) that `_TOKEN` does not know
    plain = name.isidentifier() and re.fullmatch(r"[^\W\d]\w*", name)
    if plain and not iskeyword(name) and name not in reserved_names and name != "pi":
        return name
    return "`" + name.replace("`", "``") + "`"


def parse_formula(text: str) -> SyntaxNode:
    """Parse a formula into a syntax tree; nothing is looked up and nothing is evaluated.

    Parameters
    ----------
    text : str
        At most 10,000 characters, nested at most 150 deep.

    Returns
    -------
    Syntax

    Raises
    ------
    FormulaError
        With the place and what was expected there.

    Examples
    --------
    >>> tree = parse_formula("x1 - cos(x2)/x1")
    >>> tree.value, [argument.value for argument in tree.arguments]
    ('sub', ['x1', 'div'])
    """
    if len(text) > MAX_FORMULA_CHARS:
        raise FormulaError(
            f"a formula of {len(text)} characters is too long; at most {MAX_FORMULA_CHARS} are read"
        )
    parser = _Parser(text, _tokenize(text))
    tree = parser.parse_expression(0, 0)
    parser.check_end()
    return tree


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int


def _tokenize(text: str) -> list[_Token]:
    tokens, place = [], 0
    end = len(text.rstrip())
    while place < end:
        match = _TOKEN_PATTERN.match(text, place)
        if match is None or match.lastgroup is None:
            bad = place + len(text[place:]) - len(text[place:].lstrip())
            raise _build_error(text, bad, _explain_invalid_character(text[bad]))
        tokens.append(_Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
        place = match.end()
    return [*tokens, _Token("end", "", end)]


def _explain_invalid_character(character: str) -> str:
    match character:
        case "^":
            return "'^' is not used; write a power as x**2"
        case "`":
            return "this backtick is never closed"
        case "=":
            return "'=' has no place in a formula; give its right-hand side only"
        case _:
            return f"the character {character!r} has no meaning here; put unusual column names in backticks"


def _build_error(text: str, position: int, reason: str) -> FormulaError:
    start = max(0, position - 20)
    shown = ("…" if start else "") + text[start : position + 20] + ("…" if position + 20 < len(text) else "")
    return FormulaError(f"formula {shown!r}, character {position + 1}: {reason}")


class _Parser:
    """Precedence climbing; the only state is the place in the list of tokens."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text, self._tokens, self._position = text, tokens, 0

    def _peek(self) -> _Token:
        return self._tokens[self._position]

    def _take(self, text: str) -> bool:
        if self._peek().text == text:
            self._position += 1
            return True
        return False

    def _require(self, text: str) -> None:
        if not self._take(text):
            raise self._build_unexpected_error(f"expected {text!r}")

    def _build_unexpected_error(self, reason: str) -> FormulaError:
        token = self._peek()
        what = "the end" if token.kind == "end" else reprlib.repr(token.text)
        return _build_error(self._text, token.position, f"{reason}, found {what}")

    def check_end(self) -> None:
        if self._peek().kind != "end":
            raise self._build_unexpected_error("expected an operator or the end")

    def _make_node(self, name: str, arguments: tuple[SyntaxNode, ...], position: int) -> SyntaxNode:
        depth = 1 + max(argument.depth for argument in arguments)
        self._check_depth(depth, position)
        return SyntaxNode("call", name, arguments, position, depth=depth)

    def _check_depth(self, depth: int, position: int) -> None:
        if depth > MAX_FORMULA_DEPTH:
            raise _build_error(self._text, position, f"nested more than {MAX_FORMULA_DEPTH} deep")

    def parse_expression(self, min_precedence: int, depth: int) -> SyntaxNode:
        left = self._parse_signed(depth)
        while True:
            token = self._peek()
            precedence, name = _INFIX.get(token.text, (0, ""))
            if precedence <= min_precedence:
                return left
            self._position += 1
            right = self.parse_expression(precedence, depth + 1)
            if name == "div" and _get_bare_number(left) == 1:
                left = self._make_node("inv", (right,), token.position)
            else:
                left = self._make_node(name, (left, right), token.position)

    def _parse_signed(self, depth: int) -> SyntaxNode:
        token = self._peek()
        self._check_depth(depth, token.position)
        if self._take("-"):
            # −x**2 is −(x**2): the sign binds less than the power
            inner = self._parse_signed(depth + 1)
            number = _get_bare_number(inner)
            if number is not None:
                return replace(inner, value=-number, position=token.position)
            return self._make_node("neg", (inner,), token.position)
        if self._take("+"):
            return self._parse_signed(depth + 1)
        return self._parse_power(depth)

    def _parse_power(self, depth: int) -> SyntaxNode:
        base = self._parse_atom(depth)
        token = self._peek()
        if not self._take("**"):
            return base
        exponent = self._parse_signed(depth + 1)
        number = _get_bare_number(exponent)
        if number in _NAMED_POWERS:
            return self._make_node(_NAMED_POWERS[int(number)], (base,), token.position)
        return self._make_node("pow", (base, exponent), token.position)

    def _parse_atom(self, depth: int) -> SyntaxNode:
        token = self._peek()
        if self._take("("):
            inner = self.parse_expression(0, depth + 1)
            self._require(")")
            return replace(inner, parenthesised=True)
        if token.kind not in {"number", "column", "name"}:
            raise self._build_unexpected_error("expected a column, a number or an operator's name")
        self._position += 1
        if token.kind == "number":
            return SyntaxNode("number", _parse_number(self._text, token), (), token.position)
        if token.kind == "column":
            return SyntaxNode("column", token.text[1:-1].replace("``", "`"), (), token.position)
        if self._take("("):
            return self._parse_call(token, depth)
        return SyntaxNode("name", token.text, (), token.position)

    def _parse_call(self, name: _Token, depth: int) -> SyntaxNode:
        arguments = [self.parse_expression(0, depth + 1)]
        while self._take(","):
            arguments.append(self.parse_expression(0, depth + 1))
        self._require(")")
        match name.text, arguments:
            case "abs", [SyntaxNode(kind="call", value="sub", parenthesised=False) as difference]:
                return self._make_node("absdiff", difference.arguments, name.position)
        return self._make_node(name.text, tuple(arguments), name.position)


def _get_bare_number(node: SyntaxNode) -> float | None:
    if node.kind == "number" and not node.parenthesised and not isinstance(node.value, str):
        return node.value
    return None


def _parse_number(text: str, token: _Token) -> float:
    if token.text.isdecimal() and len(token.text) <= 15:
        return int(token.text)
    value = float(token.text)
    if value == float("inf"):
        raise _build_error(text, token.position, f"the number {token.text[:20]} is too large")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
