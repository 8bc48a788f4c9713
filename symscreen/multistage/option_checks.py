"""Validate the parameters of the estimators of stage chains."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from symscreen.errors import OptionError
from symscreen.messages import suggest
from symscreen.multistage._kernels import get_loss_code
from symscreen.multistage.block_fitting import Penalties
from symscreen.multistage.factor_model import BlockSolverOptions

if TYPE_CHECKING:
    from collections.abc import Sequence


def build_penalties(model: Any) -> Penalties:
    """Validate λ_1, λ_2 and λ_3. They must be positive, which makes the blocks strictly convex."""
    names = ("lambda_features", "lambda_levels", "lambda_stages")
    return Penalties(*(check_positive(name, getattr(model, name)) for name in names))


def build_solver_options(model: Any) -> BlockSolverOptions:
    """Validate the options of the block solver."""
    tolerance = check_positive("block_tol", model.block_tol)
    max_sweeps = check_positive_integer("block_sweeps", model.block_sweeps)
    return BlockSolverOptions(get_loss_code(model.loss), tolerance, max_sweeps, count_threads(model.n_jobs))


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads for a scikit-learn `n_jobs`."""
    is_integer = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (is_integer and n_jobs != 0):
        raise OptionError(f"n_jobs is {n_jobs!r}: give an integer other than 0; −1 uses all processors")
    return int(effective_n_jobs(n_jobs))


def is_real(value: Any) -> bool:
    """Return whether a value is a real number and not a boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(name: str, value: Any) -> float:
    """Return a finite number > 0 as a float."""
    if not (is_real(value) and isfinite(value) and value > 0):
        raise OptionError(f"{name} is {value!r}: give a number above 0")
    return float(value)


def check_positive_integer(name: str, value: Any) -> int:
    """Return an integer ≥ 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"{name} is {value!r}: give an integer ≥ 1")
    return int(value)


def check_bool(name: str, value: Any) -> bool:
    """Return a boolean. Text such as "no" would be truthy and is rejected."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name} is {value!r}: give True or False")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str | None]) -> Any:
    """Return a value that must be one of the choices."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise OptionError(f"{name} is {value!r}{suggest(str(value), [str(choice) for choice in choices])}")
    return value
