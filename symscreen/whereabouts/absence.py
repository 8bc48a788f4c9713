"""Why a space does not hold a formula: it is built again of what the pool has, until something bars it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen.expression import Apply, Constant, apply, columns_of, complexity, key, to_text
from symscreen.result.scoring import Keep
from symscreen.screeners import Screener
from symscreen.units import unit_of, violation
from symscreen.whereabouts.answer import Why
from symscreen.whereabouts.forms import other_forms
from symscreen.whereabouts.match import by_key
from symscreen.whereabouts.parts import constant_on, outside_of, parts_of
from symscreen.whereabouts.reach import missing_for, reached
from symscreen.whereabouts.rules import barring_rule
from symscreen.whereabouts.standing import classes_that_fit, standing_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expression import Expression
    from symscreen.grammar import Grammar
    from symscreen.units import Units
    from symscreen.whereabouts.grown import Grown, Lost

__all__ = ["absence_of", "barred", "without_unit"]

_LONGER_THAN_ANY = 99


def absence_of(asked: Expression, grown: Grown) -> Why:
    """Say why a space does not hold a formula.

    Parameters
    ----------
    asked : Expression
        The formula: defined in every row, not constant, and equal to no feature of the space.
    grown : Grown
        The space.

    Returns
    -------
    Why
        Without text.
    """
    job = grown.job
    pruned = by_key(grown.space, key(asked), job.request.backend).pruned
    left_out = [grown.space.expression(number) for number in pruned[:1].tolist()]
    forms = [asked, *left_out, *other_forms(asked)]
    for form in forms:
        if form in left_out or reached(form, job.layers, job.grammar.constants, job.pool_kind):
            found = _traced(form, grown, to_text(asked))
            if isinstance(found, Why):
                return found
            lost = grown.lost_to_a_cut(found)
            if lost is not None:
                return _cut(found, lost, grown, to_text(asked))
    allowed = [form for form in forms if barred(form, grown) is None]
    # what no layers would mend comes before what some would
    lasting = None if allowed else barred(asked, grown)
    if lasting is not None:
        return lasting
    varying = [form for form in allowed if _unvarying(form, grown) is None]
    unvarying = None if varying else _unvarying(asked, grown)
    if unvarying is not None:
        return Why(answer="constant", formula=to_text(asked), part=to_text(unvarying))
    return _not_generated(asked, varying or allowed, grown)


def _unvarying(form: Expression, grown: Grown) -> Expression | None:
    """Find the innermost part of a formula that holds a column and is constant, as no feature is."""
    parts = (part for part in parts_of(form) if columns_of(part))
    return next((part for part in parts if constant_on(part, grown.columns)), None)


def _traced(form: Expression, grown: Grown, formula: str) -> Expression | Why:
    """Build a formula again of what the pool has in the place of its parts, or say what is in the way."""
    if isinstance(form, Constant):
        return form
    made: Expression = form
    if isinstance(form, Apply):
        arguments = []
        for each in form.arguments:
            found = _traced(each, grown, formula)
            if not isinstance(found, Why):
                found = found if isinstance(found, Constant) else _held(found, grown, formula)
            if isinstance(found, Why):
                return found
            arguments.append(found)
        made = apply(form.operator, *arguments)
    bar = _barred_itself(made, grown.job.grammar, formula)
    if bar is not None:
        return bar
    outside = outside_of(made, grown.columns, grown.table.rows)
    if outside:
        return Why(answer="undefined", formula=formula, **outside)
    if constant_on(made, grown.columns):
        return Why(answer="constant", formula=formula, part=to_text(made))
    return made


def barred(form: Expression, grown: Grown) -> Why | None:
    """Say which rule, or the cap, bars a formula as it is written; None where nothing does."""
    found = (_barred_itself(part, grown.job.grammar, to_text(form)) for part in parts_of(form))
    return next((each for each in found if each is not None), None)


def without_unit(asked: Expression, units: Units | None) -> Why | None:
    """Say what units have against a formula; None where nothing, or where none are asked for."""
    if units is None:
        return None
    broken, formula = violation(asked, units), to_text(asked)
    if broken is not None:
        return Why(answer="no unit", formula=formula, rule=broken)
    own = unit_of(asked, units)
    if units.target is not None and own is not None and own != units.target.base:
        return Why(answer="other units", formula=formula, unit=own)
    return None


def _barred_itself(made: Expression, grammar: Grammar, formula: str) -> Why | None:
    """Say what bars a formula whose parts are not barred."""
    rule, cost, cap = barring_rule(made, grammar), complexity(made), grammar.max_complexity
    if rule:
        return Why(answer="forbidden", formula=formula, part=to_text(made), rule=rule)
    if cap is not None and cost > cap:
        return Why(answer="too complex", formula=formula, part=to_text(made), complexity=cost, cap=cap)
    return None


def _held(part: Expression, grown: Grown, formula: str) -> Expression | Why:
    """Return what the pool has in the place of a part, or say that a cut took it."""
    held = grown.in_place_of(part)
    if held is not None:
        return held
    lost = grown.lost_to_a_cut(part)
    return part if lost is None else _cut(part, lost, grown, formula)


def _cut(part: Expression, lost: Lost, grown: Grown, formula: str) -> Why:
    """Say where a part stood when it was cut."""
    job = grown.job
    request = replace(job.request, screeners=job.cutters)
    columns = tuple(one for one in job.cutters if isinstance(one, Screener)) or request.leaders
    kind = lost.space.counts[-1].kind
    most = classes_that_fit(lost.space, request, len(columns), job.max_bytes)
    standings = [
        standing_of(
            lost.space,
            lost.number,
            grown.table.response,
            request=request,
            keep=Keep(place, "affine", mirrored=True, limit=None),
            screeners=columns,
            most=most,
        )
        for place in range(len(columns))
    ]
    stand_in = standings[0].number
    return Why(
        answer="cut",
        formula=formula,
        part=to_text(part),
        layer=lost.layer,
        places={
            # where more stand before it than may be held, it is behind those at least
            one.name: each.ahead + 1 if each.rank is None else each.rank
            for one, each in zip(columns, standings, strict=True)
        },
        scores=dict(zip((one.name for one in columns), standings[0].scores, strict=True)),
        selected={one.name: False for one in request.joint},
        bar=None if job.keeps is None else job.keeps[kind],
        features=standings[0].features,
        stands_for="" if stand_in == lost.number else to_text(lost.space.expression(stand_in)),
    )


def _not_generated(asked: Expression, forms: Sequence[Expression], grown: Grown) -> Why:
    """Say what is missing, for the form of the formula that misses least."""
    job = grown.job
    found = [missing_for(form, job.grammar, job.layers, job.pool_kind) for form in forms]
    least = min(
        found,
        key=lambda each: (
            len(each.operators) + len(each.constants),
            len(each.layers) or _LONGER_THAN_ANY,
        ),
    )
    return Why(
        answer="not generated",
        formula=to_text(asked),
        missing_operators=least.operators,
        missing_constants=least.constants,
        layers=least.layers,
    )
