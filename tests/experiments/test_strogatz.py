from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

from symscreen import datasets, fit, screen
from symscreen.errors import OptionError
from symscreen.evaluation import evaluate
from symscreen.experiments import strogatz_benchmark, strogatz_recovery
from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.strogatz_benchmark import (
    build_recovery_table,
    build_screening_table,
    build_summary_table,
    format_remarks,
    list_misses,
)
from symscreen.experiments.strogatz_recovery import (
    CorrectFeatures,
    Recovery,
    ScreenerPerformance,
    add_target_noise,
    compare_formula,
    compute_fresh_r2,
    compute_truth_criterion,
    diagnose_miss,
    list_correct_features,
    measure_recovery,
    round_coefficients,
    screen_space,
)
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.sympy_conversion import build_exact_form
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression

WRONG, STRUCTURE, EXACT = (False, False), (True, False), (True, True)


def _formula(intercept, *terms):
    return Formula(
        "target", intercept, tuple(c for c, _ in terms), tuple(parse_expression(t) for _, t in terms)
    )


CASES = [
    # the truth as written, and with numbers that round to those of the truth
    ("vdp2", _formula(0, (-0.1, "x1")), EXACT),
    ("lv1", _formula(0, (3.0004, "x1"), (-0.9997, "x1**2"), (-2.0, "x1*x2")), EXACT),
    ("vdp1", _formula(0, (10, "x2"), (3.333, "x1"), (-3.333, "x1**3")), EXACT),
    # the difference is a constant
    ("glider1", _formula(-0.7, (-0.05, "x1**2"), (-1, "sin(x2)")), EXACT),
    # the ratio is a constant, including the intercept
    ("vdp2", _formula(0, (0.3, "x1")), EXACT),
    ("bacres2", _formula(5, (-0.5, "x1*x2/(1 + x1**2/2)")), EXACT),
    ("vdp2", _formula(0.1, (0.3, "x1")), STRUCTURE),
    # terms whose coefficient rounds to 0 are left out
    ("lv2", _formula(0, (2, "x2"), (-1, "x2**2"), (-1, "x1*x2"), (0.0004, "sin(x1)")), EXACT),
    ("lv2", _formula(0, (2, "x2"), (-1, "x2**2"), (-1, "x1*x2"), (0.0006, "sin(x1)")), WRONG),
    # numbers that do not round to the truth's
    ("lv1", _formula(0, (3.0006, "x1"), (-1, "x1**2"), (-2, "x1*x2")), STRUCTURE),
    ("vdp1", _formula(0, (10, "x2"), (3.33, "x1 - x1**3")), STRUCTURE),
    ("predprey2", _formula(0, (-0.076, "x2**2"), (1, "x1*x2/(1 + x1)")), STRUCTURE),
    ("barmag1", _formula(0, (1, "sin(x1)"), (0.5, "sin(x1 - x2)")), STRUCTURE),
    # the same function in another form
    ("bacres1", _formula(20, (-1, "x1"), (-2, "x1*x2/(2 + x1**2)")), EXACT),
    ("predprey1", _formula(4, (-1, "(2 - x1)**2"), (-1, "x2/(1 + 1/x1)")), EXACT),
    ("shearflow1", _formula(0, (1, "sin(x1)"), (1, "cos(x1 + x2)/sin(x2)")), EXACT),
    ("shearflow2", _formula(0, (0.55, "sin(x1)"), (0.45, "sin(x1)*cos(x2 + x2)")), EXACT),
    # other functions, two of them close on the rows of the table
    ("bacres1", _formula(20, (-1, "x1"), (-2, "x2/x1"), (4, "x2/x1**3")), WRONG),
    ("bacres2", _formula(10, (-2, "x2/x1*cos(2/x1)")), WRONG),
    ("glider2", _formula(0, (1, "x1 + cos(x2)/x1")), WRONG),
    ("glider2", _formula(0, (1, "x1")), WRONG),
    ("vdp2", _formula(-0.1, (0.00009, "x1")), WRONG),
    ("vdp2", _formula(1.0), WRONG),
    # the coefficients of two proportional terms are not determined
    ("vdp2", _formula(0, (-0.05, "x1"), (-0.05, "x1 + x1")), WRONG),
]


@pytest.mark.parametrize(("system", "formula", "expected"), CASES)
def test_equality_is_decided_as_known(system, formula, expected):
    found = compare_formula(formula, datasets.load_strogatz(system).truth)
    assert (found.structure, found.exact) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("system", "formula", "expected"), [case for case in CASES if case[1].terms])
def test_equality_agrees_with_sympys_simplification(system, formula, expected):
    import sympy

    symbols = {name: sympy.Symbol(name, real=True) for name in ("x1", "x2")}
    shown = round_coefficients(formula)
    if not shown.terms or shown.terms == (parse_expression("x1"), parse_expression("x1 + x1")):
        return  # a constant; and a sum that no fit returns, whose terms are one
    model = build_exact_form(shown.expression, symbols)
    truth = build_exact_form(parse_expression(datasets.load_strogatz(system).truth), symbols)

    def rounded(form):
        form = sympy.N(sympy.simplify(sympy.expand_trig(sympy.together(form.rewrite(sympy.cos)))))
        # SRBench's round_floats, of numbers that multiply something
        return form.xreplace({one: sympy.Float(round(one, 3)) for one in form.atoms(sympy.Float)})

    difference, ratio = rounded(model - truth), sympy.simplify(model / truth)
    constant = not difference.free_symbols or difference == 0
    assert (constant or not ratio.free_symbols) == expected[1]


def test_the_same_noise_is_scaled_by_the_ratio():
    clean = datasets.load_strogatz("glider2").frame
    low, high, other = (
        add_target_noise("glider2", ratio, seed)["target"] - clean["target"]
        for ratio, seed in ((0.01, 3), (0.1, 3), (0.1, 4))
    )
    np.testing.assert_allclose(high, 10 * low, atol=1e-12)
    assert np.abs(np.corrcoef(high, other)[0, 1]) < 0.2
    rms = np.sqrt((clean["target"] ** 2).mean())
    assert high.std() / rms == pytest.approx(0.1, rel=0.15)  # the mean is twice the standard deviation
    assert add_target_noise("glider2", 0.0, 3).equals(clean)
    assert not np.allclose(
        add_target_noise("lv1", 1.0, 3)["target"], add_target_noise("lv2", 1.0, 3)["target"]
    )


def test_r2_on_fresh_rows_is_that_of_the_noise_free_truth():
    law = _formula(0, (3, "x1"), (-1, "x1**2"), (-2, "x1*x2"))
    assert compute_fresh_r2("lv1", law) == pytest.approx(1.0, abs=1e-14)
    assert compute_fresh_r2("lv1", _formula(1e3)) < -10
    assert 0 < compute_fresh_r2("lv1", _formula(0, (2.5, "x1"), (-1, "x1**2"), (-2, "x1*x2"))) < 0.999
    assert compute_fresh_r2("lv1", _formula(0, (1, "log(x1 - 1)"))) == -math.inf
    # a few rows close to a pole do not outweigh the others, where this formula is wrong
    assert compute_fresh_r2("shearflow1", _formula(0, (1, "cos(x1)*cos(x2)/sin(x2)"), (3, "x1"))) < 0.2


def test_fresh_rows_are_left_out_beyond_the_largest_truth_and_not_at_it(monkeypatch):
    data = datasets.load_strogatz("lv1")
    rows = strogatz_recovery._draw_fresh_rows(data.frame)
    truth = evaluate_expression(parse_expression(data.truth), rows)
    limit = np.sort(np.abs(truth))[-100]
    target = np.abs(data.frame["target"]).max()
    ratio = next(one for one in limit / target * (1 + np.arange(-8, 9) * 2.0**-53) if one * target == limit)
    monkeypatch.setattr(strogatz_recovery, "_MAX_TARGET_RATIO", ratio)
    monkeypatch.setattr(strogatz_recovery, "_draw_fresh_rows", lambda _: rows)
    kept = np.abs(truth) <= limit
    assert kept.sum() == len(truth) - 99
    off = (1.5 - rows["x1"])[kept]
    expected = 1.0 - (off @ off) / ((truth[kept] - truth[kept].mean()) ** 2).sum()
    law = _formula(1.5, (2, "x1"), (-1, "x1**2"), (-2, "x1*x2"))
    assert compute_fresh_r2("lv1", law) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_screening_agrees_with_the_evaluation_of_a_whole_ranking():
    frame = add_target_noise("glider2", 0.01, 5)
    found, _ = screen_space("glider2", frame, "ub", joint=True, seed=0)
    truth = datasets.load_strogatz("glider2").truth
    ranking = screen(
        frame,
        operators="strogatz",
        layers="ub",
        screener=["t0", "xi", "pearson", "spearman", "lasso"],
        top="all",
    )
    figures = evaluate(ranking, truth, "terms").table.set_index("screener")
    answers = list_correct_features("glider2", "ub")
    assert figures["correct"].eq(len(answers.correct)).all()
    for name, own in found.items():
        assert own.average_precision == pytest.approx(figures.loc[name, "average_precision"], abs=1e-12)
        assert own.recall_20 == pytest.approx(figures.loc[name, "recall_20"], abs=1e-12)
        assert own.recall_100 == pytest.approx(figures.loc[name, "recall_100"], abs=1e-12)
        assert min(own.ranks) >= figures.loc[name, "first_correct"]
    # the second term by hand, from the table that users see
    assert [str(term) for term in answers.truth.terms] == ["x1", "cos(x2)/x1"]
    loss = np.round(1 - ranking.table["pearson"].abs().to_numpy(), 12)
    own = loss[(ranking.table["expression"] == "cos(x2)/x1").to_numpy()][0]
    assert found["pearson"].ranks[1] == (loss < own).sum() + ((loss == own).sum() + 1) / 2
    assert found["pearson"].class_ranks[1] == 1 + len(np.unique(loss[loss < own]))


def test_recall_is_that_of_the_first_20_and_the_first_100_features():
    numbers = np.arange(200)
    correct = CorrectFeatures(200, None, np.array([0, 19, 20, 99, 100]), (), (np.array([20]),))
    found = strogatz_recovery._measure_screener(numbers / 200.0, numbers, correct)
    assert (found.recall_20, found.recall_100) == (0.4, 0.8)
    assert (found.ranks, found.class_ranks) == ((21.0,), (21.0,))


def test_the_ranks_of_each_term_are_medians_over_the_draws(monkeypatch):
    correct = CorrectFeatures(10, None, np.array([1]), (), ())
    monkeypatch.setattr(strogatz_benchmark, "list_correct_features", lambda *_: correct)
    draws = [
        {"t0": ScreenerPerformance(0.5, 0.5, 1.0, ranks, ranks)}
        for ranks in ((1.0, 4.0, math.nan), (3.0, 8.0, math.nan), (2.0, 6.0, math.nan))
    ]
    table = build_screening_table({("glider2", 0.0, "bub"): draws})
    assert table["ranks"].tolist() == ["2 / 6 / absent"]


def test_ranks_of_terms_are_counted_space_by_space():
    rows = [  # two screeners of one term; the better one counts
        ("bub", "t0", 900, 30),
        ("bub", "xi", 1001, 20),
        ("bub", "lasso", 1, 1),
        ("ubb", "t0", 1001, 21),
    ]
    terms = pd.DataFrame(rows, columns=["space", "screener", "rank", "class"])
    terms = terms.assign(system="vdp2", noise_ratio=0.0, term="-x1/10", copies=1)
    for space, in_ranks, in_classes in (("bub", 1, 1), ("ubb", 0, 0)):
        text = strogatz_benchmark._format_term_ranks(terms, space)
        assert text.startswith(
            f"{space}: of 1 cases (term and ratio), {in_ranks} terms are among the first 1000 features of a "
            f"column screener, {in_classes} among the first 20 classes."
        )


def test_a_space_is_asked_for_the_terms_that_it_holds():
    # ½(2 + x1²) needs a sum before the division: ub has none, bu neither, ubb has
    assert [len(one) for one in list_correct_features("bacres2", "ub").term_copies] == [0]
    found, _ = screen_space("bacres2", add_target_noise("bacres2", 0.0, 0), "ub", joint=False, seed=0)
    assert math.isnan(found["t0"].ranks[0])
    assert math.isnan(found["t0"].average_precision)
    assert "lasso" not in found


@pytest.mark.slow
def test_the_truths_criterion_is_the_one_that_a_fit_computes():
    frame = add_target_noise("glider2", 0.01, 2)
    front = fit(frame, operators="strogatz", layers="ub", jobs=1).front
    model = front[front["formula"].str.contains("cos(x2)/x1", regex=False) & (front["terms"] == 2)].iloc[0]
    assert compute_truth_criterion("glider2", frame, "ub") == pytest.approx(model["ebic"], abs=1e-6)


def test_what_stopped_a_fit_is_told_by_the_criterion():
    assert [diagnose_miss(-100.0, truth) for truth in (-97.9, -98.1, -101.9, -102.1)] == [
        "data",
        "tie",
        "tie",
        "search",
    ]


def test_a_law_that_the_layers_do_not_reach_is_a_miss():
    one = measure_recovery("glider2", add_target_noise("glider2", 0.01, 0), "u")
    assert not one.structure
    assert not one.exact
    misses = list_misses({("glider2", 0.01): [one]}, seed=0, layers="u")
    # no space of that search contains cos(x2)/x1, so the criterion of the truth is infinite
    assert misses["truth_criterion"].tolist() == [math.inf]
    assert misses["stopped_by"].tolist() == ["data"]


def _fit_that(*, exact, structure=True):
    return Recovery(_formula(0, (1, "x1")), structure, exact, 0.5, -10.0, 100, 1.0)


def test_the_summary_counts_equations_and_takes_the_median_of_draws():
    names = datasets.list_strogatz_names()
    # in draw d the first 8 + d equations are exact
    fits = {
        (name, 0.01): [_fit_that(exact=place < 8 + draw) for draw in range(3)]
        for place, name in enumerate(names)
    }
    fits |= {(name, 0.0): [_fit_that(exact=True)] for name in names}
    misses = list_misses(fits, seed=0, layers=None)
    summary = build_summary_table(fits, misses)
    assert summary["noise_ratio"].tolist() == [0.0, 0.01]
    assert summary["exact"].tolist() == [14, 9]
    assert summary["aim"].tolist() == [14, 9]
    assert summary["draws"].tolist() == [1, 3]
    assert summary["exact_percent"].tolist() == pytest.approx([100, 100 * 27 / 42])
    assert summary["published_percent"].tolist() == [81.43, 45.0]
    assert summary["published_by"].tolist() == ["RILS-ROLS", "RILS-ROLS"]
    assert build_recovery_table(fits)["exact"].tolist()[:14] == [1.0] * 8 + [2 / 3, 1 / 3] + [0.0] * 4


def test_without_noise_nothing_is_repeated():
    plan = strogatz_benchmark._build_plan(ExperimentSettings(size="full"))
    tasks = [(task.system, task.noise_ratio, task.space) for task in plan.list_tasks()]
    fits = [task for task in tasks if task[2] is None]
    assert len(fits) == 14 * (1 + 3 * 10)
    assert all(fits.count((name, 0.0, None)) == 1 for name in datasets.list_strogatz_names())
    assert sum(task[2] == "ubb" for task in tasks) == 14 * (1 + 3 * 3)


@pytest.mark.parametrize("ratio", [-0.1, math.nan, math.inf])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(OptionError, match="noise ratio"):
        strogatz_benchmark.EXPERIMENT.run(ExperimentSettings(size="small", noise_ratios=(ratio,)))


@pytest.fixture(scope="module")
def few_operators(tmp_path_factory):
    """Return a function that lets the experiment use the operators of the two truths and few others.

    What it remembers of the spaces of its own grammar is forgotten, before and afterwards.
    """
    path = tmp_path_factory.mktemp("grammar") / "few.toml"
    path.write_text('unary = ["cos", "square", "inv"]\nbinary = ["add", "sub", "mul", "div"]\n')
    remembered = (list_correct_features, strogatz_recovery._find_term_space_sizes)

    @contextmanager
    def use_few_operators():
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(strogatz_recovery, "GRAMMAR", path)
            for function in remembered:
                function.cache_clear()
            yield
        for function in remembered:
            function.cache_clear()

    return use_few_operators


@pytest.fixture(scope="module")
def outcome(few_operators):
    """Outcome of the small size with few operators; other tests fit and screen these tables with all."""
    with few_operators():
        return strogatz_benchmark.EXPERIMENT.run(ExperimentSettings(size="small", jobs=2))


@pytest.mark.slow
def test_the_small_size_recovers_its_laws(outcome):
    recovery = outcome.tables["recovery"]
    assert len(recovery) == 2 * 2
    assert recovery["structure"].eq(1.0).all()
    assert recovery["r2"].ge(0.9999).all()
    assert recovery.loc[recovery["noise_ratio"] == 0, "exact"].eq(1.0).all()
    assert outcome.tables["summary"]["aim"].isna().all()
    assert not len(outcome.tables["misses"])


@pytest.mark.slow
def test_every_cell_is_screened_by_every_screener(outcome):
    figures, terms = outcome.tables["screening"], outcome.tables["terms"]
    assert len(figures) == 2 * 2 * 5
    assert figures["average_precision"].between(figures["share"] * 0.99, 1).all()
    assert figures["features"].eq(figures["features"][0]).all()
    assert figures["features"][0] > 3000
    # -x1/10 is a term, and no feature has a higher correlation than an exact one
    best = terms[(terms["system"] == "vdp2") & (terms["screener"] == "pearson")]
    assert best["class"].eq(1).all()
    assert (
        figures.loc[(figures["system"] == "vdp2") & (figures["screener"] == "pearson"), "ranks"].eq("4").all()
    )


@pytest.mark.slow
def test_the_figures_depend_neither_on_the_threads_nor_on_other_tables(outcome, few_operators, monkeypatch):
    sizes = strogatz_benchmark.SIZES
    monkeypatch.setitem(sizes, "small", replace(sizes["small"], systems=("vdp2",)))
    settings = ExperimentSettings(size="small", jobs=1, noise_ratios=(0.01,))
    with few_operators():
        again = strogatz_benchmark.EXPERIMENT.run(settings)
    for name in ("recovery", "screening", "terms"):
        whole = outcome.tables[name]
        own = whole[(whole["system"] == "vdp2") & (whole["noise_ratio"] == 0.01)].reset_index(drop=True)
        assert own.equals(again.tables[name])


@pytest.mark.slow
def test_the_pictures_and_remarks_say_what_the_tables_do(outcome):
    require("matplotlib")
    for draw in outcome.pictures.values():
        assert draw().axes
    summary = outcome.tables["summary"].assign(aim=[14, 9], exact=[14.0, 8.0])
    said = format_remarks(dict(outcome.tables) | {"summary": summary})[0]
    assert said == "Exact of 14, median of the draws: 14 at 0 (aim 14), 8 at 0.01 (aim 9, missed)."
