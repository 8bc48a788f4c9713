"""A fitted model of several targets: the same terms for all, with coefficients for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError, nearest
from symscreen.export.computed import computed
from symscreen.export.formula import Formula, summed, warn_of_gaps
from symscreen.export.latex import column_latex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expression import Expression

__all__ = ["SharedFormula", "predicted_each", "shared_formula"]


@dataclass(frozen=True, slots=True)
class SharedFormula:
    """K models ``target_t = intercept_t + Σ_j coefficient_tj · term_j`` of the same terms.

    Parameters
    ----------
    targets : tuple of str, length K
        The names of the columns that it predicts, no two alike; at least one.
    intercepts : tuple of float, length K
        Finite.
    coefficients : tuple of K tuples of float, each of length k
        Finite; k is at most 400.
    terms : tuple of Expression, length k
        The features.

    Raises
    ------
    FormulaError
        If numbers and targets or terms do not go together, a target is named twice, or a number anywhere is
        not finite.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> both = SharedFormula(("u", "v"), (1.0, 0.0), ((2.0, -1.0), (0.5, 3.0)), (parse("x1**2"), parse("x2")))
    >>> print(*both.equations, sep="; ")
    u = 1 + 2*x1**2 - x2; v = 0.5*x1**2 + 3*x2
    >>> both.predict({"x1": [1.0, 2.0], "x2": [0.0, 1.0]}).tolist()
    [[3.0, 0.5], [8.0, 5.0]]
    """

    targets: tuple[str, ...]
    intercepts: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    terms: tuple[Expression, ...]

    def __post_init__(self) -> None:
        targets = tuple(map(str, self.targets))
        if not len(targets) == len(self.intercepts) == len(self.coefficients) or not targets:
            raise FormulaError(
                f"{len(targets)} targets with {len(self.intercepts)} intercepts and "
                f"{len(self.coefficients)} lists of coefficients; give one of each for at least one target"
            )
        twice = [name for name in targets if targets.count(name) > 1]
        if twice:
            raise FormulaError(f"the target {twice[0]!r} stands twice; give each once")
        object.__setattr__(self, "targets", targets)
        formulas = self.with_all_terms  # which check, and make numbers plain
        plain = {
            "intercepts": tuple(one.intercept for one in formulas),
            "coefficients": tuple(one.coefficients for one in formulas),
            "terms": tuple(self.terms),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return "\n".join(self.equations)

    def _repr_latex_(self) -> str:
        lines = r" \\ ".join(f"{column_latex(one.target)} = {one.latex()}" for one in self.formulas)
        return rf"$\begin{{gathered}}{lines}\end{{gathered}}$"

    @property
    def with_all_terms(self) -> tuple[Formula, ...]:
        """The model of each target, terms of coefficient 0 not left out."""
        each = zip(self.targets, self.intercepts, self.coefficients, strict=True)
        return tuple(Formula(*one, self.terms) for one in each)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The model of each target, without terms of coefficient 0, which play no part in it."""
        return tuple(_in_use(one) for one in self.with_all_terms)

    @property
    def equations(self) -> tuple[str, ...]:
        """``target = text`` of each target."""
        return tuple(one.equation for one in self.formulas)

    @property
    def complexity(self) -> int:
        """Add up the terms' complexities and one for each; how many targets there are counts nothing."""
        return self.with_all_terms[0].complexity

    def of(self, target: str) -> Formula:
        """Return the model of one target.

        Raises
        ------
        FormulaError
            If there is none of that name.
        """
        if target not in self.targets:
            raise FormulaError(f"there is no target {target!r}{nearest(target, self.targets)}")
        return self.formulas[self.targets.index(target)]

    def rounded(self, digits: int) -> SharedFormula:
        """Round every number, as `Formula.rounded` does."""
        return shared_formula([one.rounded(digits) for one in self.with_all_terms])

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the targets on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the terms need; an array has columns x1 … xd.

        Returns
        -------
        float64 array, shape (m, K)
            A column for each of `targets`; NaN where a term is undefined or an input is missing.

        Raises
        ------
        TableError
            If an input is missing or not numeric.

        Warns
        -----
        UserWarning
            If some predictions are NaN, with the counts.
        """
        return predicted_each(self, rows, stacklevel=3)


def _in_use(formula: Formula) -> Formula:
    used = [pair for pair in zip(formula.coefficients, formula.terms, strict=True) if pair[0] != 0.0]
    coefficients, terms = zip(*used, strict=True) if used else ((), ())
    return Formula(formula.target, formula.intercept, coefficients, terms)


def shared_formula(formulas: list[Formula] | tuple[Formula, ...]) -> SharedFormula:
    """Put models of the same terms together; at least one.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> terms = (parse("x"),)
    >>> shared_formula([Formula("u", 1.0, (2.0,), terms), Formula("v", 0.0, (3.0,), terms)]).targets
    ('u', 'v')
    """
    return SharedFormula(
        tuple(one.target for one in formulas),
        tuple(one.intercept for one in formulas),
        tuple(one.coefficients for one in formulas),
        formulas[0].terms,
    )


def predicted_each(formula: SharedFormula, rows: Any, *, stacklevel: int) -> NDArray[np.float64]:
    """Predict as `SharedFormula.predict` does, with the warning laid at the door of a caller further up."""
    values = computed(formula.terms, rows)
    used = [np.array(own, dtype=np.float64) != 0.0 for own in formula.coefficients]
    totals = np.stack(
        [summed(one, values[own]) for one, own in zip(formula.formulas, used, strict=True)], axis=1
    )
    warn_of_gaps(formula.terms, values, np.asarray(np.isnan(totals).any(axis=1)), stacklevel=stacklevel + 1)
    return totals
