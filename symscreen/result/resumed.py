"""A state that an earlier run kept, held against what this run knows by itself before it goes on from it.

A checksum tells of accidents, not of intent: whoever can write into the folder can compute it anew. So what
the plan of the run tells is compared, and what was kept is computed again as far as that is cheap. What
cannot be told so are features that were left out, the sizes of classes, and the p-values of what is not kept.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.result.kept import MOST_TIES, Kept, none_kept
from symscreen.statistics.order import order_features
from symscreen.statistics.tally import MOST_KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.result.merging import Streamed
    from symscreen.result.scoring import Keep, Scorer
    from symscreen.result.watch import Seen, Watch

__all__ = ["check_resumed", "most_bytes_kept"]

_BESIDE = 1 << 16  # of a file: what is neither a list nor a p-value
_AGAIN = 1 << 24  # values that are computed once more, a fifth of a second
_FEWEST_AGAIN = 64  # features, however long they are
_OFF = 1e-9  # a score may be written by another machine's last bits


def check_resumed(state: Streamed, scorer: Scorer) -> None:
    """Refuse a state that cannot be one of this run.

    Parameters
    ----------
    state : Streamed
        As read; its arrays have the right types and lengths.
    scorer : Scorer
        What this run does with each chunk.

    Raises
    ------
    ValueError
        With what does not fit.
    """
    space = scorer.space
    if len(state.kept) != len(scorer.keeps):
        raise ValueError(f"it has {len(state.kept)} lists, and this run keeps {len(scorer.keeps)}")
    if state.total != space.total or not 0 <= state.done <= state.total:
        raise ValueError(f"it tells of {state.done} of {state.total} candidates, and there are {space.total}")
    if not (0 < state.chunks <= state.done or state.chunks == state.done == 0):
        raise ValueError(f"it tells of {state.chunks} chunks for {state.done} candidates")
    if state.scored < 0 or any(count < 0 for count in state.lost.values()):
        raise ValueError("a count is negative")
    known, told = _features_below(space, state.done), state.scored + sum(state.lost.values())
    if told != known:
        raise ValueError(f"its chunks overlap, or some are missing: {told} features, and there are {known}")
    for keep, kept in zip(scorer.keeps, state.kept, strict=True):
        _check_list(keep, kept, state, scorer)
    _check_seen(state.seen, scorer.watch, state.scored)
    for keep, kept in zip(scorer.keeps, state.kept, strict=True):
        _check_again(keep, kept, scorer)


def most_bytes_kept(scorer: Scorer) -> int:
    """Bound what a state of a run can take, before it is read.

    Parameters
    ----------
    scorer : Scorer
        As of `check_resumed`.

    Returns
    -------
    int
        Bytes.
    """
    plain = none_kept(len(scorer.screeners))
    columns = [getattr(plain, field.name) for field in fields(Kept)]
    each = sum(one.dtype.itemsize * int(np.prod(one.shape[1:])) for one in columns)
    entries = sum(_most_entries(keep, scorer.space.size) for keep in scorer.keeps)
    shuffles = None if scorer.watch is None else scorer.watch.shuffles
    best = 0 if shuffles is None else shuffles.shuffled.shape[1]
    return int(_BESIDE * (1 + len(scorer.keeps)) + each * entries + 8 * best + 12 * MOST_KEYS)


def _most_entries(keep: Keep, size: int) -> int:
    return size if keep.limit is None else min(size, max(keep.limit, MOST_TIES))


def _features_below(space: Space, done: int) -> int:
    """Count the features among the first numbers, as structure and domains tell."""
    new = space.fates[: max(0, done - space.at_hand)]
    return min(done, space.at_hand) + len(new) - int(np.count_nonzero(new))


def _check_list(keep: Keep, kept: Kept, state: Streamed, scorer: Scorer) -> None:
    """Compare a list with the plan: which numbers may stand in it, how many, and in how large classes."""
    space, numbers = scorer.space, kept.number
    if len(kept) > _most_entries(keep, state.scored) or (keep.limit is None and len(kept) != state.scored):
        raise ValueError(f"a list has {len(kept)} features of {state.scored}")
    if kept.scores.shape[1:] != (len(scorer.screeners),) or kept.keys.shape[1:] != (2,):
        raise ValueError("its scores or keys have another shape")
    if len(kept) and not (numbers.min() >= 0 and numbers.max() < state.done):
        raise ValueError("a feature's number is out of range")
    new = numbers[numbers >= space.at_hand] - space.at_hand
    if len(np.unique(numbers)) < len(numbers) or (space.fates[new] != Fate.KEPT).any():
        raise ValueError("a feature stands twice in a list, or is none")
    if np.isnan(kept.loss).any() or np.isnan(kept.pearson).any():
        raise ValueError("a feature's loss is no number")
    merged = keep.limit is not None
    if merged and len(np.unique(kept.signature)) < len(kept):
        raise ValueError("a class stands twice in a list")
    sizes = [int(size) for size in kept.class_size]  # whole numbers of Python: no sum of them runs over
    if any(size < 1 for size in sizes) or sum(sizes) > state.scored:
        raise ValueError("the sizes of classes are not those of so many features")


def _check_seen(seen: Seen, watch: Watch | None, scored: int) -> None:
    """Compare what was seen of every feature with what is to be seen."""
    keys, counts = seen.tally.keys, [int(count) for count in seen.tally.counts]
    if len(keys) and (keys[0] < 0 or keys[-1] >= MOST_KEYS or (np.diff(keys) <= 0).any()):
        raise ValueError("its p-values are none")
    expected = scored if watch is not None and watch.null is not None else 0
    if any(count < 1 for count in counts) or sum(counts) != expected:
        raise ValueError(f"it counts {sum(counts)} p-values, and {expected} features have one")
    shuffles = None if watch is None else watch.shuffles
    if shuffles is None or seen.best is None:
        if shuffles is not None or seen.best is not None:
            raise ValueError("permutations are missing, or were not asked for")
        return
    best = seen.best
    # |Σ w r| / √Σ r² ≤ √Σ w², Cauchy and Schwarz
    most = float(np.sqrt(np.square(shuffles.weights - shuffles.weights.mean()).sum())) * (1 + _OFF)
    if best.shape != shuffles.none_yet.shape or np.isnan(best).any() or (best > most).any():
        raise ValueError("the best of the permutations are not so many, or out of range")
    if scored and (np.isinf(best).any() or (shuffles.free and (best < 0).any())):
        raise ValueError("the best of the permutations are out of range")


def _check_again(keep: Keep, kept: Kept, scorer: Scorer) -> None:
    """Compute what is known of kept features once more: of the best, and of some between the others."""
    most = max(_FEWEST_AGAIN, _AGAIN // max(1, scorer.space.rows))
    places = np.arange(len(kept))
    if len(kept) > most:
        spread = np.linspace(0, len(kept) - 1, most // 2).astype(np.int64)
        places = np.unique(np.concatenate((places[: most // 2], spread)))
    told = kept.take(places)
    told = told.take(np.argsort(told.number))
    done = 0
    for block in scorer.space.blocks_at(told.number):
        own = told.take(np.arange(done, min(done + len(block.numbers), len(told))))
        done += len(block.numbers)
        if any(block.lost.values()) or not np.array_equal(own.number, block.numbers):
            raise ValueError("a feature that is kept has no values")
        ordered = order_features(block.values, None, block.following)
        _compare(own, scorer.entries(keep, block.numbers, ordered), scorer)


def _compare(told: Kept, known: Kept, scorer: Scorer) -> None:
    for field in fields(Kept):
        one, other = getattr(told, field.name), getattr(known, field.name)
        if field.name == "class_size":
            continue
        same = _near(one, other) if one.dtype.kind == "f" else bool((one == other).all())
        if not same:
            names: Sequence[str] = [screener.name for screener in scorer.screeners]
            what = ", ".join(names) if field.name == "scores" else field.name
            raise ValueError(f"what it tells of a feature ({what}) is not what this run computes")


def _near(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool(np.isclose(one, other, rtol=_OFF, atol=_OFF, equal_nan=True).all())
