"""Dual coordinate descent for a weighted SVM with fixed offsets and non-negative coefficients.

For terms e with inputs x_e, signs y_e = ±1, costs c_e ≥ 0 and fixed offsets d_e it minimises::

    P(β) = ½‖β‖² + Σ_e c_e · V(y_e · (x_eᵀβ + d_e))   over β ≥ 0

Each term has one dual variable γ_e. With θ = Σ_e γ_e y_e x_e and β = max(θ, 0), the dual is maximised
coordinate by coordinate::

    hinge     D(γ) = Σ_e γ_e (1 − y_e d_e) − ½‖max(θ, 0)‖²,           0 ≤ γ_e ≤ c_e
    logistic  D(γ) = Σ_e [c_e H(γ_e/c_e) − γ_e y_e d_e] − ½‖max(θ, 0)‖²,  H(p) = −p log p − (1−p) log(1−p)

The duality gap P(β) − D(γ) bounds the distance of P(β) from its minimum. The ψ-loss is the hinge minus
max(0, −u). The second part is replaced by its tangent at the previous β: a term with u < 0 then has the box
−c_e ≤ γ_e ≤ 0. This surrogate lies above P and touches it at the previous β. Minimising a sequence of
surrogates never increases P (difference of convex functions).

If the solver stops before the tolerance is met, it takes the best point on the line between the previous and
the last coefficients, so P never increases. `symscreen.multistage._kernels` has the sweeps.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from symscreen._parameters import check_parameters
from symscreen.errors import DataError, OptionError
from symscreen.multistage._kernels import LOSS_CODES, SvmTerms, compute_losses, solve_groups

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen._typing import Values


@dataclass(frozen=True, eq=False)
class SvmSolution:
    """Result of `solve_offset_svm`.

    Parameters
    ----------
    coefficients : float64 array, shape (d,)
        Coefficients β ≥ 0.
    duals : float64 array, shape (N,)
        Dual variables γ. Pass them as `initial_duals` to continue from this solution.
    objective : float
        P(β).
    gap : float
        Upper bound of P(β) minus its minimum. For the ψ-loss, minus the minimum of the last surrogate.
    n_sweeps : int
        Number of sweeps over the terms.
    converged : bool
        Whether the gap is within the tolerance.
    """

    coefficients: Values
    duals: Values
    objective: float
    gap: float
    n_sweeps: int
    converged: bool


def solve_offset_svm(
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    offsets: ArrayLike,
    *,
    loss: str = "hinge",
    tolerance: float = 1e-6,
    max_sweeps: int = 100_000,
    initial_duals: Values | None = None,
) -> SvmSolution:
    """Minimise P(β) = ½‖β‖² + Σ_e c_e · V(y_e · (x_eᵀβ + d_e)) over β ≥ 0, by dual coordinate descent.

    Parameters
    ----------
    x : array-like, shape (N, d)
        Inputs.
    y : array-like, shape (N,)
        Signs, −1 or +1.
    cost : array-like, shape (N,)
        Costs c_e ≥ 0.
    offsets : array-like, shape (N,)
        Fixed offsets d_e.
    loss : {"hinge", "psi", "logistic"}
        Loss V. The ψ-loss is not convex: the result is the limit of its surrogates from β = 0.
    tolerance : float
        Duality gap at which to stop, as a fraction of the objective, in (0, 1).
    max_sweeps : int
        Maximum number of sweeps over the terms, at least 1.
    initial_duals : float64 array, shape (N,), optional
        Duals to start from. Default: zeros.

    Returns
    -------
    SvmSolution
        The solution. Identical input gives identical bytes.

    Raises
    ------
    DataError
        If shapes do not match, a number is not finite, a sign is not ±1 or a cost is negative.
    OptionError
        If an option is out of range.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met. `gap` bounds the excess of the objective over its minimum.

    Notes
    -----
    The number of sweeps grows with the costs. With 100 terms and 8 normal inputs, the hinge loss needs a few
    hundred sweeps at costs of 1 and tens of thousands at costs of 10. At costs of 100 and more, 100,000
    sweeps often leave a gap of 1e-5 to 1e-3 of the objective.

    The descent follows Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), the logistic loss Yu, Huang and
    Lin (2011). A block of `MonotoneChainRecommender` is such a problem with c_e = w_e/(2 λ n).

    Examples
    --------
    >>> solution = solve_offset_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    >>> solution.coefficients.tolist(), solution.objective  # ½ · 0.5² + 0 + max(0, 1 + 0)
    ([0.5, 0.0], 1.125)
    """
    check_parameters({"loss": [StrOptions(set(LOSS_CODES))]}, {"loss": loss})
    terms, fixed_offsets = _build_terms(x, y, cost, offsets)
    if not 0 < tolerance < 1 or max_sweeps < 1:
        raise OptionError(
            f"tolerance {tolerance!r} and max_sweeps {max_sweeps!r}: give a share in (0, 1) and at least 1"
        )
    n, d = terms.left.shape
    gamma = np.zeros(n) if initial_duals is None else np.array(initial_duals, dtype=np.float64)
    if gamma.shape != (n,) or not np.isfinite(gamma).all():
        raise DataError(
            f"initial_duals has shape {gamma.shape} or holds NaN: "
            f"give one finite dual for each of the {n} terms"
        )
    coefficients, diagnostics = np.zeros((1, d)), np.empty((1, 3))
    solve_groups(
        terms,
        np.array([0, n]),
        (0, 1),
        LOSS_CODES[loss],
        tolerance,
        max_sweeps,
        coefficients,
        fixed_offsets.copy(),  # the fitted values of β = 0
        gamma,
        np.empty(n),
        np.empty(n),
        diagnostics,
    )
    objective, gap, n_sweeps = diagnostics[0].tolist()
    converged = bool(gap <= tolerance * objective or n_sweeps < max_sweeps)
    if not converged:
        warnings.warn(
            f"after {n_sweeps:.0f} sweeps the gap is {gap:.3g}, {gap / objective:.1e} of the objective: "
            "increase max_sweeps or tolerance, or use smaller costs",
            ConvergenceWarning,
            stacklevel=2,
        )
    return SvmSolution(coefficients[0], gamma, objective, gap, int(n_sweeps), converged)


def compute_svm_objective(
    coefficients: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    offsets: ArrayLike,
    *,
    loss: str = "hinge",
) -> float:
    """Compute the objective P(β) from its definition.

    Parameters
    ----------
    coefficients : array-like, shape (d,)
        Coefficients β.
    x, y, cost, offsets, loss
        See `solve_offset_svm`.

    Returns
    -------
    float
        P(β) ≥ 0.

    Examples
    --------
    >>> compute_svm_objective([0.5, 0.0], [[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    1.125
    """
    check_parameters({"loss": [StrOptions(set(LOSS_CODES))]}, {"loss": loss})
    terms, fixed_offsets = _build_terms(x, y, cost, offsets)
    beta = np.asarray(coefficients, dtype=np.float64)
    margins = terms.y * (terms.left @ beta + fixed_offsets)
    return float(0.5 * (beta * beta).sum() + (terms.cost * compute_losses(margins, LOSS_CODES[loss])).sum())


def _build_terms(x: Any, y: Any, cost: Any, offsets: Any) -> tuple[SvmTerms, Values]:
    """Validate x (N, d), y, cost and offsets (N,); return them as one problem and as float64 offsets."""
    left = np.ascontiguousarray(x, dtype=np.float64)
    signs, costs, fixed_offsets = (np.asarray(array, dtype=np.float64) for array in (y, cost, offsets))
    if left.ndim != 2 or {signs.shape, costs.shape, fixed_offsets.shape} != {left.shape[:1]}:
        raise DataError(
            f"x, y, cost and offsets have shapes {left.shape}, {signs.shape}, {costs.shape}, "
            f"{fixed_offsets.shape}: give (N, d) for x and (N,) for the others"
        )
    if not all(np.isfinite(array).all() for array in (left, signs, costs, fixed_offsets)):
        raise DataError("x, y, cost or offsets holds NaN or an infinite number: drop such terms")
    for is_wrong, problem in ((np.abs(signs) != 1, "y must be −1 or +1"), (costs < 0, "costs must be ≥ 0")):
        if is_wrong.any():
            raise DataError(f"term {int(np.flatnonzero(is_wrong)[0])}: {problem}")
    n = len(left)
    terms = SvmTerms(
        left,
        np.empty((0, 0)),
        (left * left).sum(axis=1),
        np.empty(0),
        np.arange(n, dtype=np.int32),
        np.empty(0, dtype=np.int32),
        signs.astype(np.int8),
        costs,
    )
    return terms, fixed_offsets
