from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.fitting_cases import share_left

import symscreen
from symscreen.backends import Threads
from symscreen.config.fields import get_option, list_options
from symscreen.config.fit_options import FitOptions
from symscreen.config.space_options import build_layer_schedule
from symscreen.data import read_dataset
from symscreen.errors import MemoryLimitError, OptionError
from symscreen.expressions.input_ranges import compute_input_ranges
from symscreen.fitting import get_input_columns, procedure, search_stages
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.procedure import run_fit
from symscreen.fitting.search_monitor import SearchMonitor
from symscreen.fitting.search_stages import FitTask
from symscreen.grammar import load_grammar
from symscreen.linear_models.model_criteria import assign_folds


def _job(table, layers="ub", operators="ablation", max_bytes=None, **options):
    grammar = load_grammar(operators)
    return FitTask(
        dataset=table,
        layers=grammar.resolve_layers(layers),
        options=FitOptions(layers=layers, **{"seed": 0, **options}),
        grammar=grammar,
        layer_schedule=build_layer_schedule(grammar, layers),
        backend=Threads(1),
        max_bytes=max_bytes,
        input_ranges=compute_input_ranges(get_input_columns(table)),
    )


def _table(rng, n=60, noise=0.1, d=2):
    x = rng.uniform(0.5, 2.0, (n, d))
    return read_dataset(x, y=2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + noise * rng.normal(size=n))


def _terms(result):
    return sorted(map(str, result.formula.terms))


def _limit_effort(monkeypatch, **limits):
    """Change limits of the default effort."""
    monkeypatch.setitem(EFFORTS, "default", replace(EFFORTS["default"], **limits))


@pytest.fixture
def _without_laws(monkeypatch):
    """Search the spaces of the layers alone, for the tests on which of them are searched."""
    monkeypatch.setattr(search_stages, "_searches_laws", lambda _: False)


# Rows that choose, rows that estimate


@pytest.mark.parametrize(
    ("n", "share", "held"), [(100, 0.5, 50), (60, 0.25, 15), (11, 0.5, 5), (1000, 0.1, 100)]
)
def test_a_split_takes_disjoint_rows(rng, n, share, held):
    table = _table(rng, n)
    _, choosing, estimating, _ = procedure._split_rows(_job(table, split=share))
    ours, theirs = (set(map(tuple, part.columns.T.tolist())) for part in (choosing, estimating))
    assert not ours & theirs
    assert ours | theirs == set(map(tuple, table.columns.T.tolist()))
    assert abs(len(theirs) - held) <= 1


def test_the_rows_kept_are_drawn_without_a_look_at_the_response(rng):
    # rows stratified over the response would each stand in half of the pairs of neighbours, and never in more
    both = 0
    for seed in range(40):
        table = _table(rng, 60)
        *_, estimating, _ = procedure._split_rows(_job(table, split=0.5, seed=seed))
        at = np.isin(table.target.values, estimating.target.values)
        both += int((at[::2] & at[1::2]).sum())
    expected = 40 * 30 * (30 * 29) / (60 * 59)
    assert abs(both - expected) < 5 * np.sqrt(expected)


@pytest.mark.slow
@pytest.mark.parametrize("folds", [8, 40])
def test_cross_validation_may_leave_out_single_rows(rng, folds):
    table = _table(rng, 8 if folds == 8 else 40)
    job = _job(table, criterion="cv", folds=folds, max_terms=1)
    errors = procedure._compute_nested_errors(job, "bic", SearchMonitor())
    assert errors[0] == pytest.approx(
        ((table.target.values - table.target.values.mean()) ** 2).mean()
        * (table.target.n / (table.target.n - 1)) ** 2
    )


def test_the_seed_says_which_rows_are_kept(rng):
    table = _table(rng, 100)
    first, again, other = (procedure._split_rows(_job(table, split=0.5, seed=s))[2].digest for s in (0, 0, 1))
    assert first == again != other


def test_nothing_but_the_rows_kept_gives_the_coefficients(rng):
    table = _table(rng, 80)
    result = run_fit(_job(table, split=0.5))
    *_, estimating, _ = procedure._split_rows(_job(table, split=0.5))
    assert _terms(result) == ["x1**3", "x2"]
    x1, x2 = estimating.columns
    design = np.vstack([np.ones(estimating.target.n), x1**3, x2]).T
    own = np.linalg.lstsq(design, estimating.target.values, rcond=None)[0]
    by_term = dict(zip(result.terms["term"], result.terms["coefficient"], strict=True))
    np.testing.assert_allclose([by_term[one] for one in ("1", "x1**3", "x2")], own, rtol=1e-10)
    assert not result.notices


def test_the_response_of_the_rows_kept_does_not_choose(rng):
    table = _table(rng, 80)
    *_, estimating, _ = procedure._split_rows(_job(table, split=0.5))
    rows = dict(zip(table.names, table.columns, strict=True))
    held = np.isin(table.columns[0], estimating.columns[0])
    y = table.target.values.copy()
    y[held] += 1e-9 * np.arange(held.sum())  # in the same order
    changed = read_dataset(rows, y=y)
    one, other = (run_fit(_job(each, split=0.5)) for each in (table, changed))
    assert one.front.equals(other.front)
    assert one.alternatives.equals(other.alternatives)
    assert one.formula != other.formula


@pytest.mark.parametrize(("n", "share"), [(7, 0.5), (10, 0.8), (20, 0.05)])
def test_too_few_rows_to_split(rng, n, share):
    with pytest.raises(OptionError, match=f"{n} rows are too few"):
        run_fit(_job(_table(rng, n), split=share))


def test_a_formula_undefined_on_the_rows_kept_gives_way(rng):
    # the logarithm is the truth, but one of the rows kept has none
    n = 60
    x = rng.uniform(0.1, 4.0, n)
    y = np.log(x)
    table = read_dataset(x[:, None], y=y)
    *_, estimating, _ = procedure._split_rows(_job(table, split=0.5))
    x[int(np.flatnonzero(x == estimating.columns[0][3])[0])] *= -1
    spoilt = read_dataset(x[:, None], y=y)
    result = run_fit(_job(spoilt, "u", "basic", split=0.5))
    assert not any("log" in term for term in _terms(result))
    assert np.isfinite(result.terms["coefficient"]).all()
    assert "log(x1)" in result.front["formula"].str.cat()
    assert result.front["chosen"].sum() == 1


# Which spaces are searched


@pytest.mark.usefixtures("_without_laws")
def test_large_spaces_that_nobody_asked_for_are_left_out_with_all_that_grow_from_them(rng, monkeypatch):
    table = _table(rng)
    _limit_effort(monkeypatch, layer_candidates=40)
    result = run_fit(_job(table, None))
    left_out = [notice for notice in result.notices if "not searched" in notice]
    assert [notice.split()[2] for notice in left_out] == ["bub", "ubb"]
    assert all(f"layers={kinds!r}" in notice for kinds, notice in zip(["bub", "ubb"], left_out, strict=True))
    table = _table(rng, d=3)
    _limit_effort(monkeypatch, layer_candidates=7)  # 6 in u, 8 in b: so bu is left out, too
    left_out = [
        notice.split()[2] for notice in run_fit(_job(table, None)).notices if "not searched" in notice
    ]
    assert left_out == ["b", "ub", "bu", "bub", "ubb"]


@pytest.mark.usefixtures("_without_laws")
def test_something_is_searched_however_large_it_is(rng, monkeypatch):
    _limit_effort(monkeypatch, layer_candidates=0)
    result = run_fit(_job(_table(rng), None))
    assert _terms(result) == ["x1**3", "x2"]
    assert sum("not searched" in notice for notice in result.notices) == 5


@pytest.mark.usefixtures("_without_laws")
def test_many_rows_make_a_space_large(rng, monkeypatch):
    _limit_effort(monkeypatch, layer_values=60 * 60)
    left_out = [notice for notice in run_fit(_job(_table(rng), None)).notices if "not searched" in notice]
    assert [notice.split()[2] for notice in left_out] == ["bub", "ubb"]


def test_what_was_asked_for_is_searched_whatever_its_size(rng, monkeypatch):
    _limit_effort(monkeypatch, layer_candidates=1)
    result = run_fit(_job(_table(rng), "bub"))
    assert not any("not searched" in notice for notice in result.notices)
    assert _terms(result) == ["x1**3", "x2"]


@pytest.mark.slow
@pytest.mark.usefixtures("_without_laws")
def test_memory_for_the_small_spaces_alone_gives_their_answer(rng, monkeypatch):
    monkeypatch.setattr("symscreen._limits.read_resident_bytes", lambda: 0)
    monkeypatch.setattr("symscreen.expansion.feature_values._BYTES_PER_VALUE", 0)
    table = _table(rng, 400)
    result = run_fit(_job(table, None, max_bytes=100_000))
    assert _terms(result) == ["x1**3", "x2"]
    assert any("not searched" in notice for notice in result.notices)
    with pytest.raises(MemoryLimitError):
        run_fit(_job(table, "ubb", max_bytes=100_000))
    with pytest.raises(MemoryLimitError):
        run_fit(_job(table, None, max_bytes=100))


def test_every_prefix_of_the_layers_asked_for_is_searched(rng):
    table = _table(rng)
    sizes = [run_fit(_job(table, layers)).record["searched"] for layers in ("b", "bu", "bub")]
    spaces = [space.size for space in search_stages._generate_spaces(_job(table, "bub"), [], SearchMonitor())]
    assert sizes == np.cumsum(spaces).tolist()


# Which model is chosen


def test_cross_validation_takes_the_size_of_least_error(rng):
    table = _table(rng, 60)
    result = run_fit(_job(table, "u", criterion="cv"))
    errors = result.record["cv_error"]
    assert len(errors) == 5
    assert errors[0] == pytest.approx(table.target.values.var(), rel=0.2)
    assert len(result.formula.terms) == int(np.argmin(errors))
    assert result.front["chosen"].sum() == 1


def test_the_nested_error_is_that_of_predicting_rows_that_were_not_searched(rng):
    table = _table(rng, 40)
    y, (x1, x2) = table.target.values, table.columns
    dealt, squares = assign_folds(40, 4, 0), np.zeros(40)
    for fold in range(4):
        inside, outside = dealt != fold, dealt == fold
        features = [x1, x2, x1**3, x2**3]
        best = min(features, key=lambda z: share_left([z[inside]], y[inside]))
        slope, intercept = np.polyfit(best[inside], y[inside], 1)
        squares[outside] = (y[outside] - intercept - slope * best[outside]) ** 2
    result = run_fit(_job(table, "u", criterion="cv", max_terms=1, folds=4))
    assert result.record["cv_error"][1] == pytest.approx(squares.mean(), rel=1e-9)


def test_of_exact_sizes_cross_validation_takes_the_smallest(rng):
    result = run_fit(_job(_table(rng, 60, noise=0.0), "ub", criterion="cv"))
    assert _terms(result) == ["x1**3", "x2"]


def test_too_few_rows_to_cross_validate(rng):
    with pytest.raises(OptionError, match="6 rows are too few for cross-validation with 2 folds"):
        run_fit(_job(_table(rng, 6), "u", criterion="cv", folds=2))


def test_a_size_that_some_fold_lacks_has_no_error(rng):
    x = rng.uniform(0.5, 2.0, (30, 1))
    result = run_fit(_job(read_dataset(x, y=x[:, 0] + rng.normal(0, 0.1, 30)), "u", criterion="cv"))
    assert result.record["cv_error"][3:] == [None, None]  # there are only x and its cube
    assert len(result.formula.terms) <= 2


@pytest.mark.slow
def test_the_one_chosen_is_always_shown(rng):
    x = rng.uniform(0.5, 2.0, (80, 2))
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(0, 0.5, 80)
        table = read_dataset(x, y=x[:, 0] ** 3 - x[:, 1] + noise)
        for choose in ("ebic", "aic"):
            result = run_fit(_job(table, "ub", criterion=choose))
            assert result.front["chosen"].sum() == 1
            assert result.front["complexity"].is_monotonic_increasing


# More than four terms, pools, simple numbers


@pytest.mark.slow
def test_six_terms_come_from_the_paths(rng):
    x = rng.normal(size=(150, 3))
    a, b, c = x.T
    y = 1 + 2 * a - b + 1.5 * c**3 + a * b - 2 * b * c + 0.5 * a**3 * c
    for noise in (0.0, 0.1):
        table = read_dataset(x, y=y + noise * rng.normal(size=150))
        result = run_fit(_job(table, max_terms=6))
        assert _terms(result) == sorted(["x1", "x2", "x3**3", "x1*x2", "x2*x3", "x3*x1**3"])
        assert len(run_fit(_job(table, max_terms=5)).formula.terms) == 5


def test_a_strict_pool_holds_the_last_layer_alone(rng):
    x = rng.uniform(0.5, 2.0, (60, 2))
    table = read_dataset(x, y=(x[:, 0] + x[:, 1]) ** 3 + 0.01 * rng.normal(size=60))
    result = run_fit(_job(table, "bu", pool="strict"))
    assert _terms(result) == ["(x1 + x2)**3"]
    sizes = [
        space.size
        for space in search_stages._generate_spaces(_job(table, "bub", pool="strict"), [], SearchMonitor())
    ]
    assert sizes[0] == 6  # sums and products, without the inputs


def test_simple_numbers_are_those_of_the_formula_and_their_r2_its_own(rng):
    x1, x2 = rng.uniform(0.5, 2.0, (2, 60))
    true = np.column_stack([np.ones(60), x2, x1**3])
    noise = rng.normal(0, 0.05, 60)
    noise -= true @ np.linalg.lstsq(true, noise, rcond=None)[0]
    beside = 0.002 * x2  # well within the interval of its coefficient
    table = read_dataset(np.column_stack([x1, x2]), y=true @ [10, 5, 2] + noise + beside)
    plain, simple = (run_fit(_job(table, snap=snap)) for snap in (False, True))
    assert simple.formula.text == "10 + 5*x2 + 2*x1**3"
    assert plain.formula.text != simple.formula.text
    assert simple.r2 < plain.r2
    x1, x2 = table.columns
    y = table.target.values
    left = ((y - 10 - 5 * x2 - 2 * x1**3) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert simple.r2 == pytest.approx(1 - left, abs=1e-12)


def test_simple_numbers_that_the_data_refuse_are_told(monkeypatch, rng):
    monkeypatch.setattr("symscreen.fitting.formula_fits.snap_coefficients", lambda *_, **__: None)
    result = run_fit(_job(_table(rng), snap=True))
    assert any("do not allow simple numbers" in notice for notice in result.notices)


def test_the_notices_tell_what_the_intervals_are_worth(rng):
    noisy = run_fit(_job(_table(rng)))
    assert any("too narrow" in notice for notice in noisy.notices)
    exact = run_fit(_job(_table(rng, noise=0.0)))
    assert exact.notices == ()
    x, sides = np.repeat(rng.normal(size=(25, 2)), 2, axis=0), np.tile([-1.0, 1.0], 25)
    nothing = run_fit(_job(read_dataset(x, y=sides)))  # every point has both: no function of x tells anything
    assert nothing.formula.terms == ()
    assert any("no formula is better than the mean" in notice for notice in nothing.notices)


@pytest.mark.slow
@pytest.mark.usefixtures("_without_laws")
def test_cuts_between_layers_keep_deep_spaces_affordable(rng, monkeypatch):
    _limit_effort(monkeypatch, layer_candidates=100)
    x = rng.uniform(0.5, 2.0, (60, 3))
    y = 2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + 0.1 * rng.normal(size=60)
    whole, cut = (symscreen.fit(x, y, operators="ablation", **options) for options in ({}, {"pool_size": 5}))
    left_out = [
        [notice.split()[2] for notice in one.notices if "not searched" in notice] for one in (whole, cut)
    ]
    assert left_out == [["bub", "ubb"], []]
    assert _terms(cut) == ["x1**3", "x2"]
    assert cut.record["pool_size"] == {"u": 5, "b": 5}
    assert cut.record["prune_by"] == ["t0", "xi"]


def test_the_record_of_a_fit_has_the_options_that_say_so(rng):
    options = FitOptions(
        layers="b", criterion="cv", folds=3, seed=5, split=0.25, level=0.9, pool_size=7, max_terms=2
    )
    task = replace(_job(_table(rng), "b"), options=options)
    record = run_fit(task).record
    assert {name: record[name] for name in ("criterion", "folds", "seed", "split", "level")} == {
        "criterion": "cv", "folds": 3, "seed": 5, "split": 0.25, "level": 0.9,
    }  # fmt: skip
    assert (record["pool_size"], record["prune_by"]) == ({"u": 7, "b": 7}, [])
    recorded = {field.name for field in list_options(FitOptions) if get_option(field).fit_record}
    others = {"searched", "models", "rows_choosing", "rows_estimating", "cv_error", "verdict", "stage"}
    others |= {"input_ranges", "numbers", "box", "safety", "search_sizes"}
    assert set(record) == recorded | others
    by_criterion = run_fit(replace(task, options=replace(options, criterion="bic"))).record
    assert by_criterion["folds"] is None
