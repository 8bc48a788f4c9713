"""`symscreen.fit`: grow spaces from a table, small ones first, search models in them, and fit the best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from symscreen._option_values import split_column_names
from symscreen.config.conflicts import check_band_conflicts, check_conflicts, check_per_conflicts
from symscreen.config.fields import describe_options, list_options
from symscreen.config.fit_options import FitOptions, make_fit_options
from symscreen.config.parsing import parse_memory_limit, to_tuple
from symscreen.config.space_options import (
    build_layer_schedule,
    choose_default_grammar,
    find_narrow_grammar,
    format_unused_rule_notices,
    get_layers,
    read_grammar,
)
from symscreen.config.target_argument import read_target_argument
from symscreen.data import TargetSource, read_dataset, read_frame
from symscreen.data.categories import build_category_record, encode_categoricals
from symscreen.data.column_selection import require_columns
from symscreen.data.missing_values import build_imputation_record
from symscreen.data.time_columns import build_time_record, encode_time_columns, exclude_order_columns
from symscreen.errors import OptionError
from symscreen.expressions.input_ranges import compute_input_ranges
from symscreen.fitting.coefficients import get_input_columns
from symscreen.fitting.fit_weights import read_fit_weights, sort_tied_weights
from symscreen.fitting.grouped.grouped_rows import read_fit_groups
from symscreen.fitting.guesses import parse_guesses
from symscreen.fitting.procedure import run_fit
from symscreen.fitting.required_inputs import build_required_inputs
from symscreen.fitting.search_stages import FitTask
from symscreen.messages import name_option, quote
from symscreen.screening.preparation import adapt_to_multi_output, build_input_box, parse_pool_screeners
from symscreen.screening.run_control import build_run_control, parse_backend
from symscreen.targets.registry import TARGET_TYPES
from symscreen.units import convert_targets_to_base_units, read_units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen.config.keyword_types import FitKeywords
    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset, SourceFrame
    from symscreen.fitting.search_monitor import FitProgressListener
    from symscreen.grammar import Grammar
    from symscreen.results.fit_result import AnyFitResult
    from symscreen.targets import TargetType


# Settings and layers of the package iBART 1.0.3. With short chains the Global SE rule misses inputs, since
# the noise of the sampler adds to the spread of the permuted inclusions.
_IBART_SCREENER = "bart[rule=gse,trees=20,depth=10,permutations=50,replicates=10,burn=10000,draws=5000]"
_IBART_LAYERS = "bub"


@describe_options(list_options(FitOptions, verb="fit"))
def fit(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    on_progress: FitProgressListener | None = None,
    **options: Unpack[FitKeywords],
) -> AnyFitResult:
    """Find a formula for a target: a weighted sum of few features, and a constant.

    Spaces are searched in the order of their size, small ones exhaustively; see
    `symscreen.fitting.subset_search`.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        As in `symscreen.screen`.
    y : array_like, shape (n,) or (n, K), or str, optional
        The target, where `X` does not contain it, or the name of its column in `X`, or K targets: a data
        frame names them, else they are y1 to yK.
    on_progress : callable, optional
        Called with a `symscreen.FitProgress` when a stage of the search starts, and when there is a better
        formula.
    **options
        The options of `symscreen.config.fit_options.FitOptions`: …

    Returns
    -------
    FitResult, SharedFitResult or GroupedFitResult
        The second of several targets, the third of groups with constants of their own (`per`).

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
    if on_progress is not None and not callable(on_progress):
        raise OptionError(f"on_progress is {quote(on_progress)}; give a function")
    return run_fit(replace(prepare_fit(X, y, options), on_progress=on_progress))


def prepare_fit(
    X: Any,  # noqa: N803  # as in `fit`
    y: ArrayLike | None,
    options: FitKeywords,
) -> FitTask:
    """Read the data and the options of a fit."""
    y, fit_options = read_target_argument(X, y, choose_default_grammar(make_fit_options(options)))
    if fit_options.preset is not None:
        fit_options = replace(
            fit_options,
            prune_by=_IBART_SCREENER if fit_options.prune_by is None else fit_options.prune_by,
            layers=fit_options.layers or _IBART_LAYERS,
        )
    return _build_task(read_frame(X), y, fit_options)  # standard input can be read only once


def _build_task(source: Any, y: ArrayLike | None, options: FitOptions) -> FitTask:
    """Read the data, in base units, and the options of a fit."""
    check_conflicts(options)
    check_per_conflicts(options)
    check_band_conflicts(options)
    run_control = build_run_control(options)
    weights = read_fit_weights(source, options)
    weight_column = options.weights if isinstance(options.weights, str) else None
    grammar, layers = read_grammar(options)
    source, data_options = _encode_columns(source, y, replace(options, weights=weight_column), grammar)
    target_type = _choose_target_type(source, y, options)
    pool_screeners = parse_pool_screeners(options, target_type)
    if TARGET_TYPES[target_type].combines_outputs:
        pool_screeners = adapt_to_multi_output(pool_screeners, options)
    backend = parse_backend(options)
    dataset = read_dataset(
        source,
        target=options.target,
        inputs=data_options.inputs,
        exclude=[*to_tuple(data_options.exclude), *to_tuple(weight_column or ())],
        weights=weights,
        missing=options.missing,
        y=y,
        target_type=target_type,
    )
    required_inputs = build_required_inputs(split_column_names(options.must_use, "must_use"), dataset)
    input_ranges = compute_input_ranges(get_input_columns(dataset))
    box = build_input_box(dataset, options)
    unused = format_unused_rule_notices(grammar, layers, dataset.names)
    dataset = replace(dataset, notices=(*dataset.notices, *unused))
    dataset, units = read_units(dataset, options.units, options.target_units)
    guesses = parse_guesses(options.also, grammar, dataset, units)
    units_record = None
    if units is not None:
        dataset, targets = convert_targets_to_base_units(dataset, units)
        units_record = {**units.record, "targets": targets}
    groups = None if options.per is None else read_fit_groups(source, options.per, dataset)
    source_weights = None if weights is None else sort_tied_weights(weights, dataset)
    return FitTask(
        dataset=dataset,
        grammar=grammar,
        layers=layers,
        backend=backend,
        options=options,
        units=units,
        pool_screeners=pool_screeners,
        max_bytes=parse_memory_limit(options.max_ram),
        run_control=run_control,
        layer_schedule=build_layer_schedule(grammar, get_layers(options)),
        narrow_grammar=find_narrow_grammar(options),
        units_record=units_record,
        input_ranges=input_ranges,
        box=box,
        required_inputs=required_inputs,
        guesses=guesses,
        source_weights=source_weights,
        groups=groups,
        row_order=source.row_order,
        categories_record=_build_fit_category_record(source, data_options, dataset),
    )


def _encode_columns(
    source: SourceFrame, y: ArrayLike | None, options: FitOptions, grammar: Grammar
) -> tuple[Any, ScreenOptions]:
    """Append the columns of categories and of operators of time; the column of groups is not an input."""
    groups = to_tuple(options.per or ())
    require_columns(source, groups, name_option("per"))
    excluded = replace(options, exclude=[*to_tuple(options.exclude), *groups])
    source, encoded = encode_categoricals(source, y, exclude_order_columns(excluded))
    return encode_time_columns(source, y, encoded, grammar.time_operators)


def _choose_target_type(source: Any, y: ArrayLike | None, options: FitOptions) -> TargetType:
    """Return the type of the target; groups take one target."""
    if not TargetSource(source, y, options.target).is_multicolumn:
        return "numeric"
    if options.per is not None:
        raise OptionError(
            f"{name_option('per')} takes one target, and there are several: fit each by itself, or leave "
            f"{name_option('per')} out"
        )
    return "several"


def _build_fit_category_record(
    frame: SourceFrame, fit_options: ScreenOptions, dataset: Dataset
) -> dict[str, Any] | None:
    """Build the record of categories, as for a screen: exports compute categorical inputs from it."""
    options = build_category_record(frame, fit_options) | build_imputation_record(dataset.indicators)
    if fit_options.time is not None:
        options |= {"time": fit_options.time, "trajectory": fit_options.trajectory}
        options |= build_time_record(dataset.indicators)
    if not options:
        return None
    return {"options": options, "data": {"inputs": list(dataset.names)}}
