"""Fits from several starts, of which the one with the least loss is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symscreen.multistage.fitting import Step, descend
from symscreen.multistage.losses import HINGE, PSI
from symscreen.multistage.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from symscreen.multistage.blocks import Precision
    from symscreen.multistage.fitting import Penalties, Problem
    from symscreen.multistage.model import Factors

__all__ = ["Attempt", "best_attempt"]


@dataclass(frozen=True, eq=False)
class Attempt:
    """One fit.

    Parameters
    ----------
    factors : Factors
        Where it ended.
    trace : list of Step
        The loss at the start and after each block.
    rounds : int
        Rounds made.
    converged : bool
        Whether the tolerance was met.
    """

    factors: Factors
    trace: list[Step]
    rounds: int
    converged: bool


def best_attempt(
    problem: Problem,
    starts: Iterable[Factors],
    penalties: Penalties,
    precision: Precision,
    *,
    tolerance: float,
    rounds: int,
    hinge_first: bool,
    callback: Callable[[Step], Any] | None,
    show: bool,
) -> Attempt:
    """Fit from each start; keep the best.

    Parameters
    ----------
    problem, penalties, precision
        As for `descend`.
    starts : iterable of Factors
        One at least; changed in place.
    tolerance, rounds : float, int
        When each fit stops.
    hinge_first : bool
        Whether a fit of the ψ-loss begins from the hinge's solution, which leads near a good local minimum.
    callback, show
        As for `Progress`.

    Returns
    -------
    Attempt
        The first of equals.
    """
    found = []
    for factors in starts:
        trace: list[Step] = []
        limits: dict[str, Any] = {"tolerance": tolerance, "iterations": rounds}
        if precision.loss == PSI and hinge_first:
            descend(problem, factors, penalties, replace(precision, loss=HINGE), tell=_nobody, **limits)
        with Progress(trace, rounds, callback, show=show) as tell:
            ended = descend(problem, factors, penalties, precision, tell=tell, **limits)
        found.append(Attempt(factors, trace, *ended))
    return min(found, key=lambda one: one.trace[-1].loss)


def _nobody(step: Step) -> None:
    """Tell nobody."""
