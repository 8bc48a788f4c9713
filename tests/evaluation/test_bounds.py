from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import (
    average_precision,
    compute_first_correct_rank,
    compute_recall_at,
    pr_auc,
    roc_auc,
)
from symscreen.evaluation.truncated_rankings import (
    build_truncated_ranking,
    compute_average_precision_bounds,
    compute_first_correct_bounds,
    compute_pr_auc_bounds,
    compute_recall_bounds,
    compute_roc_auc_bounds,
)

KS = (1, 2, 3, 5)


def figures_of_groups(sizes, hits):
    """Compute every metric exactly from its definition, over groups of tied features."""
    total, wrong = sum(hits), sum(sizes) - sum(hits)
    seen = found = 0
    precision, average, trapezoid, roc, first = Fraction(1), Fraction(0), Fraction(0), Fraction(0), None
    recalls = dict.fromkeys(KS, Fraction(0))
    for size, hit in zip(sizes, hits, strict=True):
        misses = size - hit
        if hit and first is None:
            first = seen + Fraction(size + 1, 2)
        roc += hit * (wrong - (seen - found) - misses + Fraction(misses, 2))
        for k in KS:
            recalls[k] += hit * min(Fraction(1), max(Fraction(0), Fraction(k - seen, size)))
        seen, found = seen + size, found + hit
        average += hit * Fraction(found, seen)
        trapezoid += hit * (precision + Fraction(found, seen)) / 2
        precision = Fraction(found, seen)
    return {
        "average_precision": average / total,
        "pr_auc": trapezoid / total,
        "roc_auc": roc / (total * wrong) if wrong else None,
        "first_correct": first,
        **{k: recalls[k] / total for k in KS},
    }


def placements(loss, correct, sizes, outside, hidden_correct):
    """Yield every placement of the hidden features as group sizes and numbers of correct ones."""
    levels = sorted({np.inf if np.isnan(v) else v for v in loss})
    group = [levels.index(np.inf if np.isnan(v) else v) for v in loss]
    size, shown = [0] * len(levels), [0] * len(levels)
    for g, s in zip(group, sizes, strict=True):
        size[g] += s
        shown[g] += 1
    good = [sum(c for h, c in zip(group, correct, strict=True) if h == g) for g in range(len(levels))]
    # 0 ties with the last feature shown; features from outside have at most an infinite loss
    places = range(1) if levels[-1] == np.inf else range(outside + 1)
    kinds = [(place, label) for place in places for label in (0, 1)]
    for inside in product(*(range(s - n + 1) for s, n in zip(size, shown, strict=True))):
        for others in combinations_with_replacement(kinds, outside):
            if sum(inside) + sum(label for _, label in others) != hidden_correct:
                continue
            sizes_then = [*size, *([0] * outside)]
            hits = [*(g + x for g, x in zip(good, inside, strict=True)), *([0] * outside)]
            for place, label in others:
                sizes_then[len(size) - 1 + place] += 1
                hits[len(size) - 1 + place] += label
            kept = [(s, h) for s, h in zip(sizes_then, hits, strict=True) if s]
            yield [s for s, _ in kept], [h for _, h in kept]


def bounds_by_brute_force(*case):
    """Compute the smallest and the largest value of each metric over all placements."""
    found = [
        figures_of_groups(*one) for one in {(tuple(sizes), tuple(hits)) for sizes, hits in placements(*case)}
    ]
    return {
        name: tuple(float(pick(one[name] for one in found)) for pick in (min, max))
        for name in found[0]
        if found[0][name] is not None
    }


def bounds_computed(loss, correct, sizes, outside, hidden_correct):
    seen = build_truncated_ranking(
        np.array(loss, dtype=float),
        np.array(correct, dtype=bool),
        n_features=sum(sizes) + outside,
        n_hidden_correct=hidden_correct,
        class_size=np.array(sizes),
    )
    return {
        "average_precision": compute_average_precision_bounds(seen),
        "pr_auc": compute_pr_auc_bounds(seen),
        "roc_auc": compute_roc_auc_bounds(seen),
        "first_correct": compute_first_correct_bounds(seen),
        **{k: compute_recall_bounds(seen, k) for k in KS},
    }


def check(*case):
    computed = bounds_computed(*case)
    if not any(case[1]) and not case[4]:
        assert np.isnan(list(computed.values())).all()
        return
    for name, pair in bounds_by_brute_force(*case).items():
        assert computed[name] == pytest.approx(pair, abs=1e-12), (name, case)


@st.composite
def cases(draw, most_outside=3):
    shown = draw(st.integers(1, 4))
    loss = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan]), min_size=shown, max_size=shown))
    correct = draw(st.lists(st.booleans(), min_size=shown, max_size=shown))
    sizes = draw(st.lists(st.integers(1, 4), min_size=shown, max_size=shown))
    outside = draw(st.integers(0, most_outside))
    hidden = sum(sizes) - shown + outside
    return loss, correct, sizes, outside, draw(st.integers(0, hidden))


@pytest.mark.slow
@settings(max_examples=300)
@given(cases())
def test_the_bounds_are_the_extremes_over_all_placements(case):
    check(*case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        ([0, 1, 2], [1, 0, 0], [1, 1, 1], 6, 4),
        ([0, 1, 2], [0, 0, 1], [1, 1, 1], 6, 4),
        ([0, 1, 1], [0, 0, 1], [5, 1, 3], 5, 4),
        ([0, 1], [1, 0], [1, 6], 5, 4),
        ([0, 0, 1], [0, 1, 1], [1, 1, 1], 6, 5),
        ([0], [1], [1], 6, 3),
        ([0], [0], [4], 5, 5),
        # a correct feature in the first group lowers the precision of the second one
        ([0, 1], [0, 1], [10, 20], 0, 19),
        ([0, 1, 2], [0, 1, 0], [6, 8, 4], 2, 7),
    ],
)
def test_the_bounds_are_sharp_where_much_is_hidden(case):
    check(*case)


FIGURES = {
    "average_precision": average_precision,
    "pr_auc": pr_auc,
    "roc_auc": roc_auc,
    "first_correct": compute_first_correct_rank,
    **{k: (lambda loss, correct, k=k: compute_recall_at(loss, correct, k)) for k in KS},
}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan]), st.booleans()), min_size=1, max_size=12)
)
def test_where_nothing_is_hidden_the_bounds_are_the_figures(ranking):
    loss, correct = (np.array(column) for column in zip(*ranking, strict=True))
    computed = bounds_computed(loss, correct, [1] * len(loss), 0, 0)
    for name, figure in FIGURES.items():
        value = figure(loss, correct)
        assert computed[name] == pytest.approx((value, value), abs=1e-12, nan_ok=True)


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(20, 90), st.randoms(use_true_random=False))
def test_the_figures_of_a_whole_ranking_lie_between_the_bounds_of_what_is_shown(top, q, random):
    top = min(top, q)
    loss = np.array([random.randrange(30) for _ in range(q)], dtype=float)
    correct = np.array([random.random() < 0.3 for _ in range(q)])
    order = np.argsort(loss, kind="stable")
    loss, correct = loss[order], correct[order]
    hidden_correct = int(correct[top:].sum())
    computed = bounds_computed(loss[:top], correct[:top], [1] * top, q - top, hidden_correct)
    for name, figure in FIGURES.items():
        value, (lower, upper) = figure(loss, correct), computed[name]
        assert np.isnan(value) or lower - 1e-12 <= value <= upper + 1e-12


def test_a_long_ranking_with_large_classes_is_bounded_as_its_placements_say(rng):
    # the extreme placements of the notes, feature by feature
    k, q, hidden_correct = 200, 50_000, 9_000
    loss, correct = np.arange(k) * 1.0, rng.uniform(size=k) < 0.5
    sizes = rng.integers(1, 20, k)
    seen = build_truncated_ranking(
        loss, correct, n_features=q, n_hidden_correct=hidden_correct, class_size=sizes
    )
    inside, outside = int(sizes.sum()) - k, q - int(sizes.sum())
    late = np.concatenate((loss, np.repeat(loss, sizes - 1), np.full(outside - hidden_correct, loss[-1])))
    late = np.concatenate((late, loss[-1] + 1 + np.arange(hidden_correct)))
    labels = np.arange(q) >= q - hidden_correct
    labels[:k] = correct
    assert compute_roc_auc_bounds(seen)[0] == pytest.approx(roc_auc(late, labels))
    assert compute_recall_bounds(seen, 3_000)[0] == pytest.approx(compute_recall_at(late, labels, 3_000))
    assert compute_average_precision_bounds(seen)[0] <= average_precision(late, labels) + 1e-12
    early = np.concatenate((loss, np.repeat(loss, sizes - 1), np.full(hidden_correct - inside, loss[-1])))
    early = np.concatenate((early, np.full(q - early.size, loss[-1] + 1)))
    labels = np.arange(q) < k + hidden_correct
    labels[:k] = correct
    assert compute_roc_auc_bounds(seen)[1] == pytest.approx(roc_auc(early, labels))
    assert compute_average_precision_bounds(seen)[1] >= average_precision(early, labels) - 1e-12
    assert compute_pr_auc_bounds(seen)[1] >= pr_auc(early, labels) - 1e-12


def test_what_cannot_be_is_refused():
    loss, correct = np.array([0.0, 1.0]), np.array([True, False])
    for features, hidden_correct in [(1, 0), (5, 4), (5, -1)]:
        with pytest.raises(OptionError, match=r"not shown|more than the"):
            build_truncated_ranking(loss, correct, n_features=features, n_hidden_correct=hidden_correct)
    for sizes in ([1], [0, 1], [1.5, 1.0]):
        with pytest.raises(DataError, match="class sizes"):
            build_truncated_ranking(
                loss, correct, n_features=9, n_hidden_correct=1, class_size=np.array(sizes)
            )
    with pytest.raises(DataError, match="at least one feature"):
        build_truncated_ranking(loss[:0], correct[:0], n_features=9, n_hidden_correct=1)
    with pytest.raises(OptionError, match="integer"):
        compute_recall_bounds(build_truncated_ranking(loss, correct, n_features=5, n_hidden_correct=1), 0)
