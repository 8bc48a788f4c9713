"""The LASSO in glmnet's conventions (Friedman, Hastie and Tibshirani 2010), cross-validated.

Features are standardised inside, the response is centred, and a path holds 100 λ by default. All of them are
computed: glmnet's early stop, once the deviance hardly changes any more, is not applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.screeners.joint import JointScreener, Option, Path, Verdict
from symscreen.screeners.path_verdict import (
    best_step,
    entry_lambda,
    one_error_step,
    path_direction,
    path_loss,
)
from symscreen.statistics.folds import error_over_folds, folds_of
from symscreen.statistics.lasso import glmnet_sequence, lasso_coefficients
from symscreen.statistics.standard import Standardised, standardised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from symscreen.screeners.joint import Shown

    Values = NDArray[np.float64]

__all__ = ["LASSO", "CrossValidated", "lasso_cv", "lasso_path"]

_FARTHEST = 1e100  # spreads from its mean; a row left out that lies farther would have an infinite square
_WORK = {"sklearn": 5e10, "glmnet": 5e9}  # fits · q·n · min(q, n), in about 20 s where few features matter
_LEAST, _MOST = 20, 10_000  # features
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """A LASSO path and what cross-validation says of it; s penalties, q features.

    Parameters
    ----------
    path : Path
        On all rows, with the cross-validated mean squared error.
    coefficients : float64 array, shape (s, q)
        Of the standardised features, in the response's unit.
    standard_error : float64 array, shape (s,), of the mean squared error
    stability : float64 array, shape (s, q)
        The share of the folds in which a feature's coefficient is not zero.
    best, one_error : int
        The rows of λ.min, of least error, and of λ.1se, the largest whose error is within one standard error
        of the least.
    missed : tuple of str
        Where the solver did not converge, in words.
    """

    path: Path
    coefficients: Values
    standard_error: Values
    stability: Values
    best: int
    one_error: int
    missed: tuple[str, ...]


def lasso_path(
    values: ArrayLike, target: ArrayLike, *, lambdas: ArrayLike | None = None, engine: str = "sklearn"
) -> Path:
    """Compute the LASSO's coefficients along a path of penalties.

    Parameters
    ----------
    values : array, shape (q, n)
        One row a feature; finite, q ≥ 1.
    target : array, shape (n,)
        The response; finite.
    lambdas : array, shape (s,), optional
        Penalties, positive, in the response's unit; by default glmnet's 100.
    engine : {"sklearn", "glmnet"}
        The solver, as for `symscreen.statistics.lasso.lasso_coefficients`.

    Returns
    -------
    Path
        From the largest λ down, without errors.

    Raises
    ------
    OptionError
        If the engine is unknown or not installed, or a λ is not a positive number.

    Examples
    --------
    >>> path = lasso_path([[10.0, 30.0, 10.0, 30.0]], [-3.0, 3.0, -3.0, 3.0], lambdas=[3.0, 1.0])
    >>> path.coefficients.round(6).tolist(), path.intercepts.round(6).tolist()
    ([[0.0], [0.2]], [0.0, -4.0])
    """
    fit = _on_all_rows(np.asarray(values, np.float64), np.asarray(target, np.float64), lambdas, engine)
    return fit.path(np.full(fit.lambdas.size, np.nan))


def lasso_cv(
    values: ArrayLike,
    target: ArrayLike,
    folds: ArrayLike,
    *,
    lambdas: ArrayLike | None = None,
    engine: str = "sklearn",
) -> CrossValidated:
    """Cross-validate the LASSO as cv.glmnet does where it is given the penalties: every fold at all of them.

    Parameters
    ----------
    values : array, shape (q, n)
        One row a feature; finite, q ≥ 1.
    target : array, shape (n,)
        The response; finite.
    folds : array, shape (n,)
        The fold of each row: two labels or more. Each fit standardises the features anew.
    lambdas, engine
        As for `lasso_path`.

    Returns
    -------
    CrossValidated
        With error and standard error as `symscreen.statistics.folds.error_over_folds` has them.

    Raises
    ------
    OptionError
        As for `lasso_path`, or if the folds are fewer than two or do not fit the rows.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 30)
    >>> cv = lasso_cv([x, x**2], 2.0 * x, np.arange(30) % 5)
    >>> (cv.coefficients[cv.best] != 0.0).tolist()
    [True, False]
    """
    values, target = np.asarray(values, np.float64), np.asarray(target, np.float64)
    labels, fold = np.unique(np.asarray(folds), return_inverse=True)
    if labels.size < 2 or fold.shape != target.shape:
        raise OptionError(
            f"{fold.size} rows are dealt into {labels.size} folds, and the response has {target.size} rows; "
            "give every row the label of its fold, and two labels or more"
        )
    full = _on_all_rows(values, target, lambdas, engine)
    squares, stability = np.empty((full.lambdas.size, target.size)), np.zeros(full.units.shape)
    missed = _missed(engine, full.missed, full.lambdas.size, "on all rows")
    for label in range(labels.size):
        out = fold == label
        squares[:, out], inside, without = _left_out(out, values, full)
        stability += inside
        missed += _missed(engine, without, full.lambdas.size, f"without fold {label + 1}")
    error, standard_error = error_over_folds(squares, fold)
    return CrossValidated(
        full.path(_enlarged(error, 2 * full.exponent)),
        _enlarged(full.units, full.exponent),
        _enlarged(standard_error, 2 * full.exponent),
        stability / labels.size,
        best_step(error),
        one_error_step(error, standard_error),
        missed,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """A path on all rows. In units of 2^exponent the response is near 1, so that its squares are finite."""

    standard: Standardised
    engine: str
    exponent: int
    target: Values  # in these units, as are the next two
    lambdas: Values
    units: Values  # the coefficients of the standardised features, (s, q)
    missed: int

    def path(self, error: Values) -> Path:
        own, intercepts = self.standard.raw(_enlarged(self.units, self.exponent))
        return Path(_enlarged(self.lambdas, self.exponent), own, intercepts, error)


def _on_all_rows(values: Values, target: Values, lambdas: ArrayLike | None, engine: str) -> _Fit:
    standard = standardised(values, target)
    exponent = int(np.frexp(np.abs(standard.target).max())[1])
    unit = np.ldexp(standard.target, -exponent)
    if lambdas is None:
        steps = glmnet_sequence(standard.features, unit)
    else:
        steps = np.sort(np.ldexp(np.asarray(lambdas, np.float64).ravel(), -exponent))[::-1]
        if not (steps.size and np.isfinite(steps).all() and (steps > 0.0).all()):
            raise OptionError(f"the LASSO's penalties are {lambdas!r}; give positive numbers, at least one")
    units, missed = lasso_coefficients(standard.features, unit, steps, engine)
    return _Fit(standard, engine, exponent, unit, steps, units, missed)


def _left_out(out: NDArray[np.bool_], values: Values, full: _Fit) -> tuple[Values, NDArray[np.bool_], int]:
    """Fit without some rows; return the squared errors on them, (s, rows), what is selected, what missed."""
    rest = standardised(np.ascontiguousarray(values[:, ~out]), full.target[~out])
    units, missed = lasso_coefficients(rest.features, rest.target, full.lambdas, full.engine)
    with np.errstate(over="ignore"):
        away = (values[:, out] - rest.centres[:, None]) / rest.scales[:, None]
    predicted = rest.mean + units @ np.clip(away, -_FARTHEST, _FARTHEST)
    return (full.target[out] - predicted) ** 2, units != 0.0, missed


def _missed(engine: str, missed: int, steps: int, where: str) -> tuple[str, ...]:
    return (f"{engine} did not converge at {missed} of {steps} λ {where}",) if missed else ()


def _enlarged(values: Values, exponent: int) -> Values:
    """Multiply by 2^exponent; what leaves float64 stays at its largest number."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -_LARGEST, _LARGEST)


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    target = shown.numeric.values
    folds = folds_of(target.size, settings["folds"], shown.seed)
    cv = lasso_cv(shown.values, target, folds, engine=settings["engine"])
    step = cv.best if settings["rule"] == "min" else cv.one_error
    chosen, lambdas = cv.coefficients[step], cv.path.steps
    entry = entry_lambda(cv.coefficients, lambdas)
    return Verdict(
        score=chosen,
        loss=path_loss(chosen, entry, lambdas),
        selected=chosen != 0.0,
        direction=path_direction(cv.coefficients, step),
        columns={"lasso_entry": entry, "lasso_stability": cv.stability[step]},
        path=cv.path,
        record={
            "engine": settings["engine"],
            "rule": settings["rule"],
            "lambda": float(lambdas[step]),
            "lambda_min": float(lambdas[cv.best]),
            "lambda_1se": float(lambdas[cv.one_error]),
            "error": float(cv.path.error[step]),
            "standard_error": float(cv.standard_error[step]),
            "folds": int(folds.max()) + 1,
            "selected": int(np.count_nonzero(chosen)),
            "warnings": _warnings(cv, target.size, settings["folds"]),
        },
    )


def _warnings(cv: CrossValidated, rows: int, folds: int) -> list[str]:
    warnings = list(cv.missed)
    if folds > rows:
        warnings.append(f"{rows} rows make {rows} folds, each of one row, not {folds}")
    if cv.best == cv.path.steps.size - 1:
        warnings.append(
            "the cross-validated error is least at the smallest λ of the path: a model with more features "
            "may predict better"
        )
    return warnings


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    # a path has about min(q, n) knots at the most, and each costs about q·n
    fits = min(rows, settings["folds"]) + 1
    room = _WORK[settings["engine"]] / (fits * rows)
    # q·min(q, n) ≤ room
    return int(np.clip(max(room / rows, np.sqrt(room)), _LEAST, _MOST))


LASSO = JointScreener(
    name="lasso",
    judge=_judge,
    capacity=_capacity,
    blind_to="affine",
    options=(
        Option(
            "engine",
            "sklearn",
            "sklearn follows the path exactly; glmnet is R's own solver (the extra symscreen[glmnet])",
            choices=("sklearn", "glmnet"),
        ),
        Option("folds", 10, "folds of the cross-validation; more than rows are rows", least=2),
        Option(
            "rule",
            "min",
            "λ of least error, which seldom loses a true term; or the largest within a standard error, which "
            "keeps fewer false ones",
            choices=("min", "1se"),
        ),
    ),
    summary="coefficient of the LASSO at the cross-validated λ, for features of one scale; 0 where left out",
    assumes="the response is a sum of few of the features shown",
    fails="among near copies it names one, not always the true one; at λ.min it keeps false features too",
    cost="seconds for 1000 features, 1000 rows and 10 folds; a minute where nothing is sparse",
    source="Tibshirani 1996; path and cross-validation as in glmnet (Friedman, Hastie and Tibshirani 2010)",
)
