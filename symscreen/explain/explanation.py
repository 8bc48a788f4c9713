"""What `why` answers: one word of a fixed set, what people read, and the facts.

An answer in words: the first line says it in one sentence, the others tell the facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from symscreen.expressions.tree import Column, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from symscreen.screening.preparation import PreparedScreen

    Lines = list[str]

__all__ = ["EXPLANATION_STATUSES", "Explanation", "ExplanationStatus", "MatchKind", "format_explanation"]

ExplanationStatus = Literal[
    "ranked", "duplicate", "not shown", "dropped", "not generated", "undefined", "constant", "forbidden",
    "too complex", "cut", "no unit", "other units", "thinned", "not passing",
]  # fmt: skip
MatchKind = Literal["same", "algebra", "values"]

EXPLANATION_STATUSES: tuple[ExplanationStatus, ...] = get_args(ExplanationStatus)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Where a formula stands in a screen, or why it is not there.

    Facts that do not belong to the answer are empty.

    Parameters
    ----------
    answer : str
        ``ranked``: it is in the space, perhaps written otherwise. ``duplicate``: another formula has its
        values on these data and stands for it. ``not shown``: it is in the space, but was not among the
        features that the joint screener that ranks was shown. ``dropped``: a race or sieve dropped it.
        ``not generated``: operators, constants, inputs or layers are missing. ``undefined``: it is outside
        its domain in some rows. ``constant``: it, or a part of it, is constant on these data. ``forbidden``:
        a rule of the grammar bars it. ``too complex``: over the cap. ``cut``: a part of it was lost between
        two layers. ``no unit``: units are asked for, and a part of it breaks a rule of theirs.
        ``other units``: it has a unit, but not the one asked for. ``thinned``: it is ranked, but left out of
        the list for a better one that it correlates with. ``not passing``: it is ranked, but left out for it
        does not pass the false discovery rate, and others do.
    text : str
        For people: the first line is the answer, in one sentence.
    formula : str
        What was asked, in the one notation.
    found_as : str
        The formula of the space that is equal to it: by algebra, or on these data.
    match : {"same", "algebra", "values"} or None
        How `found_as` was found.
    rank : int or None
        Its class's rank in the screen, from 1, before anything is left out; where ``top="all"``, its own.
        None, too, where more classes stand before it than memory holds: `ahead` and `places` then tell what
        is known.
    ahead : int or None
        How many classes are known to stand before it, where its rank is not known.
    features : int or None
        How many features were scored.
    stands_for : str
        The member of its class that the list shows.
    class_size : int or None
        How many features are in its class.
    direction : int
        +1 where it rises with the response, −1 where it falls; 0 where that is not known.
    scores : mapping of str to float
        Of each screener; NaN where a joint one was not shown it.
    selected : mapping of str to bool
        What each joint screener that was shown it says.
    places : mapping of str to int
        Its place among all features by the screeners that choose, race or cut, where those decided, or where
        its rank is not known; a place in a cut is a rank, or where that is not known one more than is known
        to stand before it.
    bar : int or None
        How many stay or are shown, where that was decided: what `places` is held against.
    missing_operators, missing_inputs, missing_constants : tuple
        What the space was grown without.
    layers : str
        The shortest layers that would reach it.
    part : str
        The part of it that is at fault.
    rows : int
        In how many rows that part is undefined.
    row : int or None
        One of these, counted from 1 in the source.
    arguments : mapping of str to float
        What goes into the part in that row.
    rule : str
        The rule that bars it, of the grammar or of units.
    unit : str
        What it is measured in, where that is not what was asked for.
    complexity, cap : int or None
        Its complexity, and the highest allowed.
    layer : int or None
        The layer after which it was cut.
    affine_copy : str
        A formula of the space that differs from it by a factor and an offset only.
    stand_in : str
        What the list shows in its place, where near-duplicates are left out.
    listed : int or None
        Its place in a list from which near-duplicates are left out.
    beyond : bool
        Whether such a list ends before it.
    q_value : float or None
        Of the feature, where a false discovery rate is asked for.
    unsafe_rows : int or None
        Of what is ranked: in how many rows rounding decides where the row stands, as of a ranking.
    unsafe_by : float or None
        How far the first screener's score may be from that of exact arithmetic; NaN where no bound is known.
    notices : tuple of str
        What `screen` would tell of the data.
    """

    status: ExplanationStatus
    text: str = ""
    formula: str
    found_as: str = ""
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
    unsafe_rows: int | None = None
    unsafe_by: float | None = None
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def format_explanation(explanation: Explanation, prepared: PreparedScreen) -> str:
    """Put an answer into words.

    Parameters
    ----------
    found : Why
        The answer and its facts.
    ready : Prepared
        The screen that was asked about.

    Returns
    -------
    str
        Lines; the first is the answer.
    """
    lines = _FORMATTERS[explanation.status](explanation, prepared)
    if explanation.affine_copy:
        lines.append(
            f"{explanation.affine_copy}, which is there, differs from it by a factor and an offset only."
        )
    return "\n".join(lines)


def _format_ranked(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    where = _format_rank(explanation, prepared)
    if explanation.match == "values":
        lines = [f"{explanation.formula} has the values of {explanation.found_as} on these data: {where}."]
    elif explanation.match == "algebra":
        lines = [f"{explanation.formula} is there as {explanation.found_as}: {where}."]
    else:
        lines = [f"{explanation.formula} is there: {where}."]
    lines += _format_rank_details(explanation, prepared)
    if explanation.q_value is not None:
        rate = prepared.options["fdr"]
        fails = f"none of the best passes --fdr {rate:g}, so they are shown all the same"
        passes = f"it passes --fdr {rate:g}"
        lines.append(f"q = {explanation.q_value:.4g}: {passes if explanation.q_value <= rate else fails}.")
    if explanation.filtered_rank is not None:
        lines.append(
            f"in the list, which --distinct {prepared.max_correlation:g} thins, it is number "
            f"{explanation.filtered_rank:,}."
        )
    elif explanation.past_end:
        lines.append(
            f"the list shows the best {explanation.rank_cutoff:,}, which --distinct "
            f"{prepared.max_correlation:g} thins, and ends "
            "before it: a larger --top may reach it."
        )
    elif (
        explanation.rank_cutoff is not None
        and explanation.rank is not None
        and explanation.rank > explanation.rank_cutoff
    ):
        lines.append(
            f"the list shows the best {explanation.rank_cutoff:,}: --top {explanation.rank} would reach it."
        )
    return lines


def _format_redundant(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    cap = f"{prepared.max_correlation:g}"
    lines = [
        f"{explanation.formula} is left out by --distinct {cap}: {explanation.shown_instead} stands for it."
    ]
    lines.append(
        f"their rank correlation is above {cap}; in the whole ranking: {_format_rank(explanation, prepared)}."
    )
    return [*lines, *_format_match(explanation), *_format_rank_details(explanation, prepared)]


def _format_not_passing(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    lines = [
        f"{explanation.formula} does not pass --fdr {prepared.options['fdr']:g}: q = "
        f"{explanation.q_value:.4g}."
    ]
    lines.append(f"in the whole ranking: {_format_rank(explanation, prepared)}; the list shows what passes.")
    return [*lines, *_format_match(explanation), *_format_rank_details(explanation, prepared)]


def _format_rank(explanation: Explanation, prepared: PreparedScreen) -> str:
    """Write a rank: of classes, or of features where the list shows all of them."""
    if explanation.rank is None:
        return _format_unknown_rank(explanation)
    of = "of" if prepared.config.scoring.limit is None else "among the classes of"
    return f"rank {explanation.rank:,} {of} {_format_count(explanation.n_features, 'feature')}"


def _format_rank_details(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    """Tell the scores of what is ranked, and its class."""
    way = {1: "; it rises with the response", -1: "; it falls with the response"}.get(
        explanation.direction, ""
    )
    lines = []
    if explanation.rank is None:
        lines.append(f"{_format_screener_ranks(explanation)} More --max-ram would tell its rank.")
    lines += [
        f"scores: {_format_scores(explanation.scores)}{way}.",
        *_format_numerical_error(explanation, prepared),
        *_format_selections(explanation),
    ]
    leader = prepared.config.scoring.screeners[0].name
    if explanation.class_size is not None and explanation.class_size > 1:
        shown = (
            "it stands"
            if explanation.representative == explanation.found_as
            else f"{explanation.representative} stands"
        )
        lines.append(f"its class: {explanation.class_size:,} features alike to {leader}; {shown} for them.")
    return lines


def _format_numerical_error(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    """Tell how far rounding decides the scores."""
    if not explanation.unsafe_rows:
        return []
    rows, by = (
        f"{explanation.unsafe_rows:,} of {_format_count(prepared.dataset.target.n, 'row')}",
        explanation.unsafe_by,
    )
    leader = prepared.config.scoring.screeners[0].name
    known = by is not None and not math.isnan(by)
    moved = (
        f"exact arithmetic may move {leader} by {by:.2g}"
        if known
        else f"how far {leader} may move is not known"
    )
    return [f"unsafe: rounding decides {rows}; {moved}."]


def _format_unknown_rank(explanation: Explanation) -> str:
    return f"behind {_format_count(explanation.n_better, 'class', 'classes')}, and more than --max-ram holds"


def _format_not_shown(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    name = prepared.config.scoring.screeners[0].name
    lines = [
        f"{explanation.formula} was not shown to {name}, which ranks the best {explanation.rank_cutoff:,} "
        "(--prescreen)."
    ]
    lines.append(_format_screener_ranks(explanation))
    scores = {name: score for name, score in explanation.scores.items() if not math.isnan(score)}
    return [*lines, *([f"scores: {_format_scores(scores)}."] if scores else []), *_format_match(explanation)]


def _format_dropped(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    mode = prepared.config.scoring.search.mode
    lines = [f"{explanation.formula} was dropped by the {mode}, before all of its rows were scored."]
    return [
        *lines,
        f"scored over all rows, it has {_format_screener_ranks(explanation)}",
        *_format_match(explanation),
    ]


def _format_not_generated(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    lacks = []
    if explanation.missing_inputs:
        lacks.append(_format_names("input", explanation.missing_inputs, "is not used", "are not used"))
    if explanation.missing_operators:
        lacks.append(_format_names("operator", explanation.missing_operators, "is not used", "are not used"))
    if explanation.missing_constants:
        lacks.append(
            _format_names("constant", map(str, explanation.missing_constants), "is not in the grammar",
                   "are not in the grammar")
        )  # fmt: skip
    if not lacks:
        return _format_missing_layers(explanation, prepared)
    lines = [f"{explanation.formula} is not generated: {', and '.join(lacks)}."]
    if explanation.missing_inputs:
        lines.append(_suggest_input(explanation.missing_inputs[0], prepared))
    elif explanation.layers:
        written = "".join(layer.kind for layer in prepared.config.layers)
        lines.append(f"with that, --layers {explanation.layers} reaches it; this screen has {written}.")
    return lines


def _suggest_input(name: str, prepared: PreparedScreen) -> str:
    """Say how a column that the data have becomes an input."""
    levels = [
        each for each in prepared.dataset.names if f"1[{name} = " in each or each.startswith(f"{name} = ")
    ]
    if levels:
        return f"its levels are inputs: {to_text(Column(levels[0]))}."
    return "name it with --inputs, or do not --exclude it; words are levels: --categorical."


def _format_missing_layers(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    """Say which layers a formula needs, beside those of the screen."""
    has = "".join(layer.kind for layer in prepared.config.layers)
    if not explanation.layers:
        return [f"{explanation.formula} is not generated: it needs many layers."]
    if explanation.layers == has:  # a layer's own list lacks what the grammar has
        needs, has = f"it needs --layers {has} with all operators", prepared.options["layers"]
    else:
        needs = f"it needs {'more' if len(explanation.layers) > len(has) else 'other'} layers, --layers {explanation.layers}"
    return [f"{explanation.formula} is not generated: {needs}.", f"this screen has {has}."]


def _format_undefined(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    part = "" if explanation.part == explanation.formula else f": {explanation.part} is"
    rows = prepared.dataset.target.n
    lines = [
        f"{explanation.formula} is undefined in {explanation.n_undefined_rows:,} of "
        f"{_format_count(rows, 'row')}{part}."
    ]
    values = ", ".join(f"{name} = {value:.6g}" for name, value in explanation.argument_values.items())
    return [*lines, f"row {explanation.example_row}: {values}."] if values else lines


def _format_constant(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    del prepared
    if explanation.part == explanation.formula:
        return [f"{explanation.formula} is constant on these data."]
    return [f"{explanation.formula} is not there: {explanation.part} is constant on these data."]


def _format_forbidden(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    part = (
        "" if explanation.part == explanation.formula else f"built as {explanation.part}, which is barred; "
    )
    grammar = prepared.config.grammar.name
    return [
        f"{explanation.formula} is forbidden by the grammar's rule {explanation.rule}.",
        f"{part}see symscreen operators {grammar}.",
    ]


def _format_too_complex(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    del prepared
    what = (
        explanation.formula
        if explanation.part == explanation.formula
        else f"{explanation.formula}: {explanation.part}"
    )
    return [
        f"{what} has complexity {explanation.complexity}, over the cap of {explanation.max_complexity}.",
        f"--max-complexity {explanation.complexity} would let it in.",
    ]


def _format_pruned(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    del prepared
    part = "" if explanation.part == explanation.formula else f" with its part {explanation.part}"
    lines = [f"{explanation.formula} was lost at layer {explanation.layer}{part}, to the cut."]
    stay = "" if explanation.rank_cutoff is None else f"; {explanation.rank_cutoff:,} stay (--keep)"
    lines.append(_format_screener_ranks(explanation).rstrip(".") + stay + ".")
    if explanation.representative:
        lines.append(f"{explanation.representative}, an affine copy, stands for it in the cut.")
    return [*lines, *_format_selections(explanation)]


def _format_screener_ranks(explanation: Explanation) -> str:
    places = ", ".join(f"place {place:,} by {name}" for name, place in explanation.screener_ranks.items())
    return f"{places}, of {_format_count(explanation.n_features, 'feature')}."


def _format_match(explanation: Explanation) -> Lines:
    return [] if explanation.match in {None, "same"} else [f"it is there as {explanation.found_as}."]


def _format_selections(explanation: Explanation) -> Lines:
    return [
        f"{name} {'selects' if chosen else 'does not select'} it."
        for name, chosen in explanation.selected.items()
    ]


def _format_scores(scores: Mapping[str, float]) -> str:
    shown = (f"{name} {'not shown it' if math.isnan(one) else f'{one:.6g}'}" for name, one in scores.items())
    return ", ".join(shown)


def _format_names(noun: str, names: Iterable[str], singular: str, plural: str) -> str:
    listed = list(names)
    if len(listed) == 1:
        return f"the {noun} {listed[0]} {singular}"
    return f"the {noun}s {', '.join(listed[:-1])} and {listed[-1]} {plural}"


def _format_count(number: int | None, noun: str, plural: str = "") -> str:
    return f"{number or 0:,} {noun if number == 1 else plural or noun + 's'}"


def _format_no_unit(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    del prepared
    return [f"{explanation.formula} has no unit: {explanation.rule}."]


def _format_other_units(explanation: Explanation, prepared: PreparedScreen) -> Lines:
    assert prepared.config.units is not None  # noqa: S101  # else nobody asks for any
    target = prepared.config.units.target
    asked = "" if target is None else f", and {target.base} is asked for (--target-units {target.text})"
    return [f"{explanation.formula} is in {explanation.unit}{asked}."]


_FORMATTERS: dict[ExplanationStatus, Callable[[Explanation, PreparedScreen], Lines]] = {
    "ranked": _format_ranked,
    "duplicate": _format_ranked,
    "not shown": _format_not_shown,
    "dropped": _format_dropped,
    "not generated": _format_not_generated,
    "undefined": _format_undefined,
    "constant": _format_constant,
    "forbidden": _format_forbidden,
    "too complex": _format_too_complex,
    "cut": _format_pruned,
    "no unit": _format_no_unit,
    "other units": _format_other_units,
    "thinned": _format_redundant,
    "not passing": _format_not_passing,
}
