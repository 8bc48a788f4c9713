"""The way to a formula: table → grammar → spaces, small ones first → models → fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from symscreen.backends import Threads, count_available_cores
from symscreen.config.fields import describe_options, list_options
from symscreen.config.parsing import DEFAULT_PRESCREEN, check_positive_int, parse_memory_limit
from symscreen.config.screen_options import FitOptions, make_fit_options
from symscreen.config.space_options import (
    build_layer_schedule,
    format_unused_rule_notices,
    parse_pool_sizes,
    read_grammar,
)
from symscreen.data import TargetSource, read_dataset, read_frame
from symscreen.data.categories import build_category_record, encode_categoricals, find_categorical_features
from symscreen.errors import OptionError
from symscreen.fitting.procedure import run_fit
from symscreen.fitting.search_stages import FitConfig
from symscreen.messages import suggest
from symscreen.screeners import Screener, make_multioutput_screener
from symscreen.screening.run_control import build_run_control
from symscreen.screening.scoring.score_space import ScoringConfig
from symscreen.screening.scoring.streaming import compute_chunk_size
from symscreen.screening.scoring_options import parse_pool_screeners
from symscreen.targets.registry import TARGET_TYPES
from symscreen.units import convert_targets_to_base_units, read_units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen.config.keyword_types import FitKeywords
    from symscreen.data import Dataset, SourceFrame
    from symscreen.results.fit_result import FitResult, SharedFitResult
    from symscreen.screeners import AnyScreener
    from symscreen.targets import TargetType


_MAX_TERMS = 20
_IBART_SCREENER = "bart[rule=gse]"
_IBART_LAYERS = "ubu"


@describe_options(list_options(FitOptions, verb="fit"))
def fit(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    **options: Unpack[FitKeywords],
) -> FitResult | SharedFitResult:
    """Find a formula for a target: a weighted sum of few features, and a constant.

    Spaces are searched in the order of their size, small ones exhaustively; see
    `symscreen.fitting.subset_search`.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        As in `symscreen.screen`.
    y : array_like, shape (n,) or (n, K), optional
        The target, where `X` does not contain it, or K targets: a data frame names them, else they are y1 to
        yK.
    **options
        The options of `symscreen.config.screen_options.FitOptions`: …

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
    given = make_fit_options(options)
    build_run_control(None, None, None, quiet=given.quiet)
    _check_options(given)
    if given.preset is not None:
        given = replace(
            given,
            cut=_IBART_SCREENER if given.cut is None else given.cut,
            layers=given.layers or _IBART_LAYERS,
        )
    return run_fit(*_prepare_fit(read_frame(X), y, given))  # read once: standard input can be read only once


def _prepare_fit(frame: Any, y: ArrayLike | None, given: FitOptions) -> tuple[Dataset, FitConfig]:
    """Read the data, in base units, and the configuration of a fit."""
    frame, encoded = encode_categoricals(frame, y, given)  # a frame with more columns
    several = TargetSource(frame, y, given.target).is_multicolumn
    target_type: TargetType = "several" if several else "numeric"
    cutters, keeps = (
        parse_pool_screeners(given.cut, given.keep, {}, target_type),
        parse_pool_sizes(given.keep),
    )
    jobs = count_available_cores() if given.jobs is None else check_positive_int("jobs", given.jobs)
    dataset = read_dataset(
        frame,
        target=given.target,
        inputs=encoded.inputs,
        exclude=encoded.exclude,
        missing=given.missing,
        y=y,
        target_type=target_type,
    )
    grammar, layers = read_grammar(
        given.operators, given.layers, given.unary, given.binary, given.max_complexity
    )
    unused = format_unused_rule_notices(grammar, layers, dataset.names)
    dataset = replace(dataset, notices=(*dataset.notices, *unused))
    derived = find_categorical_features(frame, dataset.names)
    dataset, units = read_units(dataset, given.units, given.target_units, derived)
    units_record = None
    if units is not None:
        dataset, targets = convert_targets_to_base_units(dataset, units)
        units_record = {**units.record, "targets": targets}
    config = FitConfig(
        options=given,
        grammar=grammar,
        layer_schedule=build_layer_schedule(grammar, given.layers),
        backend=Threads(jobs),
        max_bytes=parse_memory_limit(given.max_ram),
        pool_sizes=keeps,
        units=units,
        units_record=units_record,
        categories_record=_build_fit_category_record(frame, given, dataset),
    )
    if cutters:
        config = replace(config, pruning_config=_make_pruning_config(cutters, dataset, config))
    return dataset, config


def _check_options(options: FitOptions) -> None:
    """Refuse values of options that are out of range."""
    if check_positive_int("terms", options.terms) > _MAX_TERMS:
        raise OptionError(f"terms is {options.terms}; give at most {_MAX_TERMS}")
    criteria = ("ebic", "bic", "aic", "cv")
    if options.choose not in criteria:
        raise OptionError(f"choose is {options.choose!r}{suggest(str(options.choose), criteria)}")
    for name, share, upper in (("split", options.split, 0.9), ("level", options.level, 1.0)):
        if not 0.0 <= share < upper or (name == "level" and share == 0.0):
            raise OptionError(f"{name} is {share!r}; give a share from 0 to below {upper:g}")
    if check_positive_int("folds", options.folds) == 1:
        raise OptionError("folds is 1; give at least 2")
    if options.max_complexity is not None:
        check_positive_int("max_complexity", options.max_complexity)
    if options.preset not in {None, "ibart"}:
        raise OptionError(f"preset is {options.preset!r}; there is 'ibart'")


def _build_fit_category_record(
    frame: SourceFrame, fit_options: FitOptions, dataset: Dataset
) -> dict[str, Any] | None:
    """Build the record of categories, as for a screen: exports compute categorical inputs from it."""
    levels = build_category_record(frame, fit_options)
    if not levels:
        return None
    options = {
        "categorical": list(levels["levels"]),
        "categorical_as": fit_options.categorical_as,
        **levels,
    }
    return {"options": options, "data": {"inputs": list(dataset.names)}}


def _make_pruning_config(
    screeners: tuple[AnyScreener, ...], dataset: Dataset, config: FitConfig
) -> ScoringConfig:
    """Build the configuration of the screeners that prune the pool between layers."""
    target_type = dataset.target.target_type
    if TARGET_TYPES[target_type].combines_outputs:
        # joint ones have been refused; the mean over targets is what the fit goes by, too
        screeners = tuple(
            make_multioutput_screener(one, "mean") for one in screeners if isinstance(one, Screener)
        )
    return ScoringConfig(
        screeners=screeners,
        sign="free",
        limit=None,
        prescreen=DEFAULT_PRESCREEN,
        seed=config.options.seed,
        jobs=config.backend.jobs,
        backend=config.backend,
        chunk_size=compute_chunk_size(dataset.target.n),
        target_type=target_type,
    )
