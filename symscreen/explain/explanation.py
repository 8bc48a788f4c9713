"""The result of `why`: a status, a text, and the facts behind them.

`format_explanation` writes the text. Its first line answers in one sentence, the other lines give the facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal, get_args

from symscreen.data import LevelIndicator
from symscreen.expressions.printing import to_text
from symscreen.expressions.tree import Column
from symscreen.grammar.grammar_files import write_constants
from symscreen.messages import Message, escape_control_chars, name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from symscreen.expressions.tree import Expression
    from symscreen.screening.task import ScreeningTask

    Lines = list[str]


ExplanationStatus = Literal[
    "ranked", "duplicate", "not shown", "dropped", "not generated", "undefined", "constant", "forbidden",
    "too complex", "pruned", "no unit", "other units", "excluded", "redundant", "unsafe", "not passing",
]  # fmt: skip
MatchKind = Literal["same", "algebra", "values"]

EXPLANATION_STATUSES: tuple[ExplanationStatus, ...] = get_args(ExplanationStatus)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The rank of a formula in a screen, or why it is missing.

    Facts that do not apply to the status are empty.

    Parameters
    ----------
    status : str
        ``ranked``: the formula is in the space, possibly in an equivalent form. ``duplicate``: another
        formula has the same values on the data and represents it. ``not shown``: it is in the space, but was
        not on the shortlist of the joint screener that ranks. ``dropped``: a race or sieve search dropped it.
        ``not generated``: operators, constants, inputs or layers are missing. ``undefined``: it is outside
        its domain in some rows. ``constant``: it, or a part of it, is constant on the data. ``forbidden``: a
        rule of the grammar forbids it. ``too complex``: it exceeds the maximum complexity. ``pruned``: a part
        of it was pruned between layers. ``no unit``: units are required, and a part of it violates a rule of
        units. ``other units``: it has a unit, but not that of the target. ``excluded``: it, or a part of it
        in an earlier layer, is excluded for the reason in `rule`, and no more is known. ``redundant``: it is
        ranked, but a better feature that it correlates with is listed instead. ``unsafe``: it is ranked, but
        not listed because it, or the feature that represents it, is unsafe on new rows. ``not passing``: it
        is ranked, but not listed because it does not pass the false discovery rate, and others do.
    text : str
        Text for the user. The first line answers in one sentence.
    formula : str
        The formula in question.
    found : Expression or None
        The formula of the space that is equal to it, algebraically or on the data.
    match : {"same", "algebra", "values"} or None
        How `found` was found.
    rank : int or None
        Rank of its equivalence class in the screen, from 1, before any filter; with ``top="all"``, its own
        rank. Also None if more classes rank before it than fit into memory. `n_better` and `screener_ranks`
        are then known.
    n_better : int or None
        Lower bound of the number of equivalence classes that rank before it, if its rank is unknown.
    n_features : int or None
        Number of features that were scored.
    representative : str
        Representative of its equivalence class in the list.
    class_size : int or None
        Number of features in its equivalence class.
    direction : int
        +1 if it increases with the target, −1 if it decreases, 0 if unknown.
    scores : mapping of str to float
        Score of each screener. NaN for a joint screener that did not have it on the shortlist.
    selected : mapping of str to bool
        Whether each joint screener that had it on the shortlist selects it.
    screener_ranks : mapping of str to int
        Its rank among all features by the screeners that build the shortlist, race or prune, if these decided
        or its rank is unknown. For pruning, a lower bound if the rank is unknown.
    rank_cutoff : int or None
        Number of features that are kept or listed. `screener_ranks` and `rank` are compared with it.
    missing_operators, missing_inputs, missing_constants : tuple
        What the space was grown without.
    layers : str
        The shortest layers that generate it.
    part : str
        The part of it that causes the status.
    n_undefined_rows : int
        Number of rows in which that part is undefined.
    example_row : int or None
        One of these rows, counted from 1 in the source.
    argument_values : mapping of str to float
        Values of the arguments of that part in that row.
    rule : str
        The rule of the grammar or of units that it violates, or the reason why it is excluded.
    unit : str
        Its unit, if that is not the unit of the target.
    complexity, max_complexity : int or None
        Its complexity, and the maximum allowed.
    layer : int or None
        The layer after which it was pruned, or that left out a part of it.
    affine_copy : str
        A formula of the space that differs from it only by a factor and an offset.
    shown_instead : str
        The formula that is listed instead, if redundant features are filtered out.
    filtered_rank : int or None
        Its rank in a list without redundant features.
    past_end : bool
        Whether such a list ends before it.
    q_value : float or None
        Its q-value, if a false discovery rate is given.
    uncertain_rows : int or None
        Number of rows whose order is decided by rounding errors, if it is ranked.
    score_error : float or None
        Maximum numerical error of the first screener's score. NaN if no bound is known.
    unsafe : str
        Why it is unsafe on new rows: ``pole``, ``undefined``, ``overflow`` or ``not proved safe``; empty if
        it is safe, or was not analyzed.
    unsafe_part : str
        The first part of it that is not proved safe.
    unsafe_point : mapping of str to float
        Values of the inputs, in base units, at which the part has no finite value. Empty if none is known.
    notices : tuple of str
        Notices about the data, as those of `screen`.
    """

    status: ExplanationStatus
    text: str = ""
    formula: str
    found: Expression | None = None
    match: MatchKind | None = None
    rank: int | None = None
    n_better: int | None = None
    n_features: int | None = None
    representative: str = ""
    class_size: int | None = None
    direction: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    selected: Mapping[str, bool] = field(default_factory=dict)
    screener_ranks: Mapping[str, int] = field(default_factory=dict)
    rank_cutoff: int | None = None
    missing_operators: tuple[str, ...] = ()
    missing_inputs: tuple[str, ...] = ()
    missing_constants: tuple[float, ...] = ()
    layers: str = ""
    part: str = ""
    n_undefined_rows: int = 0
    example_row: int | None = None
    argument_values: Mapping[str, float] = field(default_factory=dict)
    rule: str = ""
    unit: str = ""
    complexity: int | None = None
    max_complexity: int | None = None
    layer: int | None = None
    affine_copy: str = ""
    shown_instead: str = ""
    filtered_rank: int | None = None
    past_end: bool = False
    q_value: float | None = None
    uncertain_rows: int | None = None
    score_error: float | None = None
    unsafe: str = ""
    unsafe_part: str = ""
    unsafe_point: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def found_as(self) -> str:
        """The text of `found`; empty without it."""
        return "" if self.found is None else to_text(self.found)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "\n".join(map(escape_control_chars, [*self.notices, *self.text.splitlines()]))

    def _repr_html_(self) -> str:
        answer, *facts = self.text.splitlines() or [""]
        paragraphs = (*self.notices, *facts)
        lines = "".join(f"<p>{escape(escape_control_chars(line))}</p>" for line in paragraphs)
        return f"<p><strong>{escape(escape_control_chars(answer))}</strong></p>{lines}"


def format_explanation(explanation: Explanation, task: ScreeningTask) -> str:
    """Write the text of an explanation.

    Parameters
    ----------
    explanation : Explanation
        Status and facts.
    task : ScreeningTask
        The screen.

    Returns
    -------
    str
        Lines of text. The first line answers in one sentence.
    """
    lines = _FORMATTERS[explanation.status](explanation, task)
    if explanation.affine_copy:
        lines.append(
            f"{explanation.affine_copy} is in the space, and differs from it only by a factor and an offset."
        )
    return Message("\n".join(lines))


def _format_ranked(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the statuses ``ranked`` and ``duplicate``."""
    rank = _format_rank(explanation, task)
    if explanation.match == "values":
        lines = [f"{explanation.formula} has the values of {explanation.found_as} on these data: {rank}."]
    elif explanation.match == "algebra":
        lines = [f"{explanation.formula} is in the space as {explanation.found_as}: {rank}."]
    else:
        lines = [f"{explanation.formula} is in the space: {rank}."]
    lines += _format_rank_details(explanation, task)
    if explanation.q_value is not None:
        fdr = task.options.fdr or 0.0
        fails = f"none of the best features passes {name_option('fdr', fdr)}, so the list shows them anyway"
        passes = f"it passes {name_option('fdr', fdr)}"
        lines.append(f"q = {explanation.q_value:.4g}: {passes if explanation.q_value <= fdr else fails}.")
    if explanation.filtered_rank is not None:
        is_earlier = explanation.rank is not None and explanation.filtered_rank < explanation.rank
        reason = ", because some before it are left out" if is_earlier else ""
        lines.append(
            f"in the list without {_describe_omitted(task)}, it is number "
            f"{explanation.filtered_rank:,}{reason}."
        )
    elif explanation.past_end:
        lines.append(
            f"the list of the best {explanation.rank_cutoff:,} without {_describe_omitted(task)} ends before "
            f"it: a larger {name_option('top')} may show it."
        )
    elif (
        explanation.rank_cutoff is not None
        and explanation.rank is not None
        and explanation.rank > explanation.rank_cutoff
    ):
        lines.append(
            f"the list shows the best {explanation.rank_cutoff:,}: "
            f"{name_option('top', explanation.rank)} would show it."
        )
    return lines


def _describe_omitted(task: ScreeningTask) -> str:
    """Name the features that the list leaves out, with the options."""
    options, parts = task.options, []
    if task.max_correlation < 1.0:
        parts.append(f"redundant features ({name_option('max_correlation', task.max_correlation)})")
    if options.unsafe == "drop":
        parts.append(f"unsafe features ({name_option('unsafe', 'drop')})")
    return " and ".join(parts)


def _format_unsafe(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``unsafe``."""
    subject = (
        explanation.formula if explanation.unsafe else f"{explanation.representative}, which represents it,"
    )
    lines = [
        f"{explanation.formula} is left out by {name_option('unsafe', 'drop')}: {subject} is unsafe.",
        f"in the whole ranking: {_format_rank(explanation, task)}.",
    ]
    return [*lines, *_format_match(explanation), *_format_rank_details(explanation, task)]


def _format_safety(explanation: Explanation) -> Lines:
    """Format why a formula is unsafe, and where."""
    if not explanation.unsafe:
        return []
    part = "it" if explanation.unsafe_part == explanation.found_as else explanation.unsafe_part
    if not explanation.unsafe_point:
        return [f"unsafe on new rows: {explanation.unsafe}: {part} may be undefined or unbounded in the box."]
    point = ", ".join(f"{name} = {value:.6g}" for name, value in sorted(explanation.unsafe_point.items()))
    return [f"unsafe on new rows: {explanation.unsafe}: {part} has no finite value at {point}."]


def _format_redundant(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``redundant``."""
    cap = f"{task.max_correlation:g}"
    limit = name_option("max_correlation", task.max_correlation)
    lines = [
        f"{explanation.formula} is left out by {limit}: {explanation.shown_instead} is listed instead.",
        f"their rank correlation is above {cap}; in the whole ranking: {_format_rank(explanation, task)}.",
    ]
    return [*lines, *_format_match(explanation), *_format_rank_details(explanation, task)]


def _format_not_passing(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``not passing``."""
    fdr = task.options.fdr or 0.0
    lines = [f"{explanation.formula} does not pass {name_option('fdr', fdr)}: q = {explanation.q_value:.4g}."]
    lines.append(
        f"in the whole ranking: {_format_rank(explanation, task)}; the list shows the features that pass."
    )
    return [*lines, *_format_match(explanation), *_format_rank_details(explanation, task)]


def _format_rank(explanation: Explanation, task: ScreeningTask) -> str:
    """Format a rank among equivalence classes, or among features if the list shows all of them."""
    if explanation.rank is None:
        return _format_unknown_rank(explanation)
    scope = "of" if task.limit is None else "among the equivalence classes of"
    return f"rank {explanation.rank:,} {scope} {_format_count(explanation.n_features, 'feature')}"


def _format_rank_details(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the scores and the equivalence class of a ranked formula."""
    direction = {1: "; it increases with the target", -1: "; it decreases with the target"}.get(
        explanation.direction, ""
    )
    lines = []
    if explanation.rank is None:
        lines.append(
            f"{_format_screener_ranks(explanation)}. With more {name_option('max_ram')} its rank is computed."
        )
    lines += [
        f"scores: {_format_scores(explanation.scores)}{direction}.",
        *_format_numerical_error(explanation, task),
        *_format_safety(explanation),
        *_format_selections(explanation),
    ]
    first_screener = task.screeners[0].name
    if explanation.class_size is not None and explanation.class_size > 1:
        representation = (
            "it represents"
            if explanation.representative == explanation.found_as
            else f"{explanation.representative} represents"
        )
        lines.append(
            f"its equivalence class: {explanation.class_size:,} features with the same {first_screener}; "
            f"{representation} them."
        )
    return lines


def _format_numerical_error(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the numerical error of the scores."""
    if not explanation.uncertain_rows:
        return []
    n_rows, error = (
        f"{explanation.uncertain_rows:,} of {_format_count(task.dataset.target.n, 'row')}",
        explanation.score_error,
    )
    first_screener = task.screeners[0].name
    is_known = error is not None and not math.isnan(error)
    effect = (
        f"the exact {first_screener} may differ by {error:.2g}"
        if is_known
        else f"how much the exact {first_screener} may differ is unknown"
    )
    return [f"uncertain: rounding errors decide the order of {n_rows}; {effect}."]


def _format_unknown_rank(explanation: Explanation) -> str:
    """Format a lower bound of the rank."""
    n_better = _format_count(explanation.n_better, "equivalence class", "equivalence classes")
    return f"after {n_better} or more (limited by {name_option('max_ram')})"


def _format_not_shown(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``not shown``."""
    name = task.screeners[0].name
    size = f"the best {explanation.rank_cutoff:,} features"
    lines = [f"{explanation.formula} is not on the shortlist of {name}: {size} ({name_option('prescreen')})."]
    lines.append(f"{_format_screener_ranks(explanation)}.")
    scores = {name: score for name, score in explanation.scores.items() if not math.isnan(score)}
    return [*lines, *([f"scores: {_format_scores(scores)}."] if scores else []), *_format_match(explanation)]


def _format_dropped(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``dropped``."""
    mode = task.search
    lines = [f"{explanation.formula} was dropped by the {mode}, before all of its rows were scored."]
    return [
        *lines,
        f"scored on all rows, it has {_format_screener_ranks(explanation)}.",
        *_format_match(explanation),
    ]


def _format_not_generated(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``not generated``."""
    reasons = []
    if explanation.missing_inputs:
        reasons.append(_format_names("input", explanation.missing_inputs, "is not used", "are not used"))
    if explanation.missing_operators:
        reasons.append(
            _format_names("operator", explanation.missing_operators, "is not used", "are not used")
        )
    if explanation.missing_constants:
        reasons.append(
            _format_names(
                "constant",
                map(str, write_constants(explanation.missing_constants)),
                "is not in the grammar",
                "are not in the grammar",
            )
        )
    if not reasons:
        return _format_missing_layers(explanation, task)
    lines = [f"{explanation.formula} is not generated: {', and '.join(reasons)}."]
    if explanation.missing_inputs:
        lines.append(_suggest_input(explanation.missing_inputs[0], task))
    elif explanation.layers:
        lines.append(_suggest_options(explanation, task))
    return lines


def _suggest_options(explanation: Explanation, task: ScreeningTask) -> str:
    """Suggest the options with which a formula of other operators or constants is generated."""
    layers = "".join(layer.kind for layer in task.layers)
    options = [name_option("layers", explanation.layers)] if explanation.layers != layers else []
    if explanation.missing_operators:
        options.insert(0, name_option("with_operators", list(explanation.missing_operators)))
    others = "with these constants in the grammar, " if explanation.missing_constants else ""
    if not options:
        return f"{others}this screen generates it."
    return f"{others}{' and '.join(options)} {'generate' if len(options) > 1 else 'generates'} it."


def _suggest_input(name: str, task: ScreeningTask) -> str:
    """Suggest how to make an input of a column of the data."""
    levels = (
        column
        for column, each in task.dataset.indicators.items()
        if each.column == name and isinstance(each, LevelIndicator)
    )
    if (first := next(levels, None)) is not None:
        return f"its levels are inputs: {to_text(Column(first))}."
    return (
        f"add it to {name_option('inputs')}, or remove it from {name_option('exclude')}; a text column "
        f"needs {name_option('categorical')}."
    )


def _format_missing_layers(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format which layers a formula needs."""
    layers = "".join(layer.kind for layer in task.layers)
    if not explanation.layers:
        return [f"{explanation.formula} is not generated: it needs too many layers."]
    if explanation.layers == layers:  # a layer lists fewer operators than the grammar
        requirement = f"it needs {name_option('layers', layers)} with all operators"
        layers = task.record["layers"]
    else:
        kind = "more" if len(explanation.layers) > len(layers) else "other"
        requirement = f"it needs {kind} layers, {name_option('layers', explanation.layers)}"
    return [f"{explanation.formula} is not generated: {requirement}.", f"this screen has {layers}."]


def _format_undefined(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``undefined``."""
    part = "" if explanation.part == explanation.formula else f": {explanation.part} is"
    n_rows = _format_count(task.dataset.target.n, "row")
    lines = [f"{explanation.formula} is undefined in {explanation.n_undefined_rows:,} of {n_rows}{part}."]
    values = ", ".join(f"{name} = {value:.6g}" for name, value in explanation.argument_values.items())
    return [*lines, f"row {explanation.example_row}: {values}."] if values else lines


def _format_constant(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``constant``."""
    del task
    if explanation.part == explanation.formula:
        return [f"{explanation.formula} is constant on these data."]
    return [f"{explanation.formula} is not in the space: {explanation.part} is constant on these data."]


def _format_forbidden(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``forbidden``."""
    part = (
        ""
        if explanation.part == explanation.formula
        else f"it would be built as {explanation.part}, which is forbidden; "
    )
    grammar = task.grammar.name
    return [
        f"{explanation.formula} is forbidden by the grammar's rule {explanation.rule}.",
        f"{part}see symscreen operators {grammar}.",
    ]


def _format_too_complex(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``too complex``."""
    del task
    subject = (
        explanation.formula
        if explanation.part == explanation.formula
        else f"{explanation.formula}: {explanation.part}"
    )
    return [
        f"{subject} has complexity {explanation.complexity}; the maximum is {explanation.max_complexity}.",
        f"{name_option('max_complexity', explanation.complexity)} would allow it.",
    ]


def _format_excluded(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``excluded``."""
    del task
    reason = explanation.rule
    if explanation.part:
        reason = f"its part {explanation.part} was left out of layer {explanation.layer} ({explanation.rule})"
    return [f"{explanation.formula} is not in the space: {reason}."]


def _format_pruned(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``pruned``."""
    del task
    part = "" if explanation.part == explanation.formula else f" with its part {explanation.part}"
    where = f"after layer {explanation.layer}" if explanation.layer else "among the inputs"
    lines = [f"{explanation.formula} was pruned {where}{part}."]
    cutoff = ""
    if explanation.rank_cutoff is not None:
        cutoff = f"; {explanation.rank_cutoff:,} are kept ({name_option('pool_size')})"
    lines.append(f"{_format_screener_ranks(explanation)}{cutoff}.")
    if explanation.representative:
        lines.append(f"{explanation.representative}, an affine copy, represents it.")
    return [*lines, *_format_selections(explanation)]


def _format_screener_ranks(explanation: Explanation) -> str:
    """Format the ranks by each screener as a clause."""
    ranks = ", ".join(f"place {rank:,} by {name}" for name, rank in explanation.screener_ranks.items())
    return f"{ranks}, of {_format_count(explanation.n_features, 'feature')}"


def _format_match(explanation: Explanation) -> Lines:
    """Format the equal formula of the space, if it is written differently."""
    return [] if explanation.match in {None, "same"} else [f"it is in the space as {explanation.found_as}."]


def _format_selections(explanation: Explanation) -> Lines:
    """Format which joint screeners select the formula."""
    return [
        f"{name} {'selects' if selected else 'does not select'} it."
        for name, selected in explanation.selected.items()
    ]


def _format_scores(scores: Mapping[str, float]) -> str:
    """Format the score of each screener."""
    texts = (
        f"{name} {'not on the shortlist' if math.isnan(score) else f'{score:.6g}'}"
        for name, score in scores.items()
    )
    return ", ".join(texts)


def _format_names(noun: str, names: Iterable[str], singular: str, plural: str) -> str:
    """Format a list of missing names as a clause."""
    listed = list(names)
    if len(listed) == 1:
        return f"the {noun} {listed[0]} {singular}"
    return f"the {noun}s {', '.join(listed[:-1])} and {listed[-1]} {plural}"


def _format_count(number: int | None, noun: str, plural: str = "") -> str:
    """Format a count with its noun."""
    return f"{number or 0:,} {noun if number == 1 else plural or noun + 's'}"


def _format_no_unit(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``no unit``."""
    del task
    return [f"{explanation.formula} has no unit: {explanation.rule}."]


def _format_other_units(explanation: Explanation, task: ScreeningTask) -> Lines:
    """Format the status ``other units``."""
    assert task.units is not None  # noqa: S101  # this status requires units
    target = task.units.target
    required = ""
    if target is not None:
        required = f", but the target is in {target.base} ({name_option('target_units', target.text)})"
    return [f"{explanation.formula} is in {explanation.unit}{required}."]


_FORMATTERS: dict[ExplanationStatus, Callable[[Explanation, ScreeningTask], Lines]] = {
    "ranked": _format_ranked,
    "duplicate": _format_ranked,
    "not shown": _format_not_shown,
    "dropped": _format_dropped,
    "not generated": _format_not_generated,
    "undefined": _format_undefined,
    "constant": _format_constant,
    "forbidden": _format_forbidden,
    "too complex": _format_too_complex,
    "pruned": _format_pruned,
    "no unit": _format_no_unit,
    "other units": _format_other_units,
    "excluded": _format_excluded,
    "redundant": _format_redundant,
    "unsafe": _format_unsafe,
    "not passing": _format_not_passing,
}
