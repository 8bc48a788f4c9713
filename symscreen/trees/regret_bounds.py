"""Bounds of the ranking regret of CART and BART in numbers (Luo and Li 2024, Theorems 10 and 13).

Both theorems bound the regret by an error of the regression (eq. 30 and 38, `compute_regret_bound` for given
scores). The constants C_B and J0 of Theorem 10 come from the theorems that it applies and are not known; they
are arguments. Theorem 13 gives a rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symscreen.errors import OptionError


@dataclass(frozen=True, slots=True)
class RegretTail:
    """Bounds of the probability that the ranking regret of CART exceeds ε.

    Parameters
    ----------
    printed : float
        Right side of eq. (16), as printed.
    corrected : float
        What the steps of the proof give.

    Notes
    -----
    A bound above 1 says nothing.
    """

    printed: float
    corrected: float


def compute_cart_regret_tail(
    epsilon: float,
    n_rows: int,
    n_inputs: int,
    depth: int,
    *,
    total_variation: float,
    approximation_error: float = 0.0,
    complexity_constant: float = 1.0,
    sup_norm: float = 1.0,
    entropy: float = 1.0,
) -> RegretTail:
    """Compute the bound of P(T(r_B) − T(r_{c,K}) > ε) for a regression tree of depth K.

    Parameters
    ----------
    epsilon : float
        ε > 0, in units of the target.
    n_rows, n_inputs : int
        Number of rows N, at least 2, and of inputs d, at least 1.
    depth : int
        Depth K of the complete tree, at least 1.
    total_variation : float
        ‖g‖_TV of an additive function g, in units of the target. Every g gives a valid bound; g = f_B gives
        eq. (17).
    approximation_error : float
        ‖f_B − g‖², in squared units of the target; 0 for g = f_B.
    complexity_constant : float
        C_B, in squared units of the target. It depends on f_B alone and is not known.
    sup_norm : float
        R∞ = 2 sup ‖f‖∞ over the model class G0, in units of the target.
    entropy : float
        J0(2R2, G0), the entropy of the model class, as in eq. (34).

    Returns
    -------
    RegretTail

    Raises
    ------
    OptionError
        If an argument is out of range.

    Notes
    -----
    Luo and Li (2024), Theorem 10. With the mean squared error of eq. (31)::

        M = ‖f_B − g‖² + ‖g‖²_TV/(K + 3) + C_B·2^K·log²N·log(Nd)/N

        printed    1024·M/ε⁴ + 32·R∞·J0/(ε²·√N)                                                        (16)
        corrected   128·M/ε² + 16·R∞·J0/(ε·√N)

    The proof contains three errors. Equation (30) bounds the regret by 4‖f − f_B‖_N, so a regret above ε
    means ‖f − f_B‖_N > ε/4; the proof compares the norm with ε²/16, the limit of its square. The factor 2 of
    eq. (31) to (33) is missing in the first term. The second term uses the whole limit ε²/16, not the half of
    it that the split leaves. The corrected form splits ε/4 in halves and applies Markov's inequality at ε/8.
    Both forms have the log²N of eq. (33), which (31) does not have.

    For ε ≤ 2 the printed bound is the larger one, so it holds where the corrected one does. It cannot hold
    for all ε: if the unit of the target becomes s times smaller, ε and ‖g‖_TV grow by s and C_B by s², and
    the first printed term falls by s², although the event is the same. The first corrected term does not
    change.

    Examples
    --------
    >>> tail = compute_cart_regret_tail(0.5, 10**6, 2, 4, total_variation=1.0, complexity_constant=0.01)
    >>> round(tail.printed, 1), round(tail.corrected, 1)
    (2348.0, 73.4)
    """
    for name, value in (("epsilon", epsilon), ("complexity_constant", complexity_constant)):
        _check_positive(name, value)
    for name, value in (
        ("total_variation", total_variation),
        ("approximation_error", approximation_error),
        ("sup_norm", sup_norm),
        ("entropy", entropy),
    ):
        if not 0.0 <= value < math.inf:
            raise OptionError(f"{name} is {value}; give a finite number of at least 0")
    _check_size("n_rows", n_rows, 2)
    _check_size("n_inputs", n_inputs, 1)
    _check_size("depth", depth, 1)
    with np.errstate(over="ignore", divide="ignore"):
        # M of eq. (31) without its factor 2
        leaves = np.exp2(np.float64(depth))
        growth = leaves * math.log(n_rows) ** 2 * math.log(n_rows * n_inputs) / n_rows
        squared_error = (
            approximation_error
            + np.float64(total_variation) ** 2 / (depth + 3)
            + complexity_constant * growth
        )
        gap = np.float64(sup_norm) * entropy / math.sqrt(n_rows)
        printed = 1024.0 * squared_error / np.float64(epsilon) ** 4 + 32.0 * gap / np.float64(epsilon) ** 2
        corrected = compute_regret_tail(epsilon, float(2.0 * squared_error), float(2.0 * gap))
    return RegretTail(float(printed), corrected)


def compute_regret_tail(epsilon: float, squared_error: float, norm_gap: float) -> float:
    """Bound the probability of a regret above ε by the mean errors of a regression.

    Parameters
    ----------
    epsilon : float
        ε > 0, in units of the target.
    squared_error : float
        E‖f − f_B‖², the mean over tables and inputs of the squared error, in squared units of the target.
    norm_gap : float
        E|‖f − f_B‖_N − ‖f − f_B‖|, the mean difference of the error on the fitted rows, a root of a mean
        square, from that on new ones; or a larger number, such as that of eq. (34).

    Returns
    -------
    float
        64·E‖f − f_B‖²/ε² + 8·E|‖f − f_B‖_N − ‖f − f_B‖|/ε.

    Raises
    ------
    OptionError
        If ε is not positive, or an error is negative.

    Notes
    -----
    Luo and Li (2024), eq. (37), corrected: see `compute_cart_regret_tail`. It holds for every regression and
    needs no constants, but the errors must be known, for example from a simulation.

    Examples
    --------
    >>> compute_regret_tail(2.0, 0.01, 0.01)
    0.2
    """
    _check_positive("epsilon", epsilon)
    for name, value in (("squared_error", squared_error), ("norm_gap", norm_gap)):
        if not value >= 0.0:
            raise OptionError(f"{name} is {value}; give a number of at least 0")
    with np.errstate(over="ignore", divide="ignore"):
        return float(64.0 * squared_error / np.float64(epsilon) ** 2 + 8.0 * norm_gap / np.float64(epsilon))


@dataclass(frozen=True, slots=True)
class ContractionRate:
    """Rate at which the posterior of BART contracts.

    Parameters
    ----------
    error : float
        M·ε_N, for the error ‖f − f_B‖_N of a posterior draw.
    regret : float
        4·M·ε_N, for its ranking regret.
    decreasing_from : float
        Number of rows from which ε_N decreases; infinite beyond 10³⁰⁸.
    """

    error: float
    regret: float
    decreasing_from: float


def compute_bart_rate(
    n_rows: int, n_inputs: int, holder_exponent: float = 1.0, *, multiple: float = 1.0
) -> ContractionRate:
    """Compute the rate of Theorem 13, N^(−ν/(2ν+d))·√(log N), for the error and the regret of BART.

    Parameters
    ----------
    n_rows, n_inputs : int
        Number of rows N, at least 2, and of inputs d, at least 1. The theorem lets d grow no faster than
        √(log N).
    holder_exponent : float
        ν in (0, 1], with which f_B is Hölder continuous; 1 for a Lipschitz function.
    multiple : float
        M > 0. The theorem is about sequences M_N that tend to infinity, however slowly.

    Returns
    -------
    ContractionRate

    Raises
    ------
    OptionError
        If an argument is out of range.

    Notes
    -----
    Luo and Li (2024), Theorem 13 and eq. (38): the posterior probability of ‖f − f_B‖_N > M_N·ε_N tends to
    0, and a regret is at most 4‖f − f_B‖_N. The theorem prints α, the base of the splitting probability, in
    place of ν. Its proof writes that M_N tends to 0, and M_N²·ε_N/16 in place of M_N/4. A rate has no
    constant: it says how the regret falls with N, not how large it is. It rises until log N = (2ν + d)/(2ν).

    Examples
    --------
    >>> rate = compute_bart_rate(10_000, 2)
    >>> round(rate.error, 4), round(rate.regret, 4), round(rate.decreasing_from, 2)
    (0.3035, 1.2139, 7.39)
    """
    _check_size("n_rows", n_rows, 2)
    _check_size("n_inputs", n_inputs, 1)
    if not 0.0 < holder_exponent <= 1.0:
        raise OptionError(f"holder_exponent is {holder_exponent}; give ν in (0, 1]")
    _check_positive("multiple", multiple)
    power = holder_exponent / (2.0 * holder_exponent + n_inputs)
    error = multiple * n_rows**-power * math.sqrt(math.log(n_rows))
    with np.errstate(over="ignore"):
        return ContractionRate(error, 4.0 * error, float(np.exp(np.float64(0.5 / power))))


def _check_positive(name: str, value: float) -> None:
    """Raise `OptionError` unless a number is finite and positive."""
    if not 0.0 < value < math.inf:
        raise OptionError(f"{name} is {value}; give a finite positive number")


def _check_size(name: str, value: int, minimum: int) -> None:
    """Raise `OptionError` for a number below its minimum."""
    if value < minimum:
        raise OptionError(f"{name} is {value}; give at least {minimum}")
