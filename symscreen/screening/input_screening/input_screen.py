"""`symscreen.screen_inputs`: find the columns of a table that matter, by the best of their formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen.config.fields import describe_options, list_options, make_options
from symscreen.config.parsing import check_share
from symscreen.config.screen_options import ScreenOptions
from symscreen.config.space_options import split_operators
from symscreen.errors import DataError, OptionError
from symscreen.messages import KEYWORD, format_count, name_option
from symscreen.report.html_listings import format_listing_html, format_listing_text
from symscreen.report.terminal.screened_input_table import build_screened_input_table
from symscreen.screening.input_screening.forward_search import (
    MAX_PAIR_INPUTS,
    compute_pair_level,
    compute_selection_limit,
    search_inputs,
)
from symscreen.screening.input_screening.input_table import (
    build_input_table,
    draw_permutations,
    list_unary_operators,
)
from symscreen.screening.input_screening.input_tests import FITTED
from symscreen.screening.preparation import prepare_screen
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen._typing import Integers
    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.screening.input_screening.forward_search import InputClaim
    from symscreen.screening.input_screening.input_table import InputTable
    from symscreen.screening.task import ScreeningTask

DEFAULT_PERMUTATIONS = 99
_MIN_ROWS = 20
_EXPECTED_FALSE = 0.5  # irrelevant inputs that are expected in the list of a table of some inputs
_MIN_LEVEL, _MAX_LEVEL = 0.01, 0.05  # bounds of the level that is chosen
_MAX_ROWS = 5_000
_MAX_CELLS = 1 << 26  # largest number of values of functions of columns: 256 MB
_ROW_STREAM, _PERMUTATION_STREAM = 2, 3  # random streams of a seed


@dataclass(frozen=True, eq=False)
class InputScreenResult:
    """Which inputs of a table matter.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each input, the selected ones first: ``input``; ``selected``; ``round`` in which it was
        selected, from 1, and 0 if it was not; ``gain``, the squared correlation of its best formula with what
        the selected inputs other than this one leave of the target; ``p_value`` and ``p_family``, see
        `screen_inputs`; ``formula``, the function of the input in its best formula; ``partner``, the input
        with which it is multiplied there, empty if there is none.
    selected : list of str
        The selected inputs, in the order of their rounds.
    level : float
        The level.
    n_rows : int
        Number of rows that were used.
    permutations : int
        Number of permuted copies of the inputs.
    notices : tuple of str
        Notices about the data.
    """

    table: pd.DataFrame
    selected: list[str]
    level: float
    n_rows: int
    permutations: int
    notices: tuple[str, ...]

    def __repr__(self) -> str:
        return format_listing_text(build_screened_input_table(self, KEYWORD), self.notices)

    def _repr_html_(self) -> str:
        return format_listing_html(build_screened_input_table(self, KEYWORD), self.notices)


@describe_options(list_options(ScreenOptions, verb="inputs"))
def screen_inputs(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    level: float | None = None,
    **options: Unpack[ScreenKeywords],
) -> InputScreenResult:
    """Say which inputs of a table matter, by the best formulas of each.

    Parameters
    ----------
    X, y
        As in `symscreen.screen`. The target must be numeric.
    level : float, optional
        The expected share of irrelevant inputs that a round selects, between 0 and 1. Irrelevant inputs are
        independent of all others and of the target, and the selected inputs must explain all that is not
        noise. With 0.01 and 200 irrelevant inputs, expect two that are false. By default it is 0.5 divided by
        the number of inputs, but between 0.01 and 0.05: in tables of few inputs, a true one that is missed
        costs more than a false one.
    **options : object
        Options of `symscreen.screen`: those of the data, ``operators``, ``unary`` and ``with_operators``,
        ``seed``, ``jobs`` and ``quiet``. ``permutations`` is the number of permuted copies of the inputs. By
        default there are at least 99, and as many as the smallest p-value needs.

    Returns
    -------
    InputScreenResult

    Raises
    ------
    DataError
        If the table has fewer than 20 rows.
    OptionError
        If an option has no meaning here, the target is not numeric, or the permutations are too few for the
        level.

    Notes
    -----
    Each round adds the input whose best formula explains most of what a model of the selected inputs leaves.
    Formulas are functions of the input, alone or multiplied by functions of selected inputs. The p-value
    compares it with the best formulas of permuted copies of all inputs. When no input passes, all products of
    two inputs are compared with the best product under each permutation. At the end each selected input is
    tested again, given the others. Rounds and pairs have half of the level each. So ``p_value`` is twice
    (1 + k)/(1 + B·d), where k of the B·d copies of d inputs are as good. ``p_family`` is twice
    (1 + k)/(1 + B), where in k of B permutations the best copy of all inputs is as good (max-T; Westfall and
    Young 1993). An input with a ``p_family`` of at most 0.05 is hardly there by chance. If there are more
    than 5,000 rows, 5,000 of them are drawn at random, and fewer if the table is wide.

    Examples
    --------
    >>> import numpy as np, symscreen
    >>> x = np.random.default_rng(1).uniform(1, 5, (200, 30))
    >>> symscreen.screen_inputs(x, x[:, 3] * x[:, 7] + np.sin(x[:, 11])).selected
    ['x8', 'x4', 'x12']
    """
    known = list_options(ScreenOptions, verb="inputs")
    given = make_options(ScreenOptions, split_operators(dict(options)), known, "screen_inputs")
    if level is not None:
        level = float(check_share("level", level, 1.0, above_zero=True))
    task = prepare_screen(X, y, replace(given, search="exact", permutations=None, p_values=False))
    require_numeric_target(task.target, "screen_inputs")
    level = choose_level(len(task.dataset.names)) if level is None else level
    rows = _choose_rows(task)
    permutations = _choose_permutations(given.permutations, level, len(task.dataset.names), len(rows))
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):  # or rounding would depend on the number of threads
        table = _build_table(task, rows, permutations)
        claims = search_inputs(table, level)
    frame = _build_frame(claims, task.dataset.names, table.functions.formulas)
    return InputScreenResult(
        table=frame,
        selected=[str(name) for name in frame["input"][frame["selected"]]],
        level=level,
        n_rows=len(rows),
        permutations=permutations,
        notices=(*task.dataset.notices, *_format_notices(task, len(rows))),
    )


def choose_level(n_inputs: int) -> float:
    """Choose the level of a table: half an irrelevant input is expected in the list, if bounds allow.

    Examples
    --------
    >>> choose_level(4), choose_level(20), choose_level(400)
    (0.05, 0.025, 0.01)
    """
    return min(max(round(_EXPECTED_FALSE / n_inputs, 3), _MIN_LEVEL), _MAX_LEVEL)


def _choose_permutations(given: int | None, level: float, n_inputs: int, n_rows: int) -> int:
    """Choose as many permutations as tests need at a level; refuse a number that is too small.

    The last test of an input has copies only of those that are not selected, and of the input itself. If all
    inputs may be selected, the copies of one input must suffice.
    """
    n_open = n_inputs - compute_selection_limit(n_inputs, n_rows) + 1
    needed_in_round = (2.0 / level - 1.0) / n_open
    needed_for_pairs = 1.0 / compute_pair_level(level, n_inputs) - 1.0
    needed = math.ceil(max(needed_in_round, needed_for_pairs) - 1e-9)
    if given is None:
        return max(DEFAULT_PERMUTATIONS, needed)
    if given < needed:
        raise OptionError(
            f"{name_option('permutations')} is {given}, too few for {name_option('level', level)} and "
            f"{format_count(n_inputs, 'input')}: give at least {needed}"
        )
    return given


def _choose_rows(task: ScreeningTask) -> Integers:
    """Choose the rows of the dataset that are used, ascending."""
    n, n_inputs = task.target.n, len(task.dataset.names)
    if n < _MIN_ROWS:
        raise DataError(f"the table has {n} rows that can be used; give at least {_MIN_ROWS} to test inputs")
    n_functions = 1 + len(list_unary_operators(task.grammar))
    limit = min(_MAX_ROWS, max(_MIN_ROWS, _MAX_CELLS // (n_inputs * n_functions)))
    if n <= limit:
        return np.arange(n)
    generator = np.random.default_rng(np.random.SeedSequence((task.options.seed, _ROW_STREAM)))
    return np.sort(generator.choice(n, limit, replace=False))


def _build_table(task: ScreeningTask, rows: Integers, n_permutations: int) -> InputTable:
    """Build what the rounds share."""
    generator = np.random.default_rng(np.random.SeedSequence((task.options.seed, _PERMUTATION_STREAM)))
    return build_input_table(
        np.ascontiguousarray(task.dataset.columns[:, rows]),
        task.dataset.names,
        task.dataset.numeric_target.values[rows],  # noqa: PD011  # no frame
        list_unary_operators(task.grammar),
        draw_permutations(len(rows), n_permutations, generator),
        task.backend,
    )


def _build_frame(
    claims: Sequence[InputClaim], names: Sequence[str], functions: Sequence[str]
) -> pd.DataFrame:
    """Build the table of a result: selected inputs by round, then the others by p-value and gain."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name, claim in zip(names, claims, strict=True):
        partner = (
            "the model" if claim.partner == FITTED else names[claim.partner] if claim.partner >= 0 else ""
        )
        rows.append(
            {
                "input": name,
                "selected": claim.round > 0,
                "round": claim.round,
                "gain": round(claim.correlation**2, 6),
                "p_value": claim.p_value,
                "p_family": claim.family_p_value,
                "formula": functions[claim.function] if claim.correlation > 0.0 else "",
                "partner": partner,
            }
        )
    order = sorted(
        rows, key=lambda row: (row["round"] or math.inf, row["p_value"], -row["gain"], row["input"])
    )
    return pd.DataFrame(order)


def _format_notices(task: ScreeningTask, n_rows: int) -> list[str]:
    """Say what was left out."""
    notices = []
    if n_rows < task.target.n:
        notices.append(
            f"{n_rows:,} of {task.target.n:,} rows were drawn at random; inputs are tested on these"
        )
    if len(task.dataset.names) > MAX_PAIR_INPUTS:
        notices.append(
            f"there are more than {MAX_PAIR_INPUTS} inputs, so pairs without a main effect were not tried"
        )
    return notices
