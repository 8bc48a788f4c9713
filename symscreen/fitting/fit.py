"""The way to a formula: table → grammar → spaces, small ones first → models → fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from symscreen.backends import Threads, count_available_cores
from symscreen.config.parsing import DEFAULT_PRESCREEN, check_positive_int, parse_memory_limit
from symscreen.config.screen_options import ScreenOptions
from symscreen.config.space_options import (
    build_layer_schedule,
    format_unused_rule_notices,
    parse_pool_sizes,
    read_grammar,
)
from symscreen.data import is_ranking, parse_target_names, read_dataset, read_frame
from symscreen.data.categories import build_category_record, encode_categoricals, find_categorical_features
from symscreen.errors import OptionError, suggest
from symscreen.fitting.procedure import FitConfig, run_fit
from symscreen.screeners import Screener, make_multioutput_screener
from symscreen.screening.run_control import build_run_control
from symscreen.screening.scoring.score_space import ScoringConfig
from symscreen.screening.scoring.streaming import compute_chunk_size
from symscreen.screening.scoring_options import parse_pool_screeners
from symscreen.units import convert_targets_to_base_units, read_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._typing import Names
    from symscreen.data import Dataset, SourceFrame
    from symscreen.data.categories import CategoricalAs
    from symscreen.expansion import PoolKind
    from symscreen.results.fit_result import FitResult, SharedFitResult
    from symscreen.screeners import AnyScreener
    from symscreen.targets import TargetType

    ScreenerSpec = str | Sequence[str | AnyScreener]

__all__ = ["fit"]

_MAX_TERMS = 20
_IBART_SCREENER = "bart[rule=gse]"
_IBART_LAYERS = "ubu"


def fit(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    target: Names | None = None,
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
    max_complexity: int | None = None,
    units: str | Path | Mapping[str, str] | None = None,
    target_units: str | None = None,
    keep: int | str | Mapping[str, int] | None = None,
    cut: ScreenerSpec | None = None,
    preset: Literal["ibart"] | None = None,
    terms: int = 4,
    choose: Literal["ebic", "bic", "aic", "cv"] = "ebic",
    folds: int = 5,
    split: float = 0.0,
    level: float = 0.95,
    snap: bool = False,
    seed: int = 0,
    max_ram: str | int | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> FitResult | SharedFitResult:
    """Find a formula for a response: a weighted sum of few features, and a constant.

    Spaces are searched in the order of their size, small ones exhaustively; see
    `symscreen.fitting.subset_search`.

    Parameters
    ----------
    X, inputs, categorical, categorical_as, exclude, missing
        As in `symscreen.screen`: `predict`, bundles and exports compute what categories come to from their
        own columns; a level that was not seen is 0 there.
    operators, unary, binary, pool, max_complexity, max_ram, jobs, quiet
        As in `symscreen.screen`.
    y : array_like, shape (n,) or (n, K), optional
        The response, where `X` does not hold it, or K targets: a frame names them, else they are y1 to yK.
    target : str or sequence of str, optional
        The response's column; else ``target``, ``label`` or ``y``, else the last. Several columns, ``"a,b"``
        or a list, are several targets that share their terms and have coefficients of their own, as in
        SISSO's multi-task mode (Ouyang et al. 2019, J. Phys. Mater. 2, 024002): the terms are chosen by the
        mean over targets of the share of its variance that each model leaves, so that units of targets do not
        matter.
    units : {"strict", "ignore"}, path or mapping of str to str, optional
        As in `screen`: only terms that have a unit are made. Inputs and targets are brought into base units;
        the result tells the unit of each coefficient, and predicts, saves and exports in the units that came.
    target_units : str, optional
        With units: only terms in such a unit, up to a factor, so that coefficients are pure numbers. A target
        whose own unit is not told is taken to be in it.
    layers : str, optional
        As in `screen`; every prefix is searched first. By default ``u``, ``b``, ``ub``, ``bu``, ``bub``,
        ``ubb``, those too large left out with a notice.
    keep, cut
        As in `screen`: cuts between layers, so that deep formulas stay reachable.
    preset : {"ibart"}, optional
        Follow iBART (Ye, Senftle and Li 2021): BART's Global SE rule selects among the inputs and, between
        layers, among all features, earlier selections kept; of the last space the LASSO, cross-validated,
        selects the features whose subsets are tried. Layers are ``ubu`` where none are given.
    terms : int
        The most terms in the formula: up to 4 by exhaustive search, beyond on greedy and LASSO paths; at most
        20.
    choose : {"ebic", "bic", "aic", "cv"}
        What decides between models: see `symscreen.fitting.model_selection.score_models`; ``"cv"`` is nested
        cross-validation, which repeats the whole search without each fold.
    folds : int
        Of ``choose="cv"``.
    split : float
        The share of rows kept from the search and used for the coefficients and their intervals alone, which
        are honest then; below 0.9. With 0 the intervals take the terms as given, and are too narrow.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to replace coefficients by simple numbers where the data allow all of them together.
    seed : int
        For folds and the split.

    Returns
    -------
    FitResult or SharedFitResult
        The latter of several targets.

    Raises
    ------
    InputError
        If the data, the grammar or an option cannot be used; see its subclasses.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("lv1")
    >>> symscreen.fit(data.frame, operators="strogatz", layers="ub", snap=True).formula.equation
    'target = 3*x1 - x1**2 - 2*x1*x2'
    """
    build_run_control(None, None, None, quiet=quiet)
    if check_positive_int("terms", terms) > _MAX_TERMS:
        raise OptionError(f"terms is {terms}; give at most {_MAX_TERMS}")
    if choose not in {"ebic", "bic", "aic", "cv"}:
        raise OptionError(f"choose is {choose!r}{suggest(str(choose), ['ebic', 'bic', 'aic', 'cv'])}")
    for name, share, most in (("split", split, 0.9), ("level", level, 1.0)):
        if not 0.0 <= share < most or (name == "level" and share == 0.0):
            raise OptionError(f"{name} is {share!r}; give a share from 0 to below {most:g}")
    if check_positive_int("folds", folds) == 1:
        raise OptionError("folds is 1; give at least 2")
    if max_complexity is not None:
        check_positive_int("max_complexity", max_complexity)
    if preset not in {None, "ibart"}:
        raise OptionError(f"preset is {preset!r}; there is 'ibart'")
    if preset is not None:
        cut, layers = (_IBART_SCREENER if cut is None else cut), layers or _IBART_LAYERS
    X = read_frame(X)  # noqa: N806  # once: standard input can be read only once
    named = ScreenOptions(
        target=target,
        inputs=inputs,
        categorical=categorical,
        categorical_as=categorical_as,
        exclude=exclude,
    )
    X, read = encode_categoricals(X, y, named)  # noqa: N806  # a frame with more columns
    kind: TargetType = "several" if is_ranking(y) or len(parse_target_names(X, target)) > 1 else "numeric"
    cutters, keeps = parse_pool_screeners(cut, keep, {}, kind), parse_pool_sizes(keep)
    backend = Threads(count_available_cores() if jobs is None else check_positive_int("jobs", jobs))
    table = read_dataset(
        X, target=target, inputs=read.inputs, exclude=read.exclude, missing=missing, y=y, target_type=kind
    )
    grammar, parsed = read_grammar(operators, layers, unary, binary, max_complexity)
    table = replace(
        table, notices=(*table.notices, *format_unused_rule_notices(grammar, parsed, table.names))
    )
    derived = find_categorical_features(X, table.names, categorical)
    table, measured = read_units(table, units, target_units, derived)
    told = None
    if measured is not None:
        table, targets = convert_targets_to_base_units(table, measured)
        told = {**measured.record, "targets": targets}
    job = FitConfig(
        grammar=grammar,
        layer_schedule=build_layer_schedule(grammar, layers),
        has_user_layers=layers is not None,
        pool_kind=pool,
        terms=terms,
        choose=choose,
        folds=folds,
        split=split,
        level=level,
        snap=snap,
        seed=seed,
        backend=backend,
        max_bytes=parse_memory_limit(max_ram),
        pruning_config=None
        if not cutters
        else _make_pruning_config(cutters, kind, seed, backend, table.target.n),
        pool_sizes=keeps,
        ibart=preset is not None,
        units=measured,
        units_record=told,
        categories_record=_build_fit_category_record(X, named, table),
    )
    return run_fit(table, job)


def _build_fit_category_record(
    frame: SourceFrame, screen_options: ScreenOptions, dataset: Dataset
) -> dict[str, Any] | None:
    """Return what the record tells of categories, as that of a screen does: exports compute them again."""
    levels = build_category_record(frame, screen_options)
    if not levels:
        return None
    options = {
        "categorical": list(levels["levels"]),
        "categorical_as": screen_options.categorical_as,
        **levels,
    }
    return {"options": options, "data": {"inputs": list(dataset.names)}}


def _make_pruning_config(
    screeners: tuple[AnyScreener, ...], target_type: TargetType, seed: int, backend: Threads, n_rows: int
) -> ScoringConfig:
    if target_type == "several":
        # joint ones have been refused; the mean over targets is what the fit goes by, too
        screeners = tuple(
            make_multioutput_screener(one, "mean") for one in screeners if isinstance(one, Screener)
        )
    return ScoringConfig(
        screeners=screeners,
        sign="free",
        limit=None,
        prescreen=DEFAULT_PRESCREEN,
        seed=seed,
        jobs=backend.jobs,
        backend=backend,
        chunk_size=compute_chunk_size(n_rows),
        target_type=target_type,
    )
