"""Does a screener keep what its protocol promises? For those who write one, and for the ones shipped here."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, get_args

import numpy as np

from symscreen.errors import InputError, OptionError
from symscreen.response import Kind, Response
from symscreen.response.weighted import WeightedResponse
from symscreen.screeners.base import Screener
from symscreen.screeners.check_cases import ROWS, cases_of
from symscreen.screeners.joint import JointScreener, Shown, Verdict
from symscreen.statistics.order import Ordered, order_features
from symscreen.statistics.t0 import gini_mean_difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.kinds import AnyResponse
    from symscreen.screeners.base import Sign
    from symscreen.screeners.check_cases import Case
    from symscreen.screeners.joint import Path

    Values = NDArray[np.float64]

__all__ = ["check_screener"]

_NEAR = 1e-9  # affine copies differ by rounding
_BEST = 0.25  # the loss of the response itself among 60 rows, at most
_AROUND_ONE = 0.25  # how far the mean loss of noise may lie from 1
_TAKEN = {"rank", "expression", "complexity", "layer", "direction", "round", "place_alone", "class_size"} | {
    "p_value",
    "q_value",
    "p_family",
}


def check_screener(screener: Screener | JointScreener, *, rng_seed: int = 0) -> None:
    """Run a screener over small generated data and check the promises of its protocol.

    Parameters
    ----------
    screener : Screener or JointScreener
        With the settings that it shall be checked with; a joint one judges a dozen times, up to 60 rows of
        40 features.
    rng_seed : int
        From which the data are drawn, not negative.

    Raises
    ------
    AssertionError
        If it breaks a promise; the message says which. Every screener gives arrays of the right shape and
        kind that are finite, and the same bytes for the same input; it leaves its input as it was; it puts
        the response itself before noise; it takes ties, a single feature, more features than rows, and
        features of the sizes 1e-150 and 1e150. A column screener scores each feature for itself, with a loss
        near 0 for the response (of rankings and stages: for what decides them) and about 1 for noise, which
        the shown score gives back, is blind to what it says it is blind to, and has the loss that `by_pairs`
        and `weights` promise. A joint screener does not depend on the number of jobs, draws from its seed
        alone, names its columns after itself, and keeps a record of plain values; five rows it may refuse
        with an InputError.

    Examples
    --------
    >>> from symscreen.screeners import SCREENERS
    >>> check_screener(SCREENERS["t0"])
    """
    _check_words(screener)
    for kind in screener.accepts:
        cases = list(cases_of(kind, np.random.default_rng(rng_seed)))
        if isinstance(screener, Screener):
            for case in cases:
                _check_column(screener, case)
            _check_blindness(screener, cases[0])
            if kind == "numeric":
                _check_noise(screener, np.random.default_rng(rng_seed))
            _check_read_back(screener, cases[0])
            if kind == "numeric" and screener.by_pairs:
                for case in cases:
                    _check_pairs(screener, case)
            if kind == "numeric" and screener.weights is not None:
                for case in cases:
                    _check_weights(screener, case)
        else:
            _check_settings(screener)
            for case in cases:
                _check_joint(screener, case)
            _check_repeated(screener, cases[0])


def _demand(screener: Screener | JointScreener, promise: str, kept: object) -> None:
    if not kept:
        raise AssertionError(f"the screener {screener.name!r} breaks a promise: {promise}")


def _check_words(screener: Screener | JointScreener) -> None:
    name = screener.name
    _demand(screener, "its name is one word without []=,", name and not set(name) & set(" \t\n[]=,"))
    _demand(screener, f"its name is none of the table's own columns {sorted(_TAKEN)}", name not in _TAKEN)
    kinds = set(screener.accepts)
    _demand(
        screener,
        f"it accepts some of {', '.join(get_args(Kind))}, nothing else",
        kinds and kinds <= set(get_args(Kind)),
    )
    _demand(screener, "it is blind to ranks or affine copies", screener.blind_to in {"ranks", "affine"})
    for word in ("summary", "assumes", "fails", "cost", "source"):
        text = getattr(screener, word)
        _demand(screener, f"{word} is one line", bool(text) and "\n" not in text)


def _is_array(values: object, kind: type, count: int) -> bool:
    return isinstance(values, np.ndarray) and values.dtype == kind and values.shape == (count,)


def _is_score(values: object, count: int) -> bool:
    return _is_array(values, np.float64, count) and bool(np.isfinite(np.asarray(values)).all())


def _is_direction(values: object, count: int) -> bool:
    return _is_array(values, np.int8, count) and bool(np.isin(np.asarray(values), (-1, 0, 1)).all())


def _bytes(*arrays: NDArray[np.generic]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


# Column screeners


def _signs(case: Case) -> tuple[Sign, ...]:
    return ("free", "positive") if isinstance(case.response, Response | WeightedResponse) else ("free",)


def _statistic(screener: Screener, what: str, ordered: Ordered, response: AnyResponse) -> Values:
    try:
        return screener.statistic(ordered, response)
    except Exception as error:
        raise AssertionError(f"the screener {screener.name!r} fails ({what}): {error!r}") from error


def _check_column(screener: Screener, case: Case) -> None:
    what, count = case.what, len(case.values)
    ordered = order_features(case.values)
    given = (ordered.values, ordered.order, ordered.doubled_ranks, ordered.tied, case.told)
    before = _bytes(*given)
    statistics = _statistic(screener, what, ordered, case.response)
    _demand(screener, f"its statistics are {count} finite float64 ({what})", _is_score(statistics, count))
    again = _statistic(screener, what, ordered, case.response)
    _demand(screener, f"the same input gives the same bytes ({what})", _bytes(statistics) == _bytes(again))
    scores = screener.score(statistics, case.response)
    _demand(screener, f"its scores are {count} finite float64 ({what})", _is_score(scores, count))
    direction = screener.direction(statistics)
    _demand(screener, f"directions are int8, -1, 0 or 1 ({what})", _is_direction(direction, count))
    for sign in _signs(case):
        loss = screener.loss(statistics, case.response, sign)
        _demand(screener, f"its losses are {count} finite float64 ({what})", _is_score(loss, count))
        if case.strongest is not None and (sign == "free" or case.direction == 1):
            others = np.delete(loss, case.strongest)
            first = loss[case.strongest] < others.min(initial=np.inf)
            _demand(screener, f"the response comes first, sign {sign} ({what})", first)
            good = not case.separable or loss[case.strongest] <= _BEST
            _demand(screener, f"the loss of the response is near 0 ({what})", good)
    _demand(screener, f"it leaves its input as it was ({what})", _bytes(*given) == before)
    if case.strongest is not None:
        sign_of = int(direction[case.strongest])
        _demand(screener, f"it tells rising from falling ({what})", sign_of in {0, case.direction})
    rows = (order_features(row[None]) for row in case.values)
    alone = [_statistic(screener, what, row, case.response) for row in rows]
    _demand(
        screener,
        f"a feature's score does not depend on the others ({what})",
        np.concatenate(alone).tobytes() == statistics.tobytes(),
    )


def _check_blindness(screener: Screener, case: Case) -> None:
    def told(values: Values) -> tuple[Values, Values]:
        statistics = _statistic(screener, "a copy", order_features(values), case.response)
        return statistics, screener.loss(statistics, case.response, "free")

    (own, loss), (mirror, mirror_loss) = told(case.values), told(-case.values)
    if screener.blind_to == "ranks":
        copy, copy_loss = told(case.values**3)
        _demand(screener, "features with the same ranks have the same bytes", _bytes(copy) == _bytes(own))
        opposite = (mirror == -own) | (mirror == own)
        _demand(screener, "mirrored ranks give exactly the negative, or the same", opposite.all())
        same = _bytes(mirror_loss) == _bytes(loss)
        _demand(screener, "with a free sign mirrored ranks have the same loss", same)
        return
    copy, copy_loss = told(2.5 * case.values - 1.0)
    near = np.abs(copy - own).max() <= _NEAR and np.abs(copy_loss - loss).max() <= _NEAR
    _demand(screener, "affine copies have the same statistic and loss but for rounding", near)
    near = np.abs(mirror_loss - loss).max() <= _NEAR
    _demand(screener, "with a free sign a feature and its negative have the same loss", near)


def _check_noise(screener: Screener, rng: np.random.Generator) -> None:
    response = Response(np.sort(rng.normal(size=ROWS)))
    ordered = order_features(rng.normal(size=(200, ROWS)))
    loss = screener.loss(_statistic(screener, "noise", ordered, response), response, "positive")
    far = abs(float(loss.mean()) - 1.0)
    _demand(screener, "the mean loss of noise, sign positive, is about 1", far <= _AROUND_ONE)


def _check_read_back(screener: Screener, case: Case) -> None:
    statistics = _statistic(screener, case.what, order_features(case.values), case.response)
    scores, scale = screener.score(statistics, case.response), gini_mean_difference(case.response)
    for sign in _signs(case):
        loss = screener.loss(statistics, case.response, sign)
        near = np.abs(screener.loss_of_score(scores, scale, sign) - loss).max() <= _NEAR
        _demand(screener, f"the loss of a score that is read back is the loss, sign {sign}", near)


def _check_pairs(screener: Screener, case: Case) -> None:
    """Compare the loss with the chance of a discordant pair, weighed by the gap in the response."""
    z, y = case.values, case.told
    low, high = np.nonzero(y[:, None] < y)
    weights = y[high] - y[low]
    discordant = (z[:, low] > z[:, high]) + 0.5 * (z[:, low] == z[:, high])
    expected = 2.0 * (discordant * weights).sum(axis=1) / weights.sum()
    statistics = screener.statistic(order_features(z), case.response)
    found = screener.loss(statistics, case.response, "positive")
    _demand(screener, "has the loss that by_pairs promises", np.allclose(found, expected, rtol=0, atol=1e-9))


def _check_weights(screener: Screener, case: Case) -> None:
    """Compare the order of the losses with that of the weighted sums of ranks."""
    response = case.response
    if screener.weights is None or not isinstance(response, Response):
        return
    weights, ordered = screener.weights(response), order_features(case.values)
    _demand(screener, f"its weights are {response.n} finite float64", _is_score(weights, response.n))
    loss = screener.loss(screener.statistic(ordered, response), response, "positive")
    sums = (ordered.doubled_ranks * weights).sum(axis=1)
    of_one_pattern = ~ordered.tied
    falling = loss[of_one_pattern][np.argsort(sums[of_one_pattern])]
    _demand(screener, "its loss falls with the sum of ranks by weights", (np.diff(falling) <= _NEAR).all())


# Joint screeners


def _check_settings(screener: JointScreener) -> None:
    for option in screener.options:
        try:
            taken = option.read(option.default) == option.default == option.read(str(option.default))
        except OptionError:
            taken = False
        _demand(screener, f"the option {option.name} takes its own default", taken)
    for rows in (5, 100, 1_000_000):
        most = screener.most_features(rows)
        _demand(screener, "its capacity is a whole number of at least 1", isinstance(most, int) and most >= 1)


def _verdict(screener: JointScreener, case: Case, jobs: int = 1) -> Verdict | None:
    """Let it judge under the conditions of a screen: as many features as it takes, one BLAS thread."""
    from threadpoolctl import threadpool_limits

    values = case.values[: screener.most_features(case.response.n)].copy()
    before = _bytes(values, case.told)
    try:
        with threadpool_limits(1):
            verdict = screener.verdict(Shown(values, case.response, seed=3, jobs=jobs))
    except Exception as error:
        if case.may_refuse and isinstance(error, InputError):
            return None
        raise AssertionError(f"the screener {screener.name!r} fails ({case.what}): {error!r}") from error
    after = _bytes(values, case.told)
    _demand(screener, f"it leaves its input as it was ({case.what})", after == before)
    _demand(screener, f"it returns a Verdict ({case.what})", isinstance(verdict, Verdict))
    return verdict


def _check_joint(screener: JointScreener, case: Case) -> None:
    what, count = case.what, min(len(case.values), screener.most_features(case.response.n))
    verdict = _verdict(screener, case)
    if verdict is None:
        return
    _demand(screener, f"score is {count} finite float64 ({what})", _is_score(verdict.score, count))
    _demand(screener, f"loss is {count} finite float64 ({what})", _is_score(verdict.loss, count))
    _demand(screener, f"selected is {count} bool ({what})", _is_array(verdict.selected, np.bool_, count))
    _demand(screener, f"direction is int8, -1, 0 or 1 ({what})", _is_direction(verdict.direction, count))
    _check_columns(screener, verdict, count)
    _check_record(screener, verdict)
    if verdict.path is not None:
        _check_path(screener, verdict.path, count)
    if case.strongest is not None and case.strongest < count:
        others = np.delete(verdict.loss, case.strongest)
        first = verdict.loss[case.strongest] < others.min(initial=np.inf)
        _demand(screener, f"the response comes first ({what})", first)
        sign_of = int(verdict.direction[case.strongest])
        _demand(screener, f"it tells rising from falling ({what})", sign_of in {0, case.direction})


def _check_columns(screener: JointScreener, verdict: Verdict, count: int) -> None:
    own = {f"{screener.name}_selected", f"{screener.name}_rank"}
    for name, values in verdict.columns.items():
        named = name.startswith(f"{screener.name}_") and name not in own
        _demand(screener, f"columns begin with its name and are not {sorted(own)}: {name!r}", named)
        _demand(screener, f"the column {name} is {count} float64", _is_array(values, np.float64, count))
        _demand(screener, f"the column {name} is not infinite", not np.isinf(values).any())


def _check_record(screener: JointScreener, verdict: Verdict) -> None:
    try:
        plain = json.loads(json.dumps(verdict.record, allow_nan=False)) == verdict.record
    except (TypeError, ValueError):
        plain = False
    _demand(screener, "its record is of plain values, ready for JSON", plain)


def _check_path(screener: JointScreener, path: Path, count: int) -> None:
    steps = len(path.steps)
    shapes = (path.coefficients.shape, path.intercepts.shape, path.error.shape)
    _demand(
        screener,
        "its path has one row of coefficients, an intercept and an error a step",
        shapes == ((steps, count), (steps,), (steps,)),
    )


def _check_repeated(screener: JointScreener, case: Case) -> None:
    first = _all_bytes(_verdict(screener, case))
    states = random.getstate(), np.random.get_state()  # noqa: NPY002  # the very generators it must not use
    random.seed(12345)
    np.random.seed(12345)  # noqa: NPY002  # the global state is what a screener must leave alone
    try:
        again = _all_bytes(_verdict(screener, case))
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002  # put back as it was
    _demand(screener, "the same input and seed give the same bytes", again == first)
    many = _all_bytes(_verdict(screener, case, jobs=2))
    _demand(screener, "the verdict does not depend on the number of jobs", many == first)


def _all_bytes(verdict: Verdict | None) -> list[object]:
    if verdict is None:
        return []
    columns = [(name, values.tobytes()) for name, values in verdict.columns.items()]
    record = json.dumps(verdict.record)
    return [*_bytes(verdict.score, verdict.loss, verdict.selected, verdict.direction), columns, record]
