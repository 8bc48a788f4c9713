"""`symscreen.screen`: prepare, run, and assemble the result and its notices."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from symscreen.backends import Dask
from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.errors import MemoryLimitError
from symscreen.expressions.traversal import evaluate_expression
from symscreen.logs import log_event
from symscreen.messages import Message, name_option
from symscreen.report.notebook import VIEWS
from symscreen.results.record import (
    build_grammar_record,
    build_partial_record,
    build_run_record,
    format_partial_notice,
    format_selection_notice,
)
from symscreen.results.screen_result import ScreenResult, build_screen_result
from symscreen.screening.checkpoint import open_checkpoint
from symscreen.screening.inference.feature_safety import (
    build_box_record,
    drop_unsafe_features,
    mark_unsafe_features,
)
from symscreen.screening.inference.intervals import add_intervals
from symscreen.screening.inference.numerical_error import flag_numerical_errors
from symscreen.screening.inference.sample_splitting import add_combined_p_values, add_test_columns
from symscreen.screening.inference.stability import add_stability
from symscreen.screening.large_tables import build_large_table_record, format_undefined_notice
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.residual_rounds import build_extra_record, run_rounds
from symscreen.statistics.inference.effective_rows import estimate_effective_rows
from symscreen.statistics.nulls.xi_null import build_xi_null, is_dominated_by_one_value
from symscreen.statistics.ranks.sorted_values import compute_midranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.task import ScreeningTask


_ALIKE_SHARE = 0.9  # effective rows, relative to all, above which neighbours in time are not alike
_RESULT_NEUTRAL_OPTIONS = ("jobs", "chunk_size")  # options that do not affect the saved state


@describe_options(list_options(ScreenOptions))
def screen(
    X: Any,  # noqa: N803  # scikit-learn's name
    y: ArrayLike | None = None,
    **options: Unpack[ScreenKeywords],
) -> ScreenResult:
    """Generate formulas from the columns of a table, score each against a target, and return the best.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        The data. A file or a data frame may contain the target, too; the columns of an array are x1 … xd.
    y : array_like, shape (n,) or (n, k), or str, optional
        The target, where `X` does not contain it, or the name of its column in `X`. With k columns it is a
        ranking of k labels, or with ``target_type="several"`` k targets. A series taken from the data frame
        `X` is not an input.
    **options
        The options of `symscreen.config.screen_options.ScreenOptions`: …

    Returns
    -------
    ScreenResult

    Raises
    ------
    InputError
        If the data, the grammar, a formula or an option cannot be used; see its subclasses.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ubb", unary=["cos"], binary=["sub", "div"], top=1)
    >>> result.table.expression[0], result.table.direction[0]
    ('x1 - cos(x2)/x1', '+')
    """
    screen_options = make_screen_options(options, verb="screen")
    return run_screen(prepare_screen(X, y, screen_options, samples_large_tables=True))


def run_screen(task: ScreeningTask) -> ScreenResult:
    """Run a screen.

    Raises
    ------
    OutputError
        If the checkpoint folder is not available or belongs to another run.
    """
    log_event("prepared", rows=task.full_target.n, inputs=len(task.dataset.names), digest=task.dataset.digest)
    try:
        with open_run(task) as running_task:
            result = _build_result(running_task)
    except MemoryLimitError as error:
        if task.sampling_limit is None:
            raise
        limit = name_option("max_ram", f"{task.sampling_limit // 10**6}MB")
        raise MemoryLimitError(f"{error.template}; or screen a sample of the rows: {limit}") from error
    log_event("finished", scored=result.n_scored, shown=len(result))
    return result


def _build_result(task: ScreeningTask) -> ScreenResult:
    """Run all rounds of a screen and the requested analyses, and build the result with its record."""
    dataset, options = task.dataset, task.options
    round_results = run_rounds(task)
    space, first = round_results[0].space, round_results[0].scoring_result
    extra_record = build_extra_record(round_results, task)
    extra_record |= build_partial_record(space, first.stream_result, len(task.layers))
    if task.budget_choice is not None:
        extra_record["budget"] = task.budget_choice.record
    if options.unsafe == "drop" and not task.is_selective:
        round_results, safety_record = drop_unsafe_features(task, round_results)
        extra_record |= safety_record
    if options.stability is not None:
        round_results[0], extra_record["stability"] = add_stability(task, round_results[0])
    if options.splits is not None:
        round_results[0], extra_record["sample_splitting"] = add_combined_p_values(task, round_results[0])
    elif task.test_dataset is not None:
        round_results[0], extra_record["sample_splitting"] = add_test_columns(task, round_results[0])
    if options.intervals is not None:
        round_results[0], extra_record["intervals"] = add_intervals(task, round_results[0])
    if task.large_table is None:
        round_results, numerical_error_record = flag_numerical_errors(task, round_results)
        extra_record |= numerical_error_record
    else:
        extra_record["large_table"] = build_large_table_record(task, first.finalists_record)
    if options.unsafe == "mark":
        round_results, safety_record = mark_unsafe_features(task, round_results)
        extra_record |= safety_record
    extra_record |= build_box_record(task, [each for one in round_results for each in one.expressions])
    if options.class_members is not None:
        from symscreen.screening.class_members import build_members_record, list_class_members

        members = list_class_members(round_results, task, options.class_members)
        extra_record["classes"] = build_members_record(members, options.class_members)
    record = build_run_record(
        dataset,
        space,
        task.grammar,
        {**task.record, **_build_run_record(task, round_results)},
        n_scored=first.n_scored,
        n_invalid=first.n_invalid,
        extra_record=extra_record,
        target=task.full_target,
    )
    result = build_screen_result(
        [
            (
                each.space,
                each.scoring_result,
                each.shown_indices,
                (task.full_target if len(round_results) == 1 else each.dataset.target).gini_mean_difference,
            )
            for each in round_results
        ],
        task.screeners,
        record,
        scale=task.full_target.gini_mean_difference,
        units=task.units,
        notices=_collect_notices(task, round_results, record),
        target_ranks=round_results[-1].target_ranks,
    )
    return replace(result, data=dataset, renderers=VIEWS)


def _collect_notices(
    task: ScreeningTask, round_results: Sequence[RoundResult], record: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return all notices of a screen in the order in which they are shown."""
    return (
        *task.dataset.notices,
        *round_results[-1].notices,
        *_format_run_notices(task, round_results),
        *filter(None, [format_selection_notice(record)]),
        *format_undefined_notice(record),
        *_format_null_notices(task),
        *_format_time_notices(task, round_results[0]),
        *_format_numerical_error_notices(record),
    )


def _format_numerical_error_notices(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a notice if rounding decides part of the score of a reported feature."""
    count = record.get("rounding", {}).get("marked", 0)
    if not count:
        return ()
    features = "1 reported feature" if count == 1 else f"{count:,} reported features"
    return (f"rounding errors affect the scores of {features}: see uncertain_rows and score_error",)


def _format_null_notices(task: ScreeningTask) -> tuple[str, ...]:
    """Return a notice if all p-values are 1 because the null distribution of xi is unknown."""
    error_control = task.error_control
    if (
        error_control is None
        or not error_control.p_values
        or getattr(task.screeners[0], "null_distribution", None) is not build_xi_null
        or not is_dominated_by_one_value(task.dataset.numeric_target)
    ):
        return ()
    notice = (
        "all p-values are 1: nine tenths of the target are one value, and the null distribution of xi is not "
        f"known for such a target; use {name_option('screener', 't0')}, whose null distribution is known"
    )
    return (Message(notice),)


def _format_time_notices(task: ScreeningTask, round_result: RoundResult) -> tuple[str, ...]:
    """Say how many independent rows the rows in the order of time are worth for the best formula."""
    target, best = task.dataset.target, next(round_result.iterate_expressions(1), None)
    if task.runs is None or best is None or not target.supports_inference:
        return ()
    values = evaluate_expression(best, task.dataset.columns_by_name)
    x, y = (compute_midranks(each) for each in (values, task.dataset.numeric_target.values))
    effective = estimate_effective_rows(x, y, task.runs)
    if effective > _ALIKE_SHARE * target.n:
        return ()
    notice = (
        f"neighbours in time are alike: for the best formula, {target.n:,} rows tell about as much as "
        f"{effective:,.0f} independent rows would"
    )
    return (Message(notice),)


def _build_run_record(task: ScreeningTask, round_results: Sequence[RoundResult]) -> dict[str, Any]:
    """Return the record of how this run was executed; empty without Dask and checkpoint."""
    run: dict[str, Any] = {}
    if isinstance(task.backend, Dask):
        run["backend"] = {"name": task.backend.name, **task.backend.metadata}
    if task.run_control.checkpoint is not None:
        streams = [each.scoring_result.stream_result for each in round_results]
        run["chunks"] = sum(stream.n_chunks for stream in streams if stream is not None)
        run["resumed_chunks"] = sum(stream.n_resumed_chunks for stream in streams if stream is not None)
    return {"run": run} if run else {}


def _format_run_notices(task: ScreeningTask, round_results: Sequence[RoundResult]) -> tuple[str, ...]:
    """Return notices about resumption, partial results and failed checkpoint saves."""
    notices, checkpoint = [], task.run_control.checkpoint
    for round_result in round_results:
        space, stream_result = round_result.space, round_result.scoring_result.stream_result
        if stream_result is not None and stream_result.n_resumed_chunks:
            notices.append(
                f"resumed from a checkpoint: {stream_result.n_resumed_chunks:,} chunks were done before"
            )
        record = build_partial_record(space, stream_result, len(task.layers))
        if record:
            hint = "" if checkpoint is None else "; run the same command again to resume"
            if space.stopped_at_layer is not None:
                hint = (
                    "; layers are generated anew in each run: give a longer "
                    f"{name_option('time_limit')}, or omit it"
                )
            notices.append(Message(format_partial_notice(record["partial"]) + hint))
    if checkpoint is not None and checkpoint.failure is not None:
        notices.append(f"the checkpoint is not up to date: {checkpoint.failure}")
    return tuple(notices)


@contextmanager
def open_run(task: ScreeningTask) -> Iterator[ScreeningTask]:
    """Open the resources of a running screen and close them when it ends for any reason."""
    with ExitStack() as stack:
        if isinstance(task.backend, Dask):
            stack.callback(task.backend.close)
        if task.large_table is not None:
            stack.callback(task.large_table.close)
        if task.options.checkpoint is not None:
            checkpoint = stack.enter_context(
                open_checkpoint(Path(task.options.checkpoint), _describe_run(task))
            )
            task = replace(task, run_control=replace(task.run_control, checkpoint=checkpoint))
        yield task


def _describe_run(task: ScreeningTask) -> dict[str, Any]:
    """Return everything that the bytes of a saved state depend on."""
    packages = ("symscreen", "numpy", "numba", "scipy")
    return {
        "versions": {package: metadata.version(package) for package in packages},
        "options": {
            name: value for name, value in task.record.items() if name not in _RESULT_NEUTRAL_OPTIONS
        },
        "grammar": build_grammar_record(task.grammar),
        "data": {
            "digest": task.dataset.digest,
            "rows": task.target.n,
            "inputs": list(task.dataset.names),
        },
    }
