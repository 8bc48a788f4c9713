"""A linear support vector machine, by scikit-learn (liblinear)."""

from __future__ import annotations

from typing import Any

__all__ = ["linear_svm"]


def linear_svm(cost: float = 1.0) -> Any:
    """Make a linear SVM with the hinge loss.

    Parameters
    ----------
    cost : float
        C > 0: ½‖β‖² + C Σ V(y f).

    Returns
    -------
    LinearSVC
        Not fitted.

    Examples
    --------
    >>> linear_svm(0.5).C
    0.5
    """
    from sklearn.svm import LinearSVC

    return LinearSVC(C=cost, loss="hinge", dual=True)
