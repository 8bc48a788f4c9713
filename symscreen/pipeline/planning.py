"""What a screen would do and take: counted or estimated by structure, predicted, timed on a small space."""

from __future__ import annotations

from itertools import cycle
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import amount, expand, foresee, learnt_of
from symscreen.pipeline.growth import holds_no_pool
from symscreen.result import Plan, foretold, scorer_of, wanted_of
from symscreen.search import seconds_of_looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expansion import Outlook, Space
    from symscreen.grammar import Layer
    from symscreen.pipeline.growth import Growth
    from symscreen.result import Request
    from symscreen.table import Table

__all__ = ["planned"]

_CALIBRATION = 0.5  # seconds
_TASKS = 8  # of the calibration at a time, for each thread
_FEWEST = 64  # features of which the calibration is made
_LEARNT = 5  # times that a block of the pool is looked through
_PER_MEMBER = 1.5  # what a member takes beside, its values and what is put down of it


def planned(table: Table, growth: Growth, layers: Sequence[Layer], request: Request, times: int = 1) -> Plan:
    """Plan a screen.

    Parameters
    ----------
    table : Table
        The data.
    growth : Growth
        How the space would be grown.
    layers : sequence of Layer
        What would be applied.
    request : Request
        What would be asked of it.
    times : int
        How often the whole of it would be done.

    Returns
    -------
    Plan
        Counts by structure, those of long layers estimated, and a prediction of the peak of memory, the same
        on every run; and a time, from a calibration of about a second on features of the table's own inputs.
        Joint screeners, those that cut among them, and null tables of p-values are not in it.

    Raises
    ------
    SpaceError
        If not even what is counted could be judged in the memory allowed.
    """
    start = perf_counter()
    seen = foresee(
        table.names,
        growth.grammar,
        layers,
        growth.pool_kind,
        max_bytes=growth.max_bytes,
        spread=growth.spread,
        units=growth.units,
        also=growth.also,
        keeps=None if growth.cut is None else growth.keeps,
        older_stay=growth.cut is not None and bool(growth.cut.joint),
    )
    cut = growth.cut is not None and any(
        growth.keeps is None or layer.kind in growth.keeps for layer in layers[:-1]
    )
    known = not cut or growth.keeps is not None  # else only the response tells how many stay
    judging = (perf_counter() - start) * _candidates(seen) / max(1, seen.judged)
    rows = table.response.n
    thin = growth.searched and holds_no_pool(seen.members, rows, growth)
    peak = foretold(seen, rows, request, thin=thin).peak(growth.max_bytes)
    low, high = _seconds(
        table, growth, layers, request, pool=seen.members, features=seen.features, judging=judging
    )
    return Plan(
        layers=seen.counts,
        exact=seen.exact if known else 1,
        features=seen.features,
        most=seen.most if known else None,
        cut=cut,
        memory=0 if thin else seen.members * rows * 8,
        peak=peak,
        seconds=(times * low, times * high),
        jobs=request.jobs,
        notices=(*table.notices, *_warnings(peak, growth)),
    )


def _candidates(seen: Outlook) -> int:
    return sum(count.generated for count in seen.counts[1:])


def _warnings(peak: int, growth: Growth) -> list[str]:
    if growth.max_bytes is None or peak <= growth.max_bytes:
        return []
    allowed = amount(growth.max_bytes)
    return [f"the predicted peak of {amount(peak)} is more than the {allowed} allowed: screen may refuse"]


def _seconds(
    table: Table,
    growth: Growth,
    layers: Sequence[Layer],
    request: Request,
    *,
    pool: int,
    features: int,
    judging: float,
) -> tuple[float, float]:
    """Time the scoring of a small space, and scale it up."""
    small = expand(table.names, table.columns, growth.grammar, layers[-1:], growth.pool_kind)
    each = _scoring(small, table, request)
    growing = judging + pool * _growing(small)
    whole = growing + each * features
    if request.search.mode == "exact":
        return whole, whole
    wanted = wanted_of(request)
    looks, survivors = seconds_of_looks(small, table.numeric, wanted, features, request.backend)
    early = growing + looks + each * min(features, survivors)
    return early, early if request.search.mode == "sieve" else max(early, whole)


def _growing(space: Space) -> float:
    """Return the seconds that a member of a pool takes: its values, and what is learnt of them."""
    block = next(space.blocks(0, space.total), None)
    if block is None or not len(block.numbers):
        return 0.0
    learnt_of(block.values)
    start = perf_counter()
    for _ in range(_LEARNT):
        learnt_of(block.values)
    spent = (perf_counter() - start) / _LEARNT
    return _PER_MEMBER * spent / len(block.numbers)


def _scoring(space: Space, table: Table, request: Request) -> float:
    """Return the seconds that a feature takes in all threads together."""
    scorer = scorer_of(space, table.response, request)
    several = max(_FEWEST, min(request.chunk_size, space.total))
    chunks = space.chunks(several)
    scorer(chunks[0])  # compiles, or loads what was compiled before
    tasks = cycle(chunks)
    scored = 0
    start = perf_counter()
    while (spent := perf_counter() - start) < _CALIBRATION or not scored:
        some = [next(tasks) for _ in range(_TASKS * request.jobs)]
        found = sum(outcome.scored for outcome in request.backend.map(scorer, some))
        if not found and spent > _CALIBRATION:
            return 0.0  # nothing of the small space is defined
        scored += found
    return float(np.divide(spent, scored)) if spent else 0.0
