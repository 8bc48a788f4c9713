"""Who is behind each feature that a screen shows, and how each member of its class is related to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.evaluation import affine_copies
from symscreen.expansion import equal_to_rounding
from symscreen.expression import to_text
from symscreen.pipeline.spellings import spellings_of
from symscreen.result import MEMBER_COLUMNS, members_of
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.pipeline.rounds import Round
    from symscreen.result import Request

    Values = NDArray[np.float64]

__all__ = ["RELATIONS", "member_table", "related"]

RELATIONS = {
    "shown": "stands for its class",
    "same formula": "equal by algebra",
    "same values": "equal on these rows, not by algebra",
    "affine copy": "a*shown + b on these rows",
    "same ranks": "the same order of the rows",
    "mirrored ranks": "the reversed order of the rows",
    "rounding": "the same but for rows that rounding ties or swaps",
}
_STRAIGHT = 1e-9  # of the spread: what an affine copy may be off by for rounding
_VALUED_AT_A_TIME = 1 << 22


def member_table(found: Sequence[Round], request: Request, limit: int, spellings: int = 0) -> pd.DataFrame:
    """List the members of the classes that a screen shows.

    Parameters
    ----------
    found : sequence of Round
        What the rounds of the screen found.
    request : Request
        What was asked.
    limit : int
        How many members of each class to list at most.
    spellings : int
        How many other ways of writing each member to list at most.

    Returns
    -------
    pandas.DataFrame
        One row a member: ``rank`` (of the class in the ranking), ``class_size``, ``member`` (1 for the one
        shown), ``expression``, ``complexity``, ``layer``, ``direction``, ``relation`` (a key of
        `RELATIONS`). Classes in their order; in each the member that is shown first, then the others by
        |Pearson's correlation| with the response and complexity. With spellings a column ``also_written``:
        lists of formulas.
    """
    import pandas as pd

    frames, shown = [], 0
    for each in found:
        frames.append(_of_round(each, request, limit, shown, spellings))
        shown += len(each.shown)
    return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _of_round(found: Round, request: Request, limit: int, before: int, spellings: int) -> pd.DataFrame:
    import pandas as pd

    space, kept = found.space, found.screened.kept
    members = members_of(space, found.response, request, found.screened, limit)
    rows: list[dict[str, Any]] = []
    listed: list[int] = []
    for rank, place in enumerate(found.shown.tolist(), start=before + 1):
        if not members.sizes[place]:
            continue  # where every feature is shown, only the first of a class stands for it
        own = members.kept.take(np.flatnonzero(members.place == place))
        head = int(kept.number[place])
        own = own.take(np.flatnonzero(own.number != head)).first(limit - 1)
        numbers = np.concatenate(([head], own.number))
        listed += numbers.tolist()
        features = space.features(numbers)
        expressions = [space.expression(number) for number in numbers.tolist()]
        relations = ["shown", *_relations(space, numbers, expressions)]
        for at, relation in enumerate(relations):
            sign = int(kept.direction[place] if at == 0 else own.direction[at - 1])
            rows.append(
                {
                    "rank": rank,
                    "class_size": int(members.sizes[place]),
                    "member": at + 1,
                    "expression": to_text(expressions[at]),
                    "complexity": int(features.complexity[at]),
                    "layer": int(features.layer[at]),
                    "direction": {1: "+", -1: "-"}.get(sign, ""),
                    "relation": relation,
                }
            )
    table = pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))
    if spellings:
        table["also_written"] = spellings_of(
            space, np.array(listed, dtype=np.int64), spellings, request.backend
        )
    return table


def _relations(space: Space, numbers: NDArray[np.int64], expressions: Sequence[Expression]) -> list[str]:
    """Tell how each feature but the first is related to the first, some at a time."""
    head, found = space.values(numbers[:1])[0], list[str]()
    for start in range(1, len(numbers), step := max(1, _VALUED_AT_A_TIME // max(1, space.rows))):
        found += related(head, space.values(numbers[start : start + step]))
    same = [at for at, relation in enumerate(found, start=1) if relation == "same values"]
    if same:
        algebra = affine_copies([expressions[at] for at in same], expressions[0])
        for at in np.array(same)[algebra].tolist():
            found[at - 1] = "same formula"
    return found


def related(head: Values, others: Values) -> list[str]:
    """Tell how features are related to another one by their values.

    Parameters
    ----------
    head : float64 array, shape (n,)
        The one that stands for the class.
    others : float64 array, shape (m, n)
        Members of the class.

    Returns
    -------
    list of str, length m
        The closest of ``same values``, ``affine copy``, ``same ranks``, ``mirrored ranks``, ``rounding``.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> related(x, np.array([x, 3 - 2 * x, x**2, 1 / x]))
    ['same values', 'affine copy', 'same ranks', 'mirrored ranks']
    """
    equal = equal_to_rounding(np.broadcast_to(head, others.shape), others)
    ranks = order_features(np.ascontiguousarray(np.vstack((head, others)))).doubled_ranks
    own, theirs = ranks[0], ranks[1:]
    tests = (
        ("same values", equal),
        ("affine copy", _straight(head, others)),
        ("same ranks", (theirs == own).all(axis=1)),
        ("mirrored ranks", (theirs == 2 * (len(head) + 1) - own).all(axis=1)),
    )
    return [next((name for name, holds in tests if holds[at]), "rounding") for at in range(len(others))]


def _straight(head: Values, others: Values) -> NDArray[np.bool_]:
    """Say which features are affine copies of another one, but for rounding."""

    def unit(values: Values) -> Values:
        moved = values / np.abs(values).max(axis=1, keepdims=True)
        moved = moved - moved.mean(axis=1, keepdims=True)
        return np.asarray(moved / np.abs(moved).max(axis=1, keepdims=True))

    own, theirs = unit(head[None]), unit(others)
    off = np.minimum(np.abs(theirs - own).max(axis=1), np.abs(theirs + own).max(axis=1))
    return np.asarray(off <= _STRAIGHT)
