"""Parse the formula notation into a syntax tree, without evaluating anything.

The notation has Python's operators ``+ - * / **`` with Python's precedence, calls of operators by name,
numbers, the constant ``pi``, and columns. A column is a plain identifier, or any text in backticks (an inner
backtick is doubled). Some notations are short forms of operators: ``x**2`` is ``square(x)``, ``x**3`` is
``cube(x)``, ``1/x`` is ``inv(x)``, ``-x`` is ``neg(x)`` and ``abs(a - b)`` is ``absdiff(a, b)``. Parentheses
prevent a short form: ``x**(2)`` is ``pow(x, 2)``.
"""

from __future__ import annotations

import math
import re
import reprlib
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Literal

from symscreen.errors import FormulaError

MAX_FORMULA_CHARS = 10_000
MAX_FORMULA_DEPTH = 150
NAMED_CONSTANTS = {"pi": math.pi}  # an identifier that is a number; everywhere this double means π exactly

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
_CONSTANT_NAMES = {value: name for name, value in NAMED_CONSTANTS.items()}
_NAMED_POWERS = {2: "square", 3: "cube"}
_EXCERPT_CHARS = 20  # characters before and after an error that a message quotes
_MAX_INTEGER_DIGITS = 15  # longer integers are floats


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    """A node of a parsed formula.

    Parameters
    ----------
    kind : {"number", "name", "column", "call"}
        ``name`` is a plain identifier, ``column`` a name in backticks.
    value : int, float or str
        The number, the name, or the name of the called operator.
    arguments : tuple of SyntaxNode
        Arguments of a call.
    position : int
        Index of its first character in the text, from 0.
    parenthesised : bool
        Whether it is enclosed in parentheses.
    depth : int
        Length of the longest path to a leaf.
    """

    kind: Literal["number", "name", "column", "call"]
    value: float | str
    arguments: tuple[SyntaxNode, ...] = ()
    position: int = 0
    parenthesised: bool = False
    depth: int = 0


def quote_column(name: str, reserved_names: frozenset[str] = frozenset()) -> str:
    """Write the name of a column as in a formula, in backticks unless it is a plain identifier.

    Parameters
    ----------
    name : str
        Any text.
    reserved_names : frozenset of str
        Identifiers with another meaning, such as names of operators.

    Returns
    -------
    str

    Examples
    --------
    >>> quote_column("x1"), quote_column("a b"), quote_column("lambda"), quote_column("`")
    ('x1', '`a b`', '`lambda`', '````')
    """
    # Python's identifiers may contain combining characters, which `_TOKEN_PATTERN` does not match.
    is_plain = name.isidentifier() and re.fullmatch(r"[^\W\d]\w*", name)
    if is_plain and not iskeyword(name) and name not in {*reserved_names, *NAMED_CONSTANTS}:
        return name
    return "`" + name.replace("`", "``") + "`"


def find_constant_name(value: float) -> str | None:
    """Return the name of a constant that the notation has one for, ``pi``; None for any other number.

    Examples
    --------
    >>> find_constant_name(math.pi), find_constant_name(3)
    ('pi', None)
    """
    return _CONSTANT_NAMES.get(value)


def parse_formula(text: str) -> SyntaxNode:
    """Parse a formula into a syntax tree, without looking up names.

    Parameters
    ----------
    text : str
        A formula of at most 10,000 characters and a nesting depth of at most 150.

    Returns
    -------
    SyntaxNode

    Raises
    ------
    FormulaError
        If the text cannot be parsed. The message gives the position and what was expected.

    Examples
    --------
    >>> tree = parse_formula("x1 - cos(x2)/x1")
    >>> tree.value, [argument.value for argument in tree.arguments]
    ('sub', ['x1', 'div'])
    """
    if len(text) > MAX_FORMULA_CHARS:
        raise FormulaError(
            f"a formula of {len(text)} characters is too long; at most {MAX_FORMULA_CHARS} are allowed"
        )
    parser = _Parser(text, _tokenize(text))
    tree = parser.parse_expression(0, 0)
    parser.check_end()
    return tree


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of a formula: a number, column, name or mark, or the end."""

    kind: str
    text: str
    position: int


def _tokenize(text: str) -> list[_Token]:
    """Split a formula into tokens."""
    tokens, position = [], 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN_PATTERN.match(text, position)
        if match is None or match.lastgroup is None:
            invalid = position + len(text[position:]) - len(text[position:].lstrip())
            raise _build_error(text, invalid, _explain_invalid_character(text[invalid]))
        tokens.append(_Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
        position = match.end()
    return [*tokens, _Token("end", "", end)]


def _explain_invalid_character(character: str) -> str:
    """Explain why a character is not part of the notation."""
    match character:
        case "^":
            return "'^' is not used; write a power as x**2"
        case "`":
            return "this backtick is never closed"
        case "=":
            return "'=' is not part of a formula; give the right-hand side only"
        case _:
            return f"the character {character!r} has no meaning here; put unusual column names in backticks"


def _build_error(text: str, position: int, reason: str) -> FormulaError:
    """Build an error with an excerpt of the formula."""
    start, stop = max(0, position - _EXCERPT_CHARS), position + _EXCERPT_CHARS
    excerpt = ("…" if start else "") + text[start:stop] + ("…" if stop < len(text) else "")
    return FormulaError(f"formula {excerpt!r}, character {position + 1}: {reason}")


class _Parser:
    """A precedence-climbing parser, whose only state is the position in the list of tokens."""

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
        found = "the end" if token.kind == "end" else reprlib.repr(token.text)
        is_second_name = token.kind == "name" and self._tokens[self._position - 1].kind == "name"
        hint = "; put a column name with blanks in backticks" if is_second_name else ""
        return _build_error(self._text, token.position, f"{reason}, found {found}{hint}")

    def check_end(self) -> None:
        """Check that all tokens were parsed."""
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
        """Parse operators whose precedence exceeds the minimum."""
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
            # −x**2 is −(x**2): the power has a higher precedence than the sign.
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
    """Return the value of a number without parentheses, else None."""
    if node.kind == "number" and not node.parenthesised and not isinstance(node.value, str):
        return node.value
    return None


def _parse_number(text: str, token: _Token) -> float:
    """Convert a token to an int if it is an integer below 10¹⁵, else to a float."""
    if token.text.isdecimal() and len(token.text) <= _MAX_INTEGER_DIGITS:
        return int(token.text)
    value = float(token.text)
    if value == float("inf"):
        raise _build_error(text, token.position, f"the number {token.text[:20]} is too large")
    return int(value) if value.is_integer() and abs(value) < 10**_MAX_INTEGER_DIGITS else value
