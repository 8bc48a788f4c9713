"""An answer in words: the first line says it in one sentence, the others tell the facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symscreen.expression import Column, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from symscreen.pipeline.preparation import Prepared
    from symscreen.whereabouts.answer import Answer, Why

    Lines = list[str]

__all__ = ["worded"]


def worded(found: Why, ready: Prepared) -> str:
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
    lines = _WORDS[found.answer](found, ready)
    if found.affine_copy:
        lines.append(f"{found.affine_copy}, which is there, differs from it by a factor and an offset only.")
    return "\n".join(lines)


def _ranked(found: Why, ready: Prepared) -> Lines:
    where = _rank(found, ready)
    if found.match == "values":
        lines = [f"{found.formula} has the values of {found.found_as} on these data: {where}."]
    elif found.match == "algebra":
        lines = [f"{found.formula} is there as {found.found_as}: {where}."]
    else:
        lines = [f"{found.formula} is there: {where}."]
    lines += _standing(found, ready)
    if found.q_value is not None:
        rate = ready.options["fdr"]
        fails = f"none of the best passes --fdr {rate:g}, so they are shown all the same"
        passes = f"it passes --fdr {rate:g}"
        lines.append(f"q = {found.q_value:.4g}: {passes if found.q_value <= rate else fails}.")
    if found.listed is not None:
        lines.append(
            f"in the list, which --distinct {ready.distinct:g} thins, it is number {found.listed:,}."
        )
    elif found.beyond:
        lines.append(
            f"the list shows the best {found.bar:,}, which --distinct {ready.distinct:g} thins, and ends "
            "before it: a larger --top may reach it."
        )
    elif found.bar is not None and found.rank is not None and found.rank > found.bar:
        lines.append(f"the list shows the best {found.bar:,}: --top {found.rank} would reach it.")
    return lines


def _thinned(found: Why, ready: Prepared) -> Lines:
    cap = f"{ready.distinct:g}"
    lines = [f"{found.formula} is left out by --distinct {cap}: {found.stand_in} stands for it."]
    lines.append(f"their rank correlation is above {cap}; in the whole ranking: {_rank(found, ready)}.")
    return [*lines, *_as_found(found), *_standing(found, ready)]


def _not_passing(found: Why, ready: Prepared) -> Lines:
    lines = [f"{found.formula} does not pass --fdr {ready.options['fdr']:g}: q = {found.q_value:.4g}."]
    lines.append(f"in the whole ranking: {_rank(found, ready)}; the list shows what passes.")
    return [*lines, *_as_found(found), *_standing(found, ready)]


def _rank(found: Why, ready: Prepared) -> str:
    """Write a rank: of classes, or of features where the list shows all of them."""
    if found.rank is None:
        return _behind(found)
    of = "of" if ready.job.request.limit is None else "among the classes of"
    return f"rank {found.rank:,} {of} {_count(found.features, 'feature')}"


def _standing(found: Why, ready: Prepared) -> Lines:
    """Tell the scores of what is ranked, and its class."""
    way = {1: "; it rises with the response", -1: "; it falls with the response"}.get(found.direction, "")
    lines = []
    if found.rank is None:
        lines.append(f"{_stood(found)} More --max-ram would tell its rank.")
    lines += [f"scores: {_scores(found.scores)}{way}.", *_unsafe(found, ready), *_verdicts(found)]
    leader = ready.job.request.screeners[0].name
    if found.class_size is not None and found.class_size > 1:
        shown = "it stands" if found.stands_for == found.found_as else f"{found.stands_for} stands"
        lines.append(f"its class: {found.class_size:,} features alike to {leader}; {shown} for them.")
    return lines


def _unsafe(found: Why, ready: Prepared) -> Lines:
    """Tell how far rounding decides the scores."""
    if not found.unsafe_rows:
        return []
    rows, by = f"{found.unsafe_rows:,} of {_count(ready.table.response.n, 'row')}", found.unsafe_by
    leader = ready.job.request.screeners[0].name
    known = by is not None and not math.isnan(by)
    moved = (
        f"exact arithmetic may move {leader} by {by:.2g}"
        if known
        else f"how far {leader} may move is not known"
    )
    return [f"unsafe: rounding decides {rows}; {moved}."]


def _behind(found: Why) -> str:
    return f"behind {_count(found.ahead, 'class', 'classes')}, and more than --max-ram holds"


def _not_shown(found: Why, ready: Prepared) -> Lines:
    name = ready.job.request.screeners[0].name
    lines = [f"{found.formula} was not shown to {name}, which ranks the best {found.bar:,} (--prescreen)."]
    lines.append(_stood(found))
    scores = {name: score for name, score in found.scores.items() if not math.isnan(score)}
    return [*lines, *([f"scores: {_scores(scores)}."] if scores else []), *_as_found(found)]


def _dropped(found: Why, ready: Prepared) -> Lines:
    mode = ready.job.request.search.mode
    lines = [f"{found.formula} was dropped by the {mode}, before all of its rows were scored."]
    return [*lines, f"scored over all rows, it has {_stood(found)}", *_as_found(found)]


def _not_generated(found: Why, ready: Prepared) -> Lines:
    lacks = []
    if found.missing_inputs:
        lacks.append(_named("input", found.missing_inputs, "is not used", "are not used"))
    if found.missing_operators:
        lacks.append(_named("operator", found.missing_operators, "is not used", "are not used"))
    if found.missing_constants:
        lacks.append(
            _named("constant", map(str, found.missing_constants), "is not in the grammar",
                   "are not in the grammar")
        )  # fmt: skip
    if not lacks:
        return _without_layers(found, ready)
    lines = [f"{found.formula} is not generated: {', and '.join(lacks)}."]
    if found.missing_inputs:
        lines.append(_as_input(found.missing_inputs[0], ready))
    elif found.layers:
        written = "".join(layer.kind for layer in ready.job.layers)
        lines.append(f"with that, --layers {found.layers} reaches it; this screen has {written}.")
    return lines


def _as_input(name: str, ready: Prepared) -> str:
    """Say how a column that the data have becomes an input."""
    levels = [each for each in ready.table.names if f"1[{name} = " in each or each.startswith(f"{name} = ")]
    if levels:
        return f"its levels are inputs: {to_text(Column(levels[0]))}."
    return "name it with --inputs, or do not --exclude it; words are levels: --categorical."


def _without_layers(found: Why, ready: Prepared) -> Lines:
    """Say which layers a formula needs, beside those of the screen."""
    has = "".join(layer.kind for layer in ready.job.layers)
    if not found.layers:
        return [f"{found.formula} is not generated: it needs many layers."]
    if found.layers == has:  # a layer's own list lacks what the grammar has
        needs, has = f"it needs --layers {has} with all operators", ready.options["layers"]
    else:
        needs = (
            f"it needs {'more' if len(found.layers) > len(has) else 'other'} layers, --layers {found.layers}"
        )
    return [f"{found.formula} is not generated: {needs}.", f"this screen has {has}."]


def _undefined(found: Why, ready: Prepared) -> Lines:
    part = "" if found.part == found.formula else f": {found.part} is"
    rows = ready.table.response.n
    lines = [f"{found.formula} is undefined in {found.rows:,} of {_count(rows, 'row')}{part}."]
    values = ", ".join(f"{name} = {value:.6g}" for name, value in found.arguments.items())
    return [*lines, f"row {found.row}: {values}."] if values else lines


def _constant(found: Why, ready: Prepared) -> Lines:
    del ready
    if found.part == found.formula:
        return [f"{found.formula} is constant on these data."]
    return [f"{found.formula} is not there: {found.part} is constant on these data."]


def _forbidden(found: Why, ready: Prepared) -> Lines:
    part = "" if found.part == found.formula else f"built as {found.part}, which is barred; "
    grammar = ready.job.grammar.name
    return [
        f"{found.formula} is forbidden by the grammar's rule {found.rule}.",
        f"{part}see symscreen operators {grammar}.",
    ]


def _complex(found: Why, ready: Prepared) -> Lines:
    del ready
    what = found.formula if found.part == found.formula else f"{found.formula}: {found.part}"
    return [
        f"{what} has complexity {found.complexity}, over the cap of {found.cap}.",
        f"--max-complexity {found.complexity} would let it in.",
    ]


def _cut(found: Why, ready: Prepared) -> Lines:
    del ready
    part = "" if found.part == found.formula else f" with its part {found.part}"
    lines = [f"{found.formula} was lost at layer {found.layer}{part}, to the cut."]
    stay = "" if found.bar is None else f"; {found.bar:,} stay (--keep)"
    lines.append(_stood(found).rstrip(".") + stay + ".")
    if found.stands_for:
        lines.append(f"{found.stands_for}, an affine copy, stands for it in the cut.")
    return [*lines, *_verdicts(found)]


def _stood(found: Why) -> str:
    places = ", ".join(f"place {place:,} by {name}" for name, place in found.places.items())
    return f"{places}, of {_count(found.features, 'feature')}."


def _as_found(found: Why) -> Lines:
    return [] if found.match in {None, "same"} else [f"it is there as {found.found_as}."]


def _verdicts(found: Why) -> Lines:
    return [
        f"{name} {'selects' if chosen else 'does not select'} it." for name, chosen in found.selected.items()
    ]


def _scores(scores: Mapping[str, float]) -> str:
    shown = (f"{name} {'not shown it' if math.isnan(one) else f'{one:.6g}'}" for name, one in scores.items())
    return ", ".join(shown)


def _named(thing: str, names: Iterable[str], one: str, several: str) -> str:
    listed = list(names)
    if len(listed) == 1:
        return f"the {thing} {listed[0]} {one}"
    return f"the {thing}s {', '.join(listed[:-1])} and {listed[-1]} {several}"


def _count(number: int | None, thing: str, several: str = "") -> str:
    return f"{number or 0:,} {thing if number == 1 else several or thing + 's'}"


def _no_unit(found: Why, ready: Prepared) -> Lines:
    del ready
    return [f"{found.formula} has no unit: {found.rule}."]


def _other_units(found: Why, ready: Prepared) -> Lines:
    assert ready.job.units is not None  # noqa: S101  # else nobody asks for any
    target = ready.job.units.target
    asked = "" if target is None else f", and {target.base} is asked for (--target-units {target.given})"
    return [f"{found.formula} is in {found.unit}{asked}."]


_WORDS: dict[Answer, Callable[[Why, Prepared], Lines]] = {
    "ranked": _ranked,
    "duplicate": _ranked,
    "not shown": _not_shown,
    "dropped": _dropped,
    "not generated": _not_generated,
    "undefined": _undefined,
    "constant": _constant,
    "forbidden": _forbidden,
    "too complex": _complex,
    "cut": _cut,
    "no unit": _no_unit,
    "other units": _other_units,
    "thinned": _thinned,
    "not passing": _not_passing,
}
