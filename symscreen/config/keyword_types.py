"""Types of keyword arguments for type checkers, written by tests/helpers/keyword_types.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._option_values import EffortName, TargetTypeChoice
    from symscreen._typing import Names, ProgressCallback
    from symscreen.config.data_options import StageWeight
    from symscreen.config.fit_options import GuessSpec
    from symscreen.config.screen_options import ScreenerSpec
    from symscreen.data.categories import CategoricalAs
    from symscreen.data.missing_values import MissingPolicy
    from symscreen.expansion import PoolKind
    from symscreen.grammar import Grammar
    from symscreen.screeners import Sign, TargetAggregation
    from symscreen.screening.run_control import Progress
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.p_value_counts import FdrMethod

__all__ = [
    "ClassifierParameters",
    "FitKeywords",
    "OdeKeywords",
    "RegressorParameters",
    "ScreenKeywords",
    "ScreenerParameters",
]


class CommonParameters(TypedDict, total=False):
    """What a screen and all estimators that screen take."""

    categorical: Names
    categorical_as: CategoricalAs
    missing: MissingPolicy | None
    units: str | Path | Mapping[str, str] | None
    target_units: str | None
    layers: int | str | None
    operators: str | Path | Grammar | Sequence[str]
    unary: Names | None
    binary: Names | None
    with_operators: Names
    pool: PoolKind
    max_complexity: int | None
    also: Names
    pool_size: int | str | Mapping[str, int] | None
    prune_by: ScreenerSpec | None
    screener: ScreenerSpec
    prescreen: int | None
    rule: str | None
    engine: str | None
    sign: Sign
    top: int | Literal["all"]
    unsafe: Literal["keep", "mark", "drop"]
    ranges: Mapping[str, Sequence[float]] | None
    rounds: int
    search: SearchMode | None
    budget: int | Literal["none"] | None
    risk: float | None
    p_values: bool | None
    fdr: float | None
    fdr_method: FdrMethod
    permutations: int | None
    max_correlation: float | None
    class_members: int | None
    stability: int | None
    split: float
    splits: int | None
    intervals: bool | float | None
    max_ram: str | int | None
    chunk_size: int | None
    progress: ProgressCallback | bool | None


class SharedParameters(CommonParameters, total=False):
    """What a screen and `SymbolicScreener` take."""

    target_type: TargetTypeChoice | None
    event: str | None
    aggregate: TargetAggregation
    ranking: Names | None
    stages: Names | None
    stage_weight: StageWeight


class ScreenerParameters(SharedParameters, total=False):
    """The parameters of `SymbolicScreener`."""

    random_state: int
    n_jobs: int | None
    clip: bool


class ScreenKeywords(SharedParameters, total=False):
    """The options of `symscreen.screen`, `plan`, `why`, `power` and `screen_inputs`."""

    target: Names | None
    inputs: Names | None
    exclude: Names
    weights: str | None
    groups: str | None
    time: str | None
    trajectory: str | None
    seed: int
    jobs: int | None
    on_progress: Callable[[Progress], None] | None
    quiet: bool
    time_limit: str | float | None
    backend: Literal["threads", "dask"] | None
    scheduler: str | None
    checkpoint: str | Path | None


class ClassifierParameters(CommonParameters, total=False):
    """The parameters of `SymbolicClassifier`."""

    random_state: int
    n_jobs: int | None
    max_terms: int
    folds: int


class SharedFitParameters(TypedDict, total=False):
    """What a fit and its estimator take."""

    categorical: Names
    categorical_as: CategoricalAs
    missing: MissingPolicy | None
    units: str | Path | Mapping[str, str] | None
    target_units: str | None
    layers: int | str | None
    operators: str | Path | Grammar | Sequence[str] | None
    unary: Names | None
    binary: Names | None
    with_operators: Names
    pool: PoolKind
    max_complexity: int | None
    also: GuessSpec
    pool_size: int | str | Mapping[str, int] | None
    prune_by: ScreenerSpec | None
    unsafe: Literal["keep", "mark", "drop"]
    ranges: Mapping[str, Sequence[float]] | None
    split: float
    max_ram: str | int | None
    preset: Literal["ibart"] | None
    per: str | None
    per_inner: bool
    must_use: Names
    effort: EffortName
    max_terms: int
    criterion: Literal["ebic", "bic", "aic", "cv"]
    folds: int
    bands: Literal["split", "cv+"] | None
    bands_level: float
    level: float
    snap: bool


class RegressorParameters(SharedFitParameters, total=False):
    """The parameters of `SymbolicRegressor`."""

    random_state: int
    n_jobs: int | None
    clip: bool


class FitKeywords(SharedFitParameters, total=False):
    """The options of `symscreen.fit`."""

    target: Names | None
    inputs: Names | None
    exclude: Names
    weights: str | ArrayLike | None
    time: str | None
    trajectory: str | None
    seed: int
    jobs: int | None
    quiet: bool
    time_limit: str | float | None


class OdeKeywords(TypedDict, total=False):
    """The options of `symscreen.discover_ode`."""

    time: str
    states: Names
    trajectory: str | None
    inputs: Names | None
    derivatives: Names | None
    derivative_order: int
    operators: str | Path | Grammar | Sequence[str]
    unary: Names | None
    binary: Names | None
    max_terms: int
    effort: EffortName
    holdout: float
    level: float
    quiet: bool
