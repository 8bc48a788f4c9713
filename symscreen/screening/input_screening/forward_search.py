"""The search for inputs: rounds that add the best input, a pass over pairs, and a last test of each input.

Rounds and pairs each have half of the level, so p-values are doubled. The level is the expected share of
irrelevant inputs that are selected. So a pair, which is two inputs, may be false in a quarter of level times
the number of inputs, and at most in 5 % of tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.screening.input_screening.input_tests import (
    RoundTest,
    compute_residuals,
    mask_selected,
    test_round,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Integers, Values
    from symscreen.screening.input_screening.input_table import InputTable

MAX_SELECTED = 50
MAX_PAIR_INPUTS = 600  # the pass over pairs costs the square of the number of inputs
_ROWS_PER_INPUT = 4
_FAMILIES = 2  # the rounds, and the pass over pairs
_MAX_PAIR_LEVEL = 0.05
_PAIR_DEGREE = 2  # polynomials of each input of a pair


class InputClaim(NamedTuple):
    """What is known of an input: its round from 1 (0 if it is not selected), p-values and best formula."""

    round: int
    p_value: float
    family_p_value: float
    correlation: float
    function: int
    partner: int


@dataclass(eq=False)
class InputSearch:
    """The state of a search.

    Parameters
    ----------
    table : InputTable
        What all rounds share.
    level : float
        The level of the whole search.
    selected : list of int
        The inputs selected, in order.
    rounds : dict of int to int
        The round of each selected input.
    max_selected : int
        The largest number of inputs that may be selected, if the table has enough rows.
    """

    table: InputTable
    level: float
    selected: list[int] = field(default_factory=list)
    rounds: dict[int, int] = field(default_factory=dict)
    max_selected: int = MAX_SELECTED

    @property
    def limit(self) -> int:
        """The largest number of inputs that may be selected."""
        return min(self.max_selected, compute_selection_limit(self.table.n_inputs, self.table.n_rows))

    def add(self, inputs: Sequence[int]) -> None:
        """Select inputs in one round."""
        number = 1 + max(self.rounds.values(), default=0)
        self.selected += inputs
        self.rounds |= dict.fromkeys(inputs, number)


def search_inputs(table: InputTable, level: float) -> list[InputClaim]:
    """Search for the inputs that matter; return one claim for each input."""
    search = InputSearch(table, level)
    last = _select_forward(search)
    retests = _drop_redundant(search)
    if any(each not in retests for each in search.rounds):  # an input was dropped
        last = test_round(table, search.selected)
    claims = []
    for index in range(table.n_inputs):
        number = search.rounds[index] if index in retests else 0
        claims.append(_make_claim(retests.get(index, last), index, number))
    return claims


def choose_best_inputs(table: InputTable, n_inputs: int, max_inputs: int, level: float) -> list[int]:
    """Choose inputs: those of the rounds and pairs, and the best of the last round if they are few.

    There are at least `n_inputs` and at most `max_inputs`, as far as the table has them. They are not tested
    again, so some of them may not matter.
    """
    search = InputSearch(table, level, max_selected=max_inputs)
    last = _select_forward(search)
    others = np.argsort(-last.distances, kind="stable").tolist()
    n_chosen = min(max(len(search.selected), n_inputs), max_inputs)
    return list(dict.fromkeys([*search.selected, *others]))[:n_chosen]


def _make_claim(test: RoundTest, index: int, number: int) -> InputClaim:
    """Read what a test says of an input."""
    return InputClaim(
        number,
        min(1.0, _FAMILIES * float(test.p_values[index])),
        min(1.0, _FAMILIES * float(test.family_p_values[index])),
        float(test.correlations[index]),
        int(test.best_functions[index]),
        int(test.partners[index]),
    )


def _select_forward(search: InputSearch) -> RoundTest:
    """Add inputs while one is better than the copies; return the last test."""
    while True:
        test = test_round(search.table, search.selected)
        if len(search.selected) >= search.limit:
            return test
        best = int(test.distances.argmax())
        if _FAMILIES * test.p_values[best] <= search.level:
            search.add([best])
            continue
        pair = find_pair(
            search.table, search.selected, compute_pair_level(search.level, search.table.n_inputs)
        )
        if pair is None:
            return test
        search.add(list(pair))


def _drop_redundant(search: InputSearch) -> dict[int, RoundTest]:
    """Test each selected input given the others, the last one first; drop those that fail."""
    tests: dict[int, RoundTest] = {}
    for index in reversed(search.selected.copy()):
        others = [each for each in search.selected if each != index]
        test = test_round(search.table, others)
        if _FAMILIES * test.p_values[index] <= search.level:
            tests[index] = test
        else:
            search.selected = others
    return tests


def compute_selection_limit(n_inputs: int, n_rows: int) -> int:
    """Return the largest number of inputs that may be selected in a table."""
    return min(MAX_SELECTED, n_inputs, n_rows // _ROWS_PER_INPUT)


def compute_pair_level(level: float, n_inputs: int) -> float:
    """Return the probability with which the pass over pairs may select a false pair.

    Examples
    --------
    >>> compute_pair_level(0.01, 10), compute_pair_level(0.01, 300)
    (0.025, 0.05)
    """
    return min(level * n_inputs / (2.0 * _FAMILIES), _MAX_PAIR_LEVEL)


def find_pair(table: InputTable, selected: Sequence[int], level: float) -> tuple[int, int] | None:
    """Find the pair of other inputs whose product explains most of what is left.

    It is returned if few permutations of the rows give as good a pair. The permutations stop when they are
    too many already.
    """
    inputs = np.flatnonzero(mask_selected(table.n_inputs, selected))
    if not 2 <= len(inputs) <= MAX_PAIR_INPUTS:
        return None
    residuals = compute_residuals(table, selected)
    polynomials = table.polynomials[inputs][:, :_PAIR_DEGREE].reshape(-1, table.n_rows)
    pairs = _PairScores(polynomials)
    best, found = pairs.find_best(residuals)
    n_permutations = len(table.permutations)
    n_allowed = int(np.floor(level * (1 + n_permutations))) - 1
    n_better = 0
    for rows in table.permutations:
        n_better += pairs.find_best([residual[rows] for residual in residuals])[0] >= best
        if n_better > n_allowed:
            return None
    first, second = sorted(int(inputs[each // _PAIR_DEGREE]) for each in found)
    return first, second


class _PairScores:
    """Correlates products of two polynomials of different inputs with targets."""

    def __init__(self, polynomials: Values) -> None:
        """Take polynomials of inputs, shape (inputs · degree, n)."""
        lengths = np.sqrt((polynomials * polynomials).sum(axis=1, keepdims=True))
        lengths[lengths == 0.0] = 1.0  # the polynomial of an input with few values may vanish
        self._factors = np.asarray(polynomials / lengths, dtype=np.float32)
        owners: Integers = np.arange(len(polynomials)) // _PAIR_DEGREE
        self._is_pair = (owners[:, None] < owners[None]).astype(np.float32)

    def find_best(self, targets: Sequence[Values]) -> tuple[float, tuple[int, int]]:
        """Return the largest score of a pair, and the two polynomials."""
        best, found = -1.0, (0, 0)
        for target in targets:
            centered = target - target.mean()
            spread = float(np.sqrt((centered * centered).mean()))
            if spread == 0.0:
                continue
            weights = np.asarray(centered / spread, dtype=np.float32)
            scores = np.abs(self._factors @ (self._factors * weights).T) * self._is_pair
            at = int(scores.argmax())
            if scores.flat[at] > best:
                best, found = float(scores.flat[at]), divmod(at, len(scores))
        return best, found
