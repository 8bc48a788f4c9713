"""What each observation weighs in a fit: its pair's weight times its class's; and stages nobody told of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import InputError, OptionError, TableError, printable
from symscreen.multistage import options
from symscreen.multistage.chains import shown
from symscreen.multistage.pairs import class_weights, observed_pairs, pair_weights, stage_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.multistage.chains import Chains

    Values = NDArray[np.float64]

__all__ = ["divisor", "training_weights"]


def training_weights(chains: Chains, stage_weight: Any, class_weight: str | None) -> Values:
    """Weigh the two classes of each pair of stages.

    Parameters
    ----------
    chains : Chains
        The table of a fit.
    stage_weight : str, mapping or array-like
        w_{t′t}, as `pair_weights` reads it.
    class_weight : {"balanced"} or None
        Whether classes weigh inversely to their numbers.

    Returns
    -------
    float64 array, shape (P, 2)
        w_{t′t} times the weight of Y_t = −1 and of Y_t = +1.

    Raises
    ------
    TableError
        If a stage was not observed, of no row that had reached one before.
    OptionError
        If a weight has no meaning.
    """
    weights = _asked_weights(stage_weight, chains.stages)
    for t, name in enumerate(chains.stages):
        if not chains.outcomes[:, t].any():
            raise TableError(
                f"nothing is observed at stage {printable(name)!r}: "
                "leave the stage out, or give rows that tell"
            )
    counted = observed_pairs(chains.outcomes)
    pairs = stage_pairs(len(chains.stages) - 1)
    for t, name in enumerate(chains.stages[1:], start=1):
        reach = [p for p, (_, later) in enumerate(pairs) if later >= t and weights[p] > 0]
        direct = [p for p, (_, later) in enumerate(pairs) if later == t]
        if not counted[:, direct].any() or not (reach and counted[:, reach].any()):
            raise TableError(
                f"nothing is observed at stage {printable(name)!r} of rows that had reached one before: "
                "leave the stage out, or give rows that tell"
            )
    options.chosen("class_weight", class_weight, ("balanced", None))
    by_class = class_weights(chains.outcomes) if class_weight else np.ones((len(pairs), 2))
    return weights[:, None] * by_class


def _asked_weights(stage_weight: Any, stages: tuple[str, ...]) -> Values:
    try:
        return pair_weights(stage_weight, stages)
    except InputError:
        raise
    except (TypeError, ValueError):  # numpy's word for what holds no numbers
        raise OptionError(f"stage_weight is {shown(stage_weight)}: give numbers ≥ 0") from None


def divisor(normalization: str, outcomes: NDArray[np.int8], weights: Values, sizes: tuple[int, int]) -> float:
    """Say what the sum of losses is divided by.

    Parameters
    ----------
    normalization : {"observed", "grid"}
        The rows that have a loss, or n·m as in eq. (9).
    outcomes : int8 array, shape (R, T + 1)
        Y.
    weights : float64 array, shape (P, 2)
        As `training_weights` returns them.
    sizes : (int, int)
        n and m.

    Returns
    -------
    float
        N.
    """
    if options.chosen("normalization", normalization, ("observed", "grid")) == "grid":
        return float(sizes[0] * sizes[1])
    return float((observed_pairs(outcomes) & weights.any(axis=1)).any(axis=1).sum())
