"""Differential equations as formulas: what a bundle of equations of motion contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.errors import FormulaError
from symscreen.expressions.traversal import collect_inputs

if TYPE_CHECKING:
    from symscreen.expressions.linear_formula import SharedFormula
    from symscreen.expressions.tree import Expression


@dataclass(frozen=True)
class SystemFormula:
    """The differential equations of the states of a system.

    Parameters
    ----------
    rates : SharedFormula
        The right-hand sides in the order of the states; the targets are the left sides, such as ``dx/dt``.
    time : str
        The column of times.
    states : tuple of str
        The measured states.
    order : int
        The order of the equations, 1 or 2.
    trajectory : str or None
        The column that distinguishes runs.

    Raises
    ------
    FormulaError
        If the order is neither 1 nor 2, a name is repeated, or there is not one equation for each state.

    Examples
    --------
    >>> from symscreen.expressions.linear_formula import SharedFormula
    >>> from symscreen.expressions.tree import parse_expression
    >>> terms = (parse_expression("x"), parse_expression("u"))
    >>> rates = SharedFormula(("dx/dt",), (0.0,), ((-0.5, 1.0),), terms)
    >>> system = SystemFormula(rates, "t", ("x",))
    >>> print(system)
    dx/dt = -0.5*x + u
    >>> system.inputs
    ('u',)
    """

    rates: SharedFormula
    time: str
    states: tuple[str, ...]
    order: int = 1
    trajectory: str | None = None

    def __post_init__(self) -> None:
        names = [self.time, *self.states, *([] if self.trajectory is None else [self.trajectory])]
        if self.order not in {1, 2}:
            raise FormulaError(f"equations of order {self.order}; give 1 or 2")
        if len(set(names)) < len(names):
            raise FormulaError("the time, the states and the label of runs need different names")
        if len(self.rates.targets) != len(self.states):
            raise FormulaError(
                f"{len(self.rates.targets)} equations for {len(self.states)} states; give one for each"
            )

    def __str__(self) -> str:
        # the left sides are no columns, so they are written as they are
        return "\n".join(f"{each.target} = {each.text}" for each in self.rates.formulas)

    @property
    def terms(self) -> tuple[Expression, ...]:
        """The terms of all equations."""
        return self.rates.terms

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the first derivatives, which are states of a system of second order."""
        return name_velocities(self.states, self.time) if self.order > 1 else ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that act on the system from outside, and the time if it acts; sorted."""
        own = {*self.states, *self.velocities}
        return tuple(name for name in collect_inputs(self.terms) if name not in own)


def name_velocities(states: tuple[str, ...], time: str) -> tuple[str, ...]:
    """Name the first derivatives of states, such as dx_dt."""
    return tuple(f"d{name}_d{time}" for name in states)
