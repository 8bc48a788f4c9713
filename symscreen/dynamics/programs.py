"""Write the rates of a system as a program in postfix notation, which a compiled kernel integrates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics._kernels import CODES, COLUMN, CONSTANT, NUMBER
from symscreen.expressions.traversal import fold_expression
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Integers, Values
    from symscreen.dynamics.equations import Equation, System
    from symscreen.expressions.tree import Call, Constant, Expression

    Lines = list[tuple[int, int]]


_MULTIPLY, _ADD = CODES["mul"], CODES["add"]


@dataclass(frozen=True, eq=False)
class RateProgram:
    """The rates of all states of a system in postfix notation.

    Parameters
    ----------
    instructions : int64 array, shape (m, 2)
        Codes and operands.
    numbers : float64 array, shape (k,)
        The fixed numbers.
    ends : int64 array, shape (s,)
        Where the instructions of each rate end.
    depth : int
        How many values the rates need at once.
    """

    instructions: Integers
    numbers: Values
    ends: Integers
    depth: int


def write_program(system: System, columns: Sequence[str]) -> RateProgram | None:
    """Write the rates of a system as a program.

    Parameters
    ----------
    system : System
        The system.
    columns : sequence of str
        The states of the system, then the inputs.

    Returns
    -------
    RateProgram or None
        None if an operator has no code in the kernel, as operators that users define.
    """
    places = {name: place for place, name in enumerate(columns)}
    n_dynamic = len(system.equations)
    lines: Lines = []
    numbers: list[float] = []
    ends, n_constants = [], 0
    for velocity in system.states[n_dynamic:]:
        lines.append((COLUMN, places[velocity]))
        ends.append(len(lines))
    try:
        for equation in system.equations:
            lines += _write_equation(equation, places, n_constants, numbers)
            n_constants += len(equation.constants)
            ends.append(len(lines))
    except KeyError:
        return None
    depth = _find_depth(lines)
    return RateProgram(
        np.array(lines, dtype=np.int64), np.array([*numbers, 0.0]), np.array(ends, dtype=np.int64), depth
    )


def _write_equation(
    equation: Equation, places: dict[str, int], first_constant: int, numbers: list[float]
) -> Lines:
    """Write a sum of terms with coefficients."""
    inner = first_constant + len(equation.terms)

    def write_number(number: Constant) -> Lines:
        nonlocal inner
        if number.fitted:
            inner += 1
            return [(CONSTANT, inner - 1)]
        numbers.append(float(number.value))
        return [(NUMBER, len(numbers) - 1)]

    def write_call(call: Call, arguments: list[Lines]) -> Lines:
        operator = call.operator
        if OPERATORS[operator.name].numeric is not operator.numeric:
            raise KeyError(operator.name)  # another operator of this name
        return [*(line for each in arguments for line in each), (CODES[operator.name], 0)]

    def write(term: Expression) -> Lines:
        return fold_expression(
            term, column=lambda name: [(COLUMN, places[name])], number=write_number, call=write_call
        )

    lines: Lines = []
    for place, term in enumerate(equation.terms):
        lines += [(CONSTANT, first_constant + place), *write(term), (_MULTIPLY, 0)]
        if place:
            lines.append((_ADD, 0))
    return lines


def _find_depth(lines: Lines) -> int:
    """Return the largest number of values on the stack."""
    binary = {code for name, code in CODES.items() if OPERATORS[name].arity == 2}
    height = largest = 0
    for code, _ in lines:
        height += 1 if code in {COLUMN, CONSTANT, NUMBER} else (-1 if code in binary else 0)
        largest = max(largest, height)
    return largest
