"""`symscreen.classes`: the members of the classes of a ranking, stored with it or found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import InputError, OptionError, TableError, quoted
from symscreen.export import operators_of_record
from symscreen.expression import complexity, parse, to_text
from symscreen.options import at_least_1
from symscreen.pipeline.again import prepared_again
from symscreen.pipeline.membership import RELATIONS, member_table
from symscreen.pipeline.thinning import rounds_thinned
from symscreen.result import check_members, stored_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen.evaluation.ranked import Ranked

__all__ = ["classes"]


def classes(
    result: Ranked,
    X: Any = None,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    members: int = 20,
    spellings: int = 0,
    jobs: int | None = None,
    max_ram: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """List the members of the classes of a ranking, and how each is related to the one that is shown.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        What `symscreen.screen` returned or `symscreen.read_ranking` read.
    X, y : optional
        The data that were screened. Needed unless the result was made with ``members=``: the screen is then
        run again as its record tells, and its space is gone through once more.
    members : int
        How many of each class to list at most; memory is bounded by it.
    spellings : int
        How many other ways of writing each member to list at most: formulas of the last layer that are equal
        to it by algebra, and so no features of their own.
    jobs : int, optional
        Threads; the answer does not depend on it.
    max_ram : str or int, optional
        As of `symscreen.screen`.
    progress : callable, optional
        As of `symscreen.screen`.

    Returns
    -------
    pandas.DataFrame
        One row a member: ``rank`` and ``class_size`` of its class, ``member`` (1 for the one shown),
        ``expression``, ``complexity``, ``layer``, ``direction`` and ``relation`` to the one shown:
        ``same formula`` (equal by algebra), ``same values`` (equal on these rows), ``affine copy``,
        ``same ranks``, ``mirrored ranks``, or ``rounding`` (the same but for rows that rounding ties or
        swaps). With spellings a column ``also_written``, of lists of formulas.

    Raises
    ------
    OptionError
        If no members are stored with the result and no data are given.
    TableError
        If the data are others than those that were screened, or what is stored does not fit together.

    Notes
    -----
    A class holds the features of the space that the first screener cannot tell apart on these rows: of equal
    (or mirrored) ranks for rank statistics, affine copies for linear ones. Formulas that algebra shows to be
    another one written differently are no features of their own (the record counts them as algebraic
    duplicates): they are no members, but spellings of one.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.additive(n=20)
    >>> result = symscreen.screen(data.frame, layers="u", unary=["cube", "neg"], top=1)
    >>> symscreen.classes(result, data.frame)[["member", "expression", "relation"]].values.tolist()
    [[1, 'x3', 'shown'], [2, '-x3', 'affine copy'], [3, 'x3**3', 'same ranks']]
    """
    limit = at_least_1("members", members)
    if spellings:
        at_least_1("spellings", spellings, ", or 0 for none")
        if X is None:
            raise OptionError("spellings are not stored with a result: give the data that were screened")
    if X is None:
        stored = stored_members(result.record, tuple(RELATIONS))
        if stored is None:
            raise OptionError(
                "no members are stored with this result: give the data that were screened (--data FILE), or "
                f"screen again with --members {limit}"
            )
        check_members(stored, result.table, result.record)
        _check_formulas(stored, result.record)
        return stored[stored.member <= limit].reset_index(drop=True)
    ready = prepared_again(result.record, X, y, jobs=jobs, max_ram=max_ram, progress=progress)
    found, _ = rounds_thinned(ready.table, ready.job, ready.rounds, ready.distinct)
    shown = [to_text(expression) for each in found for expression in each.expressions]
    if not _same(shown, list(result.table["expression"])):
        raise TableError(
            "the screen that the record tells of does not give this ranking any more: it was changed, or "
            "made by another version; screen again"
        )
    return member_table(found, ready.job.request, limit, spellings)


def _check_formulas(members: pd.DataFrame, record: Mapping[str, Any]) -> None:
    """Refuse members that are no formulas of the record's columns and operators, or not so complex."""
    operators, names = operators_of_record(record), record["data"]["inputs"]
    for text, told in zip(members["expression"], members["complexity"], strict=True):
        try:
            known = complexity(parse(text, operators, names))
        except InputError as error:
            raise TableError(f"the record is damaged: its member {quoted(text)}: {error}") from None
        if known != told:
            raise TableError(
                f"the record is damaged: the complexity of {quoted(text)} is {known}, not {told}"
            )


def _same(shown: list[str], written: list[str]) -> bool:
    """Compare formulas with those of a file, where one that begins with a minus stands in parentheses."""
    pairs = zip(shown, written, strict=False)
    return len(shown) == len(written) and all(theirs in {own, f"({own})"} for own, theirs in pairs)
