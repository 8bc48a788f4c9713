"""The options of a screen, as they were given: every verb that screens takes them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from symscreen.errors import OptionError, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from symscreen._typing import Names, ProgressCallback
    from symscreen.data.categories import CategoricalAs
    from symscreen.expansion import PoolKind
    from symscreen.grammar import Grammar
    from symscreen.screeners import AnyScreener, Sign, TargetAggregation
    from symscreen.screening.run_control import Progress
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.p_value_counts import FdrMethod

    ScreenerSpec = str | Sequence[str | AnyScreener]

__all__ = ["ScreenOptions", "make_screen_options"]


@dataclass(frozen=True, kw_only=True)
class ScreenOptions:
    """The options of `symscreen.screen` as they were given, with its names and defaults."""

    target: str | Sequence[str] | None = None
    target_kind: str | None = None
    event: str | None = None
    across: TargetAggregation = "mean"
    ranking: str | Sequence[str] | None = None
    stages: Names | None = None
    stage_weight: Any = "all"
    inputs: Sequence[str] | None = None
    categorical: str | Sequence[str] = ()
    categorical_as: CategoricalAs = "gate"
    exclude: Sequence[str] = ()
    missing: Literal["refuse", "drop"] = "refuse"
    layers: str | None = None
    operators: str | Path | Grammar = "basic"
    unary: Names | None = None
    binary: Names | None = None
    pool: PoolKind = "cumulative"
    screener: ScreenerSpec = "t0"
    prescreen: int | None = None
    rule: str | None = None
    engine: str | None = None
    sign: Sign = "free"
    top: int | Literal["all"] = 20
    max_complexity: int | None = None
    also: Names = ()
    units: str | Path | Mapping[str, str] | None = None
    target_units: str | None = None
    keep: int | str | Mapping[str, int] | None = None
    cut: ScreenerSpec | None = None
    rounds: int = 1
    search: SearchMode = "exact"
    risk: float | None = None
    p_values: bool | None = False
    fdr: float | None = None
    fdr_method: FdrMethod = "bh"
    permutations: int | None = None
    distinct: float | None = None
    members: int | None = None
    stability: int | None = None
    groups: str | None = None
    weights: str | None = None
    intervals: bool | float = False
    seed: int = 0
    max_ram: str | int | None = None
    jobs: int | None = None
    chunk_size: int | None = None
    progress: ProgressCallback | bool | None = None
    on_progress: Callable[[Progress], None] | None = None
    quiet: bool = False
    time_limit: str | float | None = None
    backend: str | None = None
    scheduler: str | None = None
    checkpoint: str | Path | None = None


def make_screen_options(options: Mapping[str, Any], *, verb: str) -> ScreenOptions:
    """Take the options of a screen from keywords.

    Parameters
    ----------
    options : mapping of str to object
        As of `symscreen.screen`.
    verb : str
        Who takes them, for the message.

    Returns
    -------
    ScreenOptions

    Raises
    ------
    OptionError
        If a keyword is none of the options, with near matches.

    Examples
    --------
    >>> make_screen_options({"layers": "ub"}, verb="why").layers
    'ub'
    """
    known = [field.name for field in fields(ScreenOptions)]
    for name in options:
        if name not in known:
            raise OptionError(f"{verb} has no option {name!r}{suggest(name, known)}")
    return ScreenOptions(**options)
