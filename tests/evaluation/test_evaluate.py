from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

import symscreen
from symscreen.errors import FormulaError, OptionError
from symscreen.evaluation import (
    compute_expected_average_precision,
    evaluate,
    evaluate_bounds,
    get_ranking_losses,
)
from symscreen.expressions.traversal import collect_columns
from symscreen.results.ranking_files import write_ranking
from symscreen.results.ranking_reader import StoredRanking

SMALL = {"operators": "ablation", "layers": "bu", "pool": "strict"}


@pytest.fixture(scope="module")
def data():
    return symscreen.datasets.make_additive(n=100, noise_variance=0.01, seed=0)


@pytest.fixture(scope="module")
def whole(data):
    return symscreen.screen(data.frame, **SMALL, screener="t0,xi,lasso", sign="positive", top="all")


def test_every_screener_is_measured_over_all_features(data, whole):
    found = evaluate(whole, data.truth)
    assert found.table.screener.tolist() == ["t0", "xi", "lasso"]
    assert found.table.features.tolist() == [24] * 3
    assert found.table.correct.tolist() == [12] * 3
    # by hand: T0 as shown, sign positive, and the inputs of each formula
    good = [collect_columns(each) <= {"x1", "x3"} for each in whole.expressions]
    assert found.correct.tolist() == good
    for name, score in (("t0", -whole.table.t0), ("xi", whole.table.xi)):
        row = found.table.set_index("screener").loc[name]
        assert row.average_precision == pytest.approx(average_precision_score(good, score), abs=1e-12)


def test_a_free_sign_ranks_falling_features_with_rising_ones(data):
    frame = data.frame.assign(target=-data.frame.target)
    rising = symscreen.screen(data.frame, **SMALL, top="all")
    falling = symscreen.screen(frame, **SMALL, top="all")
    positive = symscreen.screen(frame, **SMALL, top="all", sign="positive")
    figures = [evaluate(each, data.truth).table.average_precision[0] for each in (rising, falling, positive)]
    assert figures[0] == figures[1]
    assert figures[2] < figures[0] - 0.2


def test_a_deliberately_wrong_truth_scores_near_the_base_rate(data, whole):
    right, wrong = (evaluate(whole, truth).table.iloc[0] for truth in (data.truth, "x2 + x2**3"))
    assert right.average_precision > 0.85
    assert wrong.correct == 4
    assert wrong.share == pytest.approx(1 / 6)
    assert wrong.average_precision < 2 * wrong.share
    assert wrong.first_correct > 12


@pytest.mark.slow
def test_a_random_ranking_scores_the_share_of_correct_features(data, whole, rng):
    found = []
    for _ in range(40):
        table = whole.table.assign(t0=rng.uniform(size=len(whole)))
        found.append(evaluate(StoredRanking(table, whole.record), data.truth).table.average_precision[0])
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    expected = compute_expected_average_precision(24, 12)
    assert abs(np.mean(found) - expected) < 4 * error
    assert 0.5 < expected < 0.5 + 3 / 24  # the share plus the excess of a small space


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_file_gives_the_figures_of_the_result(data, whole, tmp_path, ending):
    write_ranking(whole, tmp_path / f"r.{ending}")
    stored = symscreen.read_ranking(tmp_path / f"r.{ending}")
    for criterion in ("active", "terms", "exact"):
        here, there = (evaluate(each, data.truth, criterion).table for each in (whole, stored))
        pd.testing.assert_frame_equal(here, there, check_exact=True)


def test_a_lone_joint_screener_keeps_its_ties(data):
    result = symscreen.screen(data.frame, **SMALL, screener="lasso", top="all")
    ranks = result.table.lasso_rank
    never = result.table.lasso_entry.isna()
    assert never.sum() > 1
    assert set(ranks[never]) == {ranks.max()}  # features that never entered the path tie in the last position
    both = symscreen.screen(data.frame, **SMALL, screener="lasso,t0", top="all")
    single, several = (evaluate(each, data.truth).table.iloc[0] for each in (result, both))
    assert single.average_precision == several.average_precision


def test_a_truncated_ranking_is_refused_and_bounded(data, whole):
    top = symscreen.screen(data.frame, **SMALL, sign="positive", top=4, max_correlation=1)
    with pytest.raises(OptionError, match=r"contains 4 of 24 features screened.*top='all'.*outside="):
        evaluate(top, data.truth)
    shown = evaluate_shown(top)
    figures = evaluate(whole, data.truth).table.iloc[0]
    found = evaluate_bounds(top, data.truth, outside=12 - shown).table.iloc[0]
    assert (found.features, found.correct) == (24, 12)
    for name in ("average_precision", "pr_auc", "roc_auc", "recall_20", "recall_100", "first_correct"):
        assert found[f"{name}_low"] - 1e-12 <= figures[name] <= found[f"{name}_high"] + 1e-12
    assert found.average_precision_high < 1.0


def test_the_metrics_name_the_columns(data, whole):
    evaluation = evaluate(whole, data.truth, recall=(3, 5, 3))
    names = [metric.name for metric in evaluation.metrics]
    assert names == ["average_precision", "pr_auc", "roc_auc", "recall_3", "recall_5", "first_correct"]
    assert names == list(evaluation.table.columns)[4:]
    assert [metric.k for metric in evaluation.metrics if metric.kind == "recall"] == [3, 5]
    assert not evaluation.has_bounds
    top = symscreen.screen(data.frame, **SMALL, top=4, max_correlation=1)
    bounds = evaluate_bounds(top, data.truth, outside=12 - evaluate_shown(top), recall=(3,))
    assert bounds.has_bounds
    assert [name for metric in bounds.metrics for name in metric.bound_names] == list(bounds.table.columns)[
        4:
    ]


def test_only_the_ranks_of_the_screeners_are_read(whole):
    table = whole.table.assign(note_rank="first")
    losses, expected = (
        get_ranking_losses(StoredRanking(each, whole.record)) for each in (table, whole.table)
    )
    assert list(losses) == list(expected)
    assert all(losses[name].tolist() == expected[name].tolist() for name in expected)


def evaluate_shown(result) -> int:
    return sum(collect_columns(each) <= {"x1", "x3"} for each in result.expressions)


def test_what_bounds_cannot_tell_is_refused(data, whole):
    top = symscreen.screen(data.frame, **SMALL, top=4, max_correlation=1)
    with pytest.raises(OptionError, match=r"100 correct features .*outside=.*, but 20 are not shown"):
        evaluate_bounds(top, data.truth, outside=100)
    joint = symscreen.screen(data.frame, **SMALL, screener="lasso", top=4)
    with pytest.raises(OptionError, match="lasso scores only some features"):
        evaluate_bounds(joint, data.truth, outside=3)
    rounds = symscreen.screen(data.frame, **SMALL, rounds=2, top="all")
    for ask in (evaluate, lambda *given: evaluate_bounds(*given, outside=1)):
        with pytest.raises(OptionError, match="several rounds"):
            ask(rounds, data.truth)
    with pytest.raises(OptionError, match="did you mean 'terms'"):
        evaluate(whole, data.truth, "term")
    with pytest.raises(FormulaError, match="no column 'x4'"):
        evaluate(whole, "x4")
    options = {**whole.record["options"], "screener": ["t0", "own"]}
    with pytest.raises(OptionError, match="no screener 'own'"):
        evaluate(StoredRanking(whole.table, {**whole.record, "options": options}), data.truth)


def test_operators_of_a_grammar_are_read_back(data, tmp_path):
    grammar = tmp_path / "own.toml"
    lines = [
        'unary = ["wave"]',
        'binary = ["add"]',
        'layers = "ub"',
        "[define.wave]",
        'formula = "sin(pi*x)"',
    ]
    grammar.write_text("\n".join(lines))
    names = symscreen.load_grammar(grammar).operators
    result = symscreen.screen(data.frame, operators=grammar, top="all")
    write_ranking(result, tmp_path / "r.csv")
    stored = symscreen.read_ranking(tmp_path / "r.csv")
    truth = "sin(3.141592653589793*x1)"
    found = evaluate(stored, truth, "exact", operators=names)
    assert stored.table.expression[found.correct].tolist() == ["wave(x1)", "wave(x1) + wave(x1)"]
    with pytest.raises(FormulaError, match="wave"):
        evaluate(stored, truth, "exact")
