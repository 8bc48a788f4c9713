"""`symscreen.why`: find where a formula stands in a screen, or why it is not there."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen._option_values import split_column_names
from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.data import read_frame
from symscreen.errors import FormulaError, SymscreenError
from symscreen.explain.explanation import Explanation, format_explanation
from symscreen.explain.feature_lookup import (
    describe_domain_violation,
    find_by_key,
    find_by_values,
    format_constant_part,
    generate_with_prunings,
    is_constant_on,
    pick_simplest,
)
from symscreen.explain.missing import explain_missing, explain_unit_violation, find_violation
from symscreen.explain.rank_position import apply_display_filters, locate_feature
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_columns, compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.messages import escape_control_chars
from symscreen.screening.preparation import prepare_screen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.explain.explanation import MatchKind
    from symscreen.explain.feature_lookup import GeneratedSpace
    from symscreen.expressions.tree import Expression
    from symscreen.screening.task import ScreeningTask


@describe_options(list_options(ScreenOptions))
def why(
    X: Any,  # noqa: N803  # as in `screen`
    expression: str,
    y: ArrayLike | None = None,
    **options: Unpack[ScreenKeywords],
) -> Explanation:
    """Say where a formula stands in a screen, or why it is not there.

    Parameters
    ----------
    X, y
        As in `symscreen.screen`.
    expression : str
        The formula, in the one notation.
    **options : object
        Options of the screen, as in `symscreen.screen`. If there are several rounds, the first is explained.
        The rank counts all features of the space, also redundant ones and those that do not pass a false
        discovery rate; the answer says whether the feature is one of these. `time_limit` and `checkpoint`
        have no effect.

    Returns
    -------
    Explanation
        Exactly one answer. The formula is matched up to algebra, by its canonical key, and up to value on
        the data. A rank is that of a screen that shows every equivalence class; it takes about the time of a
        screen, as much again where near-duplicates are left out, and with ``fdr``. The classes before it are
        held in memory; if `max_ram` is too small for them, `rank` is None, and `n_better` and
        `screener_ranks` give what is known.

    Raises
    ------
    InputError
        As `symscreen.screen`; also if the formula does not parse, or names a column that the data lack.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> found = symscreen.why(data.frame, "x1 - cos(x2)/x1", layers="ub", with_operators="cos")
    >>> print(found.text.splitlines()[0])
    x1 - cos(x2)/x1 is not generated: it needs more layers, layers='ubb'.
    """
    screen_options = make_screen_options(options, verb="why")
    return FormulaExplainer(prepare_screen(X, y, screen_options), X).explain(expression)


class FormulaExplainer:
    """Answers for formulas of one screen, whose space is generated once, for the first that needs it.

    Parameters
    ----------
    task : ScreeningTask
        The screen.
    source : object
        What its data were read from, for the names of columns that are no inputs.
    """

    def __init__(self, task: ScreeningTask, source: Any) -> None:
        self._control = task.error_control
        self._task = replace(task, error_control=None)  # p-values take time and do not change the rank
        self._source = source

    @cached_property
    def _generated(self) -> GeneratedSpace:
        return generate_with_prunings(self._task)

    def explain(self, expression: str) -> Explanation:
        """Explain a formula, in the one notation; raises FormulaError as `why`."""
        asked, lacking = _parse_formula(expression, self._source, self._task)
        if lacking:
            found = Explanation(status="not generated", formula=to_text(asked), missing_inputs=lacking)
        else:
            found = explain_formula(asked, self._generated)
            found = apply_display_filters(found, self._generated, self._control)
        notices, n_rounds = self._task.dataset.notices, self._task.options.rounds
        if n_rounds > 1:
            notices = (*notices, f"of {n_rounds} rounds the first is meant")
        return replace(found, text=format_explanation(found, self._task), notices=notices)


def _parse_formula(text: str, source: Any, task: ScreeningTask) -> tuple[Expression, tuple[str, ...]]:
    """Read the formula; say which of its columns the data have but the space has not."""
    options, operators, names = task.options, task.grammar.operators, task.dataset.names
    try:
        return parse_expression(text, operators, names), ()
    except FormulaError as error:
        asked = parse_expression(text, operators)
        lacking = collect_columns(asked) - set(names)
        target_columns = lacking & {task.dataset.target.name, *_list_target_columns(task)}
        if target_columns:
            name = escape_control_chars(repr(min(target_columns)))
            part = "" if min(target_columns) == task.dataset.target.name else "part of "
            raise FormulaError(f"{name} is {part}the target: a formula is made of inputs") from None
        if not lacking <= _list_other_columns(source, options):
            raise error from None
        return asked, tuple(sorted(lacking))


def _list_target_columns(task: ScreeningTask) -> Iterator[str]:
    """Yield the columns of the target."""
    options = task.options
    yield from task.dataset.target.names
    yield from split_column_names(options.stages, "stages")
    for names in (options.event, options.ranking):
        yield from [names] if isinstance(names, str) else map(str, names or ())


def _list_other_columns(source: Any, options: ScreenOptions) -> set[str]:
    """Return the columns that the data may have besides the inputs."""
    if isinstance(source, str) and source == "-":  # has been read
        return {options.exclude} if isinstance(options.exclude, str) else set(options.exclude)
    try:
        return set(read_frame(source).columns)
    except SymscreenError:
        return set()


def explain_formula(expression: Expression, generated: GeneratedSpace) -> Explanation:
    """Find the one answer for a formula of a space's inputs.

    Parameters
    ----------
    expression : Expression
        The formula.
    generated : GeneratedSpace
        The space.

    Returns
    -------
    Explanation
        Without text.
    """
    task, formula = generated.task, to_text(expression)
    equal = _drop_invalid(
        find_by_key(generated.space, compute_key(expression), task.backend).features, generated
    )
    if len(equal):
        return _explain_present(expression, pick_simplest(generated.space, equal), generated, by_algebra=True)
    meant = explain_unit_violation(expression, generated.task.units)
    if meant is not None:
        return meant
    outside = describe_domain_violation(expression, generated.columns, generated.task.dataset.source_rows)
    if outside:  # a rule and the cap have their say before the values, as in the space's own counts
        return find_violation(expression, generated) or Explanation(
            status="undefined", formula=formula, **outside
        )
    if is_constant_on(expression, generated.columns):
        return find_violation(expression, generated) or Explanation(
            status="constant", formula=formula, part=format_constant_part(expression, generated.columns)
        )
    values = evaluate_expression(expression, generated.columns)
    same, copies = find_by_values(generated.space, values, task.backend, task.chunk_size)
    if len(same):
        return _explain_present(expression, pick_simplest(generated.space, same), generated, by_algebra=False)
    absent = explain_missing(expression, generated)
    if len(copies):
        copy = pick_simplest(generated.space, copies)
        absent = replace(absent, affine_copy=to_text(generated.space.build_expression(copy)))
    return absent


def _drop_invalid(numbers: NDArray[np.int64], generated: GeneratedSpace) -> NDArray[np.int64]:
    """Leave out the candidates that turn out undefined or constant by their values."""
    found = [numbers[:0], *(block.numbers for block in generated.space.evaluate_features(np.sort(numbers)))]
    return np.concatenate(found)


def _explain_present(
    expression: Expression, number: int, generated: GeneratedSpace, *, by_algebra: bool
) -> Explanation:
    """Say where a formula stands that the space holds, or whose values it holds."""
    found = generated.space.build_expression(number)
    facts, formula = locate_feature(number, generated), to_text(expression)
    if not by_algebra and facts["status"] == "ranked":
        facts["status"] = "duplicate"
    match: MatchKind = "values" if not by_algebra else "same" if to_text(found) == formula else "algebra"
    return Explanation(formula=formula, found=found, match=match, **facts)
