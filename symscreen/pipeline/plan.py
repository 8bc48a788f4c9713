"""What a screen would do and take, told before it runs: table → grammar → counts by structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from symscreen.pipeline.planning import planned
from symscreen.pipeline.preparation import prepared
from symscreen.pipeline.rounds import growth_of
from symscreen.pipeline.screen_options import ScreenOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen.expansion import PoolKind
    from symscreen.result import Plan
    from symscreen.screeners import Across, AnyScreener, Sign
    from symscreen.search import Mode
    from symscreen.table.categories import CategoricalAs

    Names = str | Sequence[str]
    StageWeight = Literal["all", "next", "last"] | Mapping[tuple[str, str], float] | ArrayLike
    Screeners = str | Sequence[str | AnyScreener]

__all__ = ["plan"]


def plan(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    target: Names | None = None,
    target_kind: Literal["numeric", "classes", "several"] | None = None,
    event: str | None = None,
    across: Across = "mean",
    ranking: str | Sequence[str] | None = None,
    stages: Names | None = None,
    stage_weight: StageWeight = "all",
    inputs: Sequence[str] | None = None,
    categorical: Names = (),
    categorical_as: CategoricalAs = "gate",
    exclude: Sequence[str] = (),
    missing: Literal["refuse", "drop"] = "refuse",
    layers: str | None = None,
    operators: str | Path = "basic",
    unary: Names | None = None,
    binary: Names | None = None,
    pool: PoolKind = "cumulative",
    screener: Screeners = "t0",
    prescreen: int | None = None,
    sign: Sign = "free",
    top: int | Literal["all"] = 20,
    max_complexity: int | None = None,
    units: str | Path | Mapping[str, str] | None = None,
    target_units: str | None = None,
    search: Mode = "exact",
    risk: float | None = None,
    max_ram: str | int | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> Plan:
    """Count what `screen` would do with the same options, and predict what it would take.

    Parameters
    ----------
    X, y, target, target_kind, event, across, ranking, stages, stage_weight, inputs, categorical
        As in `screen`.
    categorical_as, exclude, missing
        As in `screen`.
    layers, operators, unary, binary, pool, max_complexity, units, target_units, screener, prescreen, sign
        As in `screen`.
    top, search, risk, max_ram, jobs, quiet
        As in `screen`.

    Returns
    -------
    Plan
        Counts by structure: rules, complexity, constants and duplicates that algebra shows. Values can only
        prune more (domains, features equal on the data), so later layers may turn out smaller. The peak of
        memory is predicted from them; the time from a calibration of about a second, so it alone differs
        from run to run. What joint screeners take is not in it.

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
    options = ScreenOptions(
        target=target,
        target_kind=target_kind,
        event=event,
        across=across,
        ranking=ranking,
        stages=stages,
        stage_weight=stage_weight,
        inputs=inputs,
        categorical=categorical,
        categorical_as=categorical_as,
        exclude=exclude,
        missing=missing,
        layers=layers,
        operators=operators,
        unary=unary,
        binary=binary,
        pool=pool,
        screener=screener,
        prescreen=prescreen,
        sign=sign,
        top=top,
        max_complexity=max_complexity,
        units=units,
        target_units=target_units,
        search=search,
        risk=risk,
        max_ram=max_ram,
        jobs=jobs,
        quiet=quiet,
    )
    ready = prepared(X, y, options)
    growth = growth_of(ready.table, ready.job)
    return planned(ready.table, growth, ready.job.layers, ready.job.request)
