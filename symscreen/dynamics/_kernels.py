"""Compiled kernels of the integration of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from symscreen._typing import Integers, Values


COLUMN, CONSTANT, NUMBER = range(3)
_ALGEBRAIC = ("id", "neg", "abs", "square", "cube", "sqrt", "cbrt", "inv", "exp", "log")
_WAVES = ("sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh")
_BINARY = ("add", "sub", "mul", "div", "pow", "absdiff", "min", "max")
_FIRST_ALGEBRAIC, _FIRST_WAVE, _FIRST_BINARY = 10, 30, 50
CODES = {
    name: first + place
    for first, names in ((_FIRST_ALGEBRAIC, _ALGEBRAIC), (_FIRST_WAVE, _WAVES), (_FIRST_BINARY, _BINARY))
    for place, name in enumerate(names)
}
"""The code of each operator that the kernel knows."""


@compile_kernel
def integrate_program(
    instructions: Integers,
    numbers: Values,
    ends: Integers,
    steps: Values,
    inputs: Values,
    starts: Values,
    constants: Values,
    depth: int,
    result: Values,
) -> None:
    """Integrate a system over all segments by the classical Runge-Kutta method.

    Parameters
    ----------
    instructions : int64 array, shape (m, 2)
        The rates of all states in postfix notation: codes and operands.
    numbers : float64 array, shape (k,)
        The fixed numbers in the rates.
    ends : int64 array, shape (s,)
        Where the instructions of each rate end.
    steps : float64 array, shape (g, l − 1)
        Time steps between samples.
    inputs : float64 array, shape (u, g, l − 1, 2·parts + 1)
        The inputs at the ends and the middles of the parts of each step.
    starts : float64 array, shape (s, g, b)
        Start states.
    constants : float64 array, shape (p, b)
        Constants.
    depth : int
        How many values the rates need at once.
    result : float64 array, shape (s, g, l, b)
        The states at the samples.
    """
    n_states, n_segments, n_batch = starts.shape
    n_parts = (inputs.shape[3] - 1) // 2
    stack = np.empty((depth, n_batch))
    states, trial = np.empty((n_states, n_batch)), np.empty((n_states, n_batch))
    rates, total = np.empty((n_states, n_batch)), np.empty((n_states, n_batch))
    for segment in range(n_segments):
        _copy(starts[:, segment], states)
        _copy(states, result[:, segment, 0])
        for step in range(steps.shape[1]):
            h = steps[segment, step] / n_parts
            for part in range(n_parts):
                for stage in range(4):
                    ahead = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
                    _add_scaled(states, ahead, rates, trial)
                    now = inputs[:, segment, step, 2 * part + (stage + 1) // 2]
                    _compute_rates(instructions, numbers, ends, trial, now, constants, stack, rates)
                    if stage == 0:
                        _copy(rates, total)
                    else:
                        _add_scaled(total, 1.0 if stage == 3 else 2.0, rates, total)
                _add_scaled(states, h / 6.0, total, states)
            _copy(states, result[:, segment, step + 1])


@compile_kernel
def _copy(source: Values, target: Values) -> None:
    """Copy a matrix."""
    for row in range(source.shape[0]):
        for b in range(source.shape[1]):
            target[row, b] = source[row, b]


@compile_kernel
def _add_scaled(base: Values, factor: float, change: Values, result: Values) -> None:
    """Write base + factor·change into a matrix; a factor of 0 leaves the change out."""
    for row in range(base.shape[0]):
        for b in range(base.shape[1]):
            result[row, b] = base[row, b] if factor == 0.0 else base[row, b] + factor * change[row, b]


@compile_kernel
def _compute_rates(
    instructions: Integers,
    numbers: Values,
    ends: Integers,
    states: Values,
    inputs: Values,
    constants: Values,
    stack: Values,
    rates: Values,
) -> None:
    """Compute the rates of all states, shape (s, b), by a stack of rows of b values."""
    line = 0
    for state in range(len(rates)):
        height = -1
        while line < ends[state]:
            code, operand = instructions[line, 0], instructions[line, 1]
            line += 1
            if code == COLUMN and operand < len(states):
                height += 1
                stack[height] = states[operand]
            elif code == COLUMN:
                height += 1
                stack[height] = inputs[operand - len(states)]
            elif code == CONSTANT:
                height += 1
                stack[height] = constants[operand]
            elif code == NUMBER:
                height += 1
                stack[height] = numbers[operand]
            elif code < _FIRST_WAVE:
                _apply_algebraic(code, stack[height])
            elif code < _FIRST_BINARY:
                _apply_wave(code, stack[height])
            else:
                height -= 1
                _apply_binary(code, stack[height], stack[height + 1])
        rates[state] = stack[0]


@compile_kernel
def _apply_algebraic(code: int, values: Values) -> None:
    """Apply one of the first unary operators in place; the identity changes nothing."""
    for b in range(len(values)):
        x = values[b]
        if code == 11:
            values[b] = -x
        elif code == 12:
            values[b] = abs(x)
        elif code == 13:
            values[b] = x * x
        elif code == 14:
            values[b] = x * x * x
        elif code == 15:
            values[b] = np.sqrt(x)
        elif code == 16:
            values[b] = np.cbrt(x)
        elif code == 17:
            values[b] = 1.0 / x
        elif code == 18:
            values[b] = np.exp(x)
        elif code == 19:
            values[b] = np.log(x)


@compile_kernel
def _apply_wave(code: int, values: Values) -> None:
    """Apply a trigonometric or hyperbolic function in place."""
    for b in range(len(values)):
        x = values[b]
        if code == 30:
            values[b] = np.sin(x)
        elif code == 31:
            values[b] = np.cos(x)
        elif code == 32:
            values[b] = np.tan(x)
        elif code == 33:
            values[b] = np.tanh(x)
        elif code == 34:
            values[b] = np.sinh(x)
        elif code == 35:
            values[b] = np.cosh(x)
        elif code == 36:
            values[b] = np.arcsin(x)
        elif code == 37:
            values[b] = np.arccos(x)
        elif code == 38:
            values[b] = np.arctan(x)
        else:
            values[b] = np.arcsinh(x)


@compile_kernel
def _apply_binary(code: int, left: Values, right: Values) -> None:
    """Apply a binary operator; the result is in the place of the first operand."""
    for b in range(len(left)):
        x, y = left[b], right[b]
        if code == 50:
            left[b] = x + y
        elif code == 51:
            left[b] = x - y
        elif code == 52:
            left[b] = x * y
        elif code == 53:
            left[b] = x / y
        elif np.isnan(x) or np.isnan(y):
            left[b] = np.nan
        elif code == 54:
            left[b] = x**y
        elif code == 55:
            left[b] = abs(x - y)
        else:
            left[b] = min(x, y) if code == 56 else max(x, y)
