"""Error control over a whole space: which figures were asked for, which of them would be honest, and these.

The p-values of a screen hold for features that were fixed before the response was looked at. So there are
none where the response chose the space (cuts between layers, later rounds), and none where not every feature
was scored over all rows (race, sieve).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, nearest
from symscreen.options import at_least_1
from symscreen.response import KINDS
from symscreen.response.kinds import numeric
from symscreen.result.watch import Watch, seen_of_kept
from symscreen.screeners import SCREENERS, Screener
from symscreen.statistics.group_shuffles import exchanged
from symscreen.statistics.max_t import shuffles_of
from symscreen.statistics.tally import adjusted, histogram, p_values_of, passing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.response import Kind
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.watch import Seen
    from symscreen.screeners import AnyScreener, Sign
    from symscreen.search import Mode
    from symscreen.statistics.order import Ordered
    from symscreen.statistics.tally import Method

__all__ = ["ErrorControl", "controlled", "read_control", "watch_of"]

_METHODS: dict[str, Method] = {"bh": "bh", "by": "by"}
_CUT = "the cuts between layers chose the features by the same response"


@dataclass(frozen=True, slots=True)
class ErrorControl:
    """What is asked of the control of errors.

    Parameters
    ----------
    p_values : bool
        Whether there are p- and q-values: the first screener knows its null distribution.
    method : {"bh", "by"}
        Benjamini and Hochberg's q-values, or Benjamini and Yekutieli's.
    fdr : float or None
        The false discovery rate that what is shown must pass; None for showing the best whatever it is.
    permutations : int
        B of max-T; 0 for none.
    groups : int64 array, shape (n,), optional
        The number of each row's group, where permutations leave groups together.
    """

    p_values: bool = True
    method: Method = "bh"
    fdr: float | None = None
    permutations: int = 0
    groups: NDArray[np.int64] | None = field(default=None, compare=False)


def read_control(
    *,
    p_values: bool | None,
    fdr: object,
    method: str,
    permutations: object,
    first: AnyScreener,
    kind: Kind,
    search: Mode,
    rounds: int,
    cut: bool,
) -> tuple[ErrorControl | None, tuple[str, ...]]:
    """Read the options of error control.

    Parameters
    ----------
    p_values : bool or None
        Whether p- and q-values are asked for; None for having them where they can be had.
    fdr, method, permutations : object
        As they were given; a false discovery rate asks for p-values.
    first : Screener or JointScreener
        The one that ranks.
    kind : Kind
        What the response is.
    search : {"exact", "race", "sieve"}
        Which features are scored over all rows.
    rounds : int
        Of the screen.
    cut : bool
        Whether there are cuts between layers.

    Returns
    -------
    control : ErrorControl or None
        None where there can be no honest figures.
    notices : tuple of str
        What is left out, and why, where it would be there else.

    Raises
    ------
    OptionError
        If an option is out of its range, or asks for what cannot be had.

    Examples
    --------
    >>> given = {"p_values": False, "fdr": None, "method": "bh", "permutations": 200}
    >>> plain = {"kind": "numeric", "search": "exact", "rounds": 1, "cut": False}
    >>> read_control(first=SCREENERS["t0"], **given, **plain)[0].permutations
    200
    """
    if method not in _METHODS:
        raise OptionError(f"fdr_method is {method!r}{nearest(str(method), _METHODS)}")
    if fdr is not None and (isinstance(fdr, bool) or not isinstance(fdr, float) or not 0.0 < fdr < 1.0):
        raise OptionError(f"fdr is {fdr!r}; give a rate between 0 and 1, such as 0.05")
    many = 0 if permutations is None else at_least_1("permutations", permutations)
    why = _reason(first, kind, search, cut=cut)
    has_null = isinstance(first, Screener) and first.null is not None
    if p_values or fdr is not None:
        asked = "--p-values" if fdr is None else f"--fdr {fdr:g}"
        known = f"the null distribution of {first.name} is not known, put {_with('null')} first"
        _refuse(asked, why or (None if has_null else known))
        if fdr is not None and rounds > 1:
            _refuse(asked, "rounds after the first screen what was fitted to the response, use --rounds 1")
    if many:
        linear = isinstance(first, Screener) and first.weights is not None
        known = f"{first.name} is no linear rank statistic, put {_with('weights')} first"
        _refuse(f"--permutations {many}", why or (None if linear else known))
    wanted = has_null and (p_values is not False or fdr is not None)
    notices: tuple[str, ...] = ()
    if wanted and why == _CUT:
        notices = (f"p- and q-values are left out: {_CUT}",)
    elif wanted and why is None and rounds > 1:
        notices = (
            "p- and q-values are given for round 1: later ones screen what was fitted to the response",
        )
    wanted = wanted and why is None
    control = ErrorControl(wanted, _METHODS[method], fdr, many) if wanted or many else None
    return control, notices


def _refuse(option: str, why: str | None) -> None:
    if why is not None:
        raise OptionError(f"{option} cannot be had: {why}")


def _reason(first: AnyScreener, kind: Kind, search: Mode, *, cut: bool) -> str | None:
    """Say what keeps any screener's figures from being honest."""
    if not isinstance(first, Screener):
        return f"{first.name} judges features together, put a column screener such as t0 first"
    if kind != "numeric":
        return f"the response is {KINDS[kind]}"
    if search != "exact":
        return f"--search {search} does not score every feature over all rows, use --search exact"
    return _CUT if cut else None


def _with(own: str) -> str:
    return " or ".join(one.name for one in SCREENERS.values() if getattr(one, own, None) is not None)


def watch_of(
    control: ErrorControl | None, response: AnyResponse, first: AnyScreener, sign: Sign, seed: int
) -> Watch | None:
    """Say what is to be seen of every feature while a space streams by.

    Parameters
    ----------
    control : ErrorControl or None
        What is asked.
    response : Response or RankingResponse
        The response.
    first : Screener or JointScreener
        The one that ranks.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    seed : int
        Of the null distribution and the permutations.

    Returns
    -------
    Watch or None
    """
    if control is None or not isinstance(first, Screener):
        return None
    known, null, shuffles = numeric(response, "error control"), None, None
    if control.p_values and first.null is not None:
        null = first.null(known, seed)
    if control.permutations and first.weights is not None:
        shuffles = shuffles_of(
            first.weights(known),
            control.permutations,
            seed=seed,
            free=sign == "free",
            groups=control.groups,
        )
    return Watch(first, sign, null, shuffles)


def controlled(
    watch: Watch, control: ErrorControl, seen: Seen, blocks: Iterator[Ordered], response: AnyResponse
) -> tuple[dict[str, NDArray[np.float64]], dict[str, Any]]:
    """Compute the figures of the features that are shown.

    Parameters
    ----------
    watch : Watch
        What was to be seen.
    control : ErrorControl
        What is asked.
    seen : Seen
        What was seen of all features.
    blocks : iterator of Ordered
        The k features shown, in their order.
    response : Response or RankingResponse
        The response.

    Returns
    -------
    columns : dict of str to float64 array, shape (k,)
        ``p_value`` and ``q_value``, ``p_family``: those asked for.
    record : dict
        What was done, for the run's record.
    """
    keys, family = seen_of_kept(watch, seen, blocks, response)
    columns: dict[str, NDArray[np.float64]] = {}
    record: dict[str, Any] = {}
    if watch.null is not None:
        q = adjusted(seen.tally, control.method)
        columns = {"p_value": p_values_of(keys), "q_value": q[np.searchsorted(seen.tally.keys, keys)]}
        record = {
            "method": control.method,
            "tests": seen.tally.total,
            "histogram": histogram(seen.tally).tolist(),
        }
        if control.fdr is not None:
            record |= {
                "fdr": control.fdr,
                "passing": passing(seen.tally, control.method, control.fdr),
                "least_q": float(q[0]) if len(q) else None,
            }
    if watch.shuffles is not None:
        columns["p_family"] = family
        record["permutations"] = control.permutations
        if control.groups is not None:
            moved, units = exchanged(control.groups), int(control.groups.max()) + 1
            record["groups"] = {"units": units, "trade_places": moved}
    return columns, record
