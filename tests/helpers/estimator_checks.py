"""Scikit-learn's own checks of estimators, one test each, with none skipped."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator


def parametrize_checks(*estimators):
    """Parametrize a test of ``estimator`` and ``check`` with all checks of the estimators."""
    return pytest.mark.parametrize(
        ("estimator", "check"),
        [case for estimator in estimators for case in estimator_checks_generator(estimator)],
        ids=lambda case: getattr(getattr(case, "func", None), "__name__", ""),
    )


def run_check(check, estimator):
    """Run a check, and do not let scikit-learn skip the one of array API dispatch.

    It does so where this variable is not set. The check hands over NumPy arrays, so it does not matter that
    scipy read the variable earlier, when it was imported.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SCIPY_ARRAY_API", "1")
        check(estimator)
