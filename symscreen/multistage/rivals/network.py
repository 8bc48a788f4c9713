"""A network of rectified linear units, by scikit-learn."""

from __future__ import annotations

from typing import Any

__all__ = ["relu_network"]


def relu_network(depth: int = 1, *, width: int = 32, epochs: int = 200) -> Any:
    """Make a ReLU network with layers of one width.

    Parameters
    ----------
    depth : int
        Hidden layers.
    width : int
        Units in each.
    epochs : int
        Rounds through the rows, at most.

    Returns
    -------
    MLPClassifier
        Not fitted; trained by Adam on the logistic loss, as scikit-learn has it.

    Examples
    --------
    >>> relu_network(3).hidden_layer_sizes
    (32, 32, 32)
    """
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=(width,) * depth, activation="relu", max_iter=epochs)
