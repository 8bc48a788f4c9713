"""What a screen would do and take, told before it runs: table → grammar → counts by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.pipeline.planning import planned
from symscreen.pipeline.preparation import prepared
from symscreen.pipeline.rounds import growth_of
from symscreen.pipeline.screen_options import options_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen.result import Plan

__all__ = ["plan"]


def plan(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    **options: Any,
) -> Plan:
    """Count what `screen` would do with the same options, and predict what it would take.

    Parameters
    ----------
    X, y
        As in `screen`.
    **options
        As in `screen`, all of them, so that one can be put in the place of the other. Those that change
        nothing of what is planned (`members`, `intervals`, `checkpoint`, `time_limit` and the like) are
        checked and have no further effect.

    Returns
    -------
    Plan
        Counts by structure: rules, complexity, constants and duplicates that algebra shows. Values can only
        prune more (domains, features equal on the data), so later layers may turn out smaller. Layers of more
        than 8 million candidates are estimated from the same layers over fewer inputs, and those behind them
        too; `Plan.exact` tells which. Nothing large is held. The peak of
        memory is predicted from them; the time from a calibration of about a second, so it alone differs
        from run to run. What joint screeners, null distributions and `distinct` take is not in it. After a
        cut (`keep`, `cut`) counts are estimates, too: what stays may have fewer duplicates than is usual, so
        that `Plan.features` may be too small, and `Plan.most` is not.

    Raises
    ------
    InputError
        As in `screen`.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.additive(n=10)
    >>> symscreen.plan(data.frame, operators="ablation", layers="ub", pool="strict").features
    42
    """
    ready = prepared(X, y, options_of(options, verb="plan"))
    growth = growth_of(ready.table, ready.job)
    halves = 0 if ready.halving is None else ready.halving.pairs
    times = ready.rounds + halves  # two halves of the rows take as long as all of them
    return planned(ready.table, growth, ready.job.layers, ready.job.request, times)
