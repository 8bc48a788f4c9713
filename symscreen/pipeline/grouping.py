"""Rows that belong together (`--groups`): read once, heeded by halves, intervals and permutations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.statistics.group_shuffles import exchanged
from symscreen.statistics.t0_interval import FEWEST
from symscreen.table import read_frame, row_groups

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.pipeline.screen_options import ScreenOptions
    from symscreen.table import Table

__all__ = ["Grouping", "grouping_of", "notices_of"]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows that belong together.

    Parameters
    ----------
    column : str
        The column that tells the groups.
    unit : int64 array, shape (n,)
        For each row of the table the number of its group, from 0 up.
    """

    column: str
    unit: NDArray[np.int64]

    @property
    def units(self) -> int:
        """How many groups there are."""
        return int(self.unit.max(initial=-1)) + 1


def grouping_of(table: Table, source: Any, options: ScreenOptions) -> Grouping | None:
    """Read the groups of rows, or refuse them where nothing heeds them or something cannot.

    Parameters
    ----------
    table : Table
        The data.
    source : object
        Where they come from.
    options : ScreenOptions
        Of the screen.

    Returns
    -------
    Grouping or None

    Raises
    ------
    OptionError
        If nothing that is asked for heeds groups, if p-values are asked for, whose null distributions take
        rows for exchangeable, or if there are fewer than four groups.
    TableError
        If the groups cannot be read.
    """
    name = options.groups
    if name is None:
        return None
    if not any((options.stability, options.intervals, options.permutations)):
        raise OptionError(
            f"groups is {name!r}, but nothing heeds it: give --stability, --intervals or --permutations, too"
        )
    if options.p_values or options.fdr is not None:
        asked = "--p-values" if options.fdr is None else f"--fdr {options.fdr:g}"
        raise OptionError(
            f"{asked} cannot be had with --groups {name}: null distributions take rows for exchangeable, and "
            "those of one group are not; leave one of them out, or use --permutations, which shuffles by "
            "group"
        )
    found = Grouping(name, row_groups(read_frame(source), name, table.rows))
    if found.units < FEWEST:
        raise OptionError(
            f"--groups {name} has {found.units} groups, too few to tell how they differ: give at least "
            f"{FEWEST}"
        )
    return found


def notices_of(grouping: Grouping | None, options: ScreenOptions) -> tuple[str, ...]:
    """Say what groups leave out, and which of them cannot trade places when the response is permuted.

    Parameters
    ----------
    grouping : Grouping or None
        Of the rows.
    options : ScreenOptions
        Of the screen.

    Returns
    -------
    tuple of str
    """
    if grouping is None:
        return ()
    notices = []
    if options.p_values is None:
        notices.append(
            "p- and q-values are left out: null distributions take rows for exchangeable, and those of one "
            f"group by {grouping.column} are not"
        )
    moved, units = exchanged(grouping.unit), grouping.units
    if options.permutations is not None and moved < units:
        notices.append(
            f"permutations: {units - moved:,} of {units:,} groups by {grouping.column} have a number of rows "
            "of their own and keep their places: their rows are shuffled within them only, which finds less"
        )
    return tuple(notices)
