"""The one question: where a formula stands among what a screen would score, or why it is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError, SymscreenError, printable
from symscreen.expression import columns_of, evaluate, key, parse, to_text
from symscreen.options import list_of_names
from symscreen.pipeline.preparation import prepared
from symscreen.pipeline.screen_options import options_of
from symscreen.table.source import read_frame
from symscreen.whereabouts.absence import absence_of, barred, without_unit
from symscreen.whereabouts.answer import Why
from symscreen.whereabouts.grown import grown_with_cuts
from symscreen.whereabouts.left_out import as_listed
from symscreen.whereabouts.match import by_key, by_values, simplest_in
from symscreen.whereabouts.parts import constant_on, constant_part, outside_of
from symscreen.whereabouts.presence import presence_of
from symscreen.whereabouts.wording import worded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from symscreen.expression import Expression
    from symscreen.pipeline.preparation import Prepared
    from symscreen.pipeline.screen_options import ScreenOptions
    from symscreen.whereabouts.answer import Match
    from symscreen.whereabouts.grown import Grown

__all__ = ["answered", "why"]


def why(
    X: Any,  # noqa: N803  # as in `screen`
    expression: str,
    y: ArrayLike | None = None,
    **options: Any,
) -> Why:
    """Say where a formula stands in a screen, or why it is not there.

    Parameters
    ----------
    X, y
        As of `symscreen.screen`.
    expression : str
        The formula, in the one notation.
    **options
        Those of the screen, as of `symscreen.screen`. Of several rounds the first is meant. A rank is that
        before near-duplicates, or what does not pass a false discovery rate, are left out; whether the
        feature is among these is told beside it. It is that of the whole space: `time_limit` and `checkpoint`
        play no part.

    Returns
    -------
    Why
        Exactly one answer. The formula is matched up to algebra, by its canonical key, and up to value on
        the data. A rank is that of a screen that shows every class; it takes about the time of a screen, and
        as much again with ``distinct``, and with ``fdr``. The classes before it are held meanwhile; where
        `max_ram` holds fewer, `rank` is None, and `ahead` and `places` tell what is known.

    Raises
    ------
    InputError
        As `symscreen.screen`; and if the formula does not parse, or names a column that the data have not.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.strogatz("glider2")
    >>> print(symscreen.why(data.frame, "x1 - cos(x2)/x1", layers="ub").text.splitlines()[0])
    x1 - cos(x2)/x1 is not generated: it needs more layers, --layers ubb.
    """
    given = options_of(options, verb="why")
    ready = prepared(X, y, given)
    control = ready.job.request.control
    plain = replace(ready.job.request, control=None)  # figures beside a rank take time and change none
    ready = replace(ready, job=replace(ready.job, request=plain))
    asked, lacking = _read(expression, X, ready, given)
    if lacking:
        found = Why(answer="not generated", formula=to_text(asked), missing_inputs=lacking)
    else:
        grown = grown_with_cuts(ready.table, ready.job)
        found = as_listed(answered(asked, grown), grown, ready, control)
    notices = ready.table.notices
    if ready.rounds > 1:
        notices = (*notices, f"of {ready.rounds} rounds the first is meant")
    return replace(found, text=worded(found, ready), notices=notices)


def _read(
    text: str, source: Any, ready: Prepared, given: ScreenOptions
) -> tuple[Expression, tuple[str, ...]]:
    """Read the formula; say which of its columns the data have but the space has not."""
    operators, names = ready.job.grammar.operators, ready.table.names
    try:
        return parse(text, operators, names), ()
    except FormulaError as error:
        asked = parse(text, operators)
        lacking = columns_of(asked) - set(names)
        of_response = lacking & {ready.table.response.name, *_named_responses(given)}
        if of_response:
            name = printable(repr(min(of_response)))
            part = "" if min(of_response) == ready.table.response.name else "part of "
            raise FormulaError(f"{name} is {part}the response: a formula is made of inputs") from None
        if not lacking <= _others_in(source, given):
            raise error from None
        return asked, tuple(sorted(lacking))


def _named_responses(given: ScreenOptions) -> Iterator[str]:
    """Return the columns that options name as the response, or might."""
    for names in (given.target, given.event, given.ranking, given.stages):
        if names is not None:
            yield from map(str, list_of_names(names))


def _others_in(source: Any, given: ScreenOptions) -> set[str]:
    """Return the columns that the data may have beside the inputs."""
    if isinstance(source, str) and source == "-":  # has been read
        return set(given.exclude)
    try:
        return set(read_frame(source).columns)
    except SymscreenError:
        return set()


def answered(asked: Expression, grown: Grown) -> Why:
    """Find the one answer for a formula of a space's inputs.

    Parameters
    ----------
    asked : Expression
        The formula.
    grown : Grown
        The space.

    Returns
    -------
    Why
        Without text.
    """
    request, formula = grown.job.request, to_text(asked)
    equal = _useful(by_key(grown.space, key(asked), request.backend).kept, grown)
    if len(equal):
        return _present(asked, simplest_in(grown.space, equal), grown, by_algebra=True)
    meant = without_unit(asked, grown.job.units)
    if meant is not None:
        return meant
    outside = outside_of(asked, grown.columns, grown.table.rows)
    if outside:  # a rule and the cap have their say before the values, as in the space's own counts
        return barred(asked, grown) or Why(answer="undefined", formula=formula, **outside)
    if constant_on(asked, grown.columns):
        return barred(asked, grown) or Why(
            answer="constant", formula=formula, part=constant_part(asked, grown.columns)
        )
    values = evaluate(asked, grown.columns)
    same, copies = by_values(grown.space, values, request.backend, request.chunk_size)
    if len(same):
        return _present(asked, simplest_in(grown.space, same), grown, by_algebra=False)
    absent = absence_of(asked, grown)
    if len(copies):
        copy = simplest_in(grown.space, copies)
        absent = replace(absent, affine_copy=to_text(grown.space.expression(copy)))
    return absent


def _useful(numbers: NDArray[np.int64], grown: Grown) -> NDArray[np.int64]:
    """Leave out the candidates that turn out undefined or constant by their values."""
    found = [numbers[:0], *(block.numbers for block in grown.space.blocks_at(np.sort(numbers)))]
    return np.concatenate(found)


def _present(asked: Expression, number: int, grown: Grown, *, by_algebra: bool) -> Why:
    """Say where a formula stands that the space holds, or whose values it holds."""
    found_as = to_text(grown.space.expression(number))
    facts, formula = presence_of(number, grown), to_text(asked)
    if not by_algebra and facts["answer"] == "ranked":
        facts["answer"] = "duplicate"
    match: Match = "values" if not by_algebra else "same" if found_as == formula else "algebra"
    return Why(formula=formula, found_as=found_as, match=match, **facts)
