"""What a screen chooses where exact scoring would exceed its budget."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.config.option_record import format_command
from symscreen.config.parsing import parse_budget_text
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import MemoryLimitError, OptionError
from symscreen.expansion import CandidateStatus, bound_space_size, build_pruned_size_model, size_estimate
from symscreen.expressions.traversal import collect_columns
from symscreen.grammar import load_grammar
from symscreen.report.terminal.listings import build_plan_table
from symscreen.results.budget_note import format_budget_note
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.stored_screens import prepare_from_record

TALL_BUDGET = 1_000_000  # 9,580 formulas × 300 rows exceed it, and their rounds on pairs do not
WIDE_BUDGET = 200_000


def make_frame(rows: int, columns: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.uniform(0.5, 2.0, (rows, columns)), columns=[f"x{i}" for i in range(columns)])
    data["y"] = data.x0 * data.x1 + rng.normal(0, 0.1, rows)
    return data


@pytest.fixture(scope="module")
def tall() -> pd.DataFrame:
    return make_frame(300, 10)


@pytest.fixture(scope="module")
def wide() -> pd.DataFrame:
    return make_frame(40, 30)


def choose(data: pd.DataFrame, **options):
    return prepare_screen(data, None, ScreenOptions(jobs=1, **options)).budget_choice


def test_a_small_space_is_scored_exactly(wide):
    result = symscreen.screen(wide, layers="u", jobs=1)
    assert "budget" not in result.record
    assert result.record["options"]["search"] == "exact"


def test_many_rows_are_sieved(tall):
    result = symscreen.screen(tall, budget=TALL_BUDGET, jobs=1)
    named = symscreen.screen(tall, search="sieve", jobs=1)
    assert result.table.equals(named.table)
    assert result.n_scored < named.record["search"]["features"] / 2
    choice = result.record["budget"]
    assert (choice["search"], choice["pool_size"], choice["rows"]) == ("sieve", None, 300)
    assert choice["formulas"] == named.record["search"]["features"]
    assert result.verdict.startswith("No verdict")
    assert repr(prepare_from_record(result.record, tall).options.search) == "'sieve'"
    assert "--search sieve" in format_command(result.record)


def test_many_formulas_are_pruned_to_the_best_inputs_and_features(wide):
    result = symscreen.screen(wide, budget=WIDE_BUDGET, jobs=1)
    pool_size = result.record["budget"]["pool_size"]
    assert set(pool_size) == {"inputs", "u"}
    assert len(set(pool_size.values())) == 1
    named = symscreen.screen(wide, pool_size=pool_size, search="exact", jobs=1)
    assert result.table.equals(named.table)
    assert result.n_scored * 40 <= WIDE_BUDGET
    assert result.record["layers"][0]["features"] == pool_size["inputs"]
    assert result.table.expression[0] == "x0*x1"
    again = prepare_from_record(json.loads(json.dumps(result.record)), wide)
    assert again.options.pool_size == pool_size
    assert f"--pool-size inputs:{pool_size['u']},u:{pool_size['u']}" in format_command(result.record)


def test_many_rows_and_formulas_are_pruned_and_sieved():
    choice = choose(make_frame(300, 30), budget=900_000)
    assert choice.search == "sieve"
    assert choice.pool_sizes is not None


def test_features_of_earlier_layers_cost_all_rows_even_with_a_sieve():
    data, budget = make_frame(300, 30), 3_000_000
    choice = choose(data, budget=budget, layers="ubu")
    task = prepare_screen(data, None, ScreenOptions(jobs=1, budget=budget, layers="ubu"))
    model = build_pruned_size_model(
        task.dataset.names, task.grammar, task.layers, task.options.pool,
        options=task.options, map_function=task.backend.map, units=task.units,
    )  # fmt: skip
    *earlier, last = model.estimate(choice.pool_sizes).layer_counts
    scored = sum(each.n_features + each.n_excluded.get(CandidateStatus.PRUNED, 0) for each in earlier)
    assert scored * 300 + last.n_features * 64 <= budget  # 64 rows: the rounds of a sieve


def test_fewer_than_64_rows_cost_as_much_as_64():
    short, longer = (choose(make_frame(rows, 30), budget=900_000) for rows in (10, 64))
    assert short.pool_sizes is not None
    assert short.pool_sizes == longer.pool_sizes
    text = str(format_budget_note({"budget": short.record}))
    assert "× 64 rows (fewer than 64 cost as much)" in text


def test_a_table_of_many_columns_is_planned_in_little_memory():
    names = [f"c{number}" for number in range(20_000)]
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(6, 20_000)), columns=names)
    plan = symscreen.plan(data, layers="b", jobs=1, max_ram="2GB")
    assert plan.budget["pool_size"]["inputs"] < 20_000


def test_a_sieve_costs_more_where_a_screener_needs_whole_rows():
    data, budget = make_frame(600, 10), 2_000_000
    assert choose(data, budget=budget).search == "sieve"  # 600 rows are four times 64
    assert choose(data, budget=budget, screener="t0,pearson").search != "sieve"  # and not four times 512


@pytest.mark.slow
def test_the_choice_depends_on_no_order_and_no_number_of_threads(wide):
    given = choose(wide, budget=WIDE_BUDGET).record
    shuffled = wide.sample(frac=1, random_state=1)[[*sorted(wide.columns, reverse=True)]]
    for data, options in ((shuffled, {"target": "y"}), (wide, {"max_ram": "4GB", "chunk_size": 7})):
        task = prepare_screen(data, None, ScreenOptions(budget=WIDE_BUDGET, jobs=2, **options))
        assert task.budget_choice.record == given


@pytest.mark.parametrize("options", [{"budget": None}, {"budget": "none"}, {"search": "exact"}])
def test_no_budget_and_a_named_search_switch_it_off(wide, options):
    given = {"budget": WIDE_BUDGET} | options
    assert choose(wide, **given) is None
    record = prepare_screen(wide, None, ScreenOptions(**given)).record
    assert record["budget"] == "none"
    assert "--budget none" in format_command({"options": record})


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"p_values": True}, {"fdr": 0.1}, {"permutations": 10}, {"top": "all"}])
def test_what_needs_every_formula_is_scored_exactly_and_told(wide, options):
    choice = choose(wide, budget=WIDE_BUDGET, **options)
    assert choice.search is None
    result = symscreen.screen(wide.iloc[:, [0, 1, 2, -1]], budget=100, jobs=1, **options)
    assert "the other options need every formula" in repr(result.summary())
    assert result.record["options"]["budget"] == "none"


def test_a_target_of_classes_is_pruned_but_not_sieved(tall):
    data = tall.assign(y=np.where(tall.y > tall.y.median(), "a", "b"))
    choice = choose(data, budget=TALL_BUDGET)
    assert choice.search == "exact"
    assert choice.pool_sizes is not None


@pytest.mark.slow
def test_a_pool_size_of_the_user_stays(wide):
    assert choose(wide, budget=WIDE_BUDGET, pool_size=10_000) is not None
    assert choose(wide, budget=WIDE_BUDGET, pool_size=10_000).pool_sizes is None
    assert choose(wide, budget=WIDE_BUDGET, pool_size={"inputs": 5, "u": 5}) is None


@pytest.mark.slow
def test_a_plan_shows_the_choice_and_what_exact_scoring_would_take(tall):
    plan = symscreen.plan(tall, budget=TALL_BUDGET, jobs=1)
    assert plan.budget == choose(tall, budget=TALL_BUDGET).record
    assert plan.exact_seconds > 0.0
    text = " ".join(repr(plan).split())
    assert "Exact scoring would take 9,580 formulas × 300 rows = 2.9e6" in text
    assert "On this machine exact scoring would take about" in text
    assert build_plan_table(symscreen.plan(tall, layers="u", jobs=1)) is not None
    assert symscreen.plan(tall, layers="u", jobs=1).budget is None


def test_the_answer_begins_with_the_choice(wide):
    result = symscreen.screen(wide, budget=WIDE_BUDGET, jobs=1)
    lines = " ".join(repr(result.summary()).split())
    size = result.record["budget"]["pool_size"]["u"]
    assert f"Instead only the best {size} inputs are used and the best {size} features are kept" in lines
    assert lines.index("Exact scoring would take") < lines.index("No verdict")


@pytest.mark.slow
def test_a_space_that_no_memory_holds_is_pruned_instead_of_refused(monkeypatch):
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", 1 << 14)
    data = make_frame(30, 2000)
    with pytest.raises(MemoryLimitError):
        symscreen.screen(data, search="exact", layers="bb", max_ram="2GB", jobs=1)
    result = symscreen.screen(data, budget=100_000, layers="bb", max_ram="2GB", jobs=1)
    assert len(result) == 20


def test_why_tells_that_an_input_was_pruned(tall):
    answer = symscreen.why(tall, "x3*x5", layers="b", pool_size={"inputs": 1}, jobs=1)
    assert (answer.status, answer.rank_cutoff, answer.n_features) == ("pruned", 1, 10)
    assert "x3*x5 was pruned among the inputs with its part x" in answer.text


def test_pruned_inputs_give_the_space_of_the_others(wide):
    result = symscreen.screen(wide, layers="b", pool_size={"inputs": 4}, prune_by="t0", top="all", jobs=1)
    kept = sorted({name for each in result.expressions for name in collect_columns(each)})
    assert len(kept) == 4
    named = symscreen.screen(wide, layers="b", inputs=kept, top="all", p_values=False, jobs=1)
    assert result.table.equals(named.table)


@pytest.mark.parametrize(("columns", "layers"), [(4, "ub"), (3, "bu"), (3, "ubu")])
def test_the_bound_is_never_below_the_number_of_features(columns, layers):
    grammar, options = load_grammar("basic"), ScreenOptions()
    names, parsed = [f"x{i}" for i in range(columns)], load_grammar("basic").resolve_layers(layers)
    size = size_estimate.estimate_space_size(names, grammar, parsed, options=options)
    assert bound_space_size(names, grammar, parsed, options=options) >= size.n_features


def test_the_size_of_a_pruned_space_is_estimated_closely(wide):
    grammar = load_grammar("basic")
    names, layers = list(wide.columns[:-1]), grammar.resolve_layers("ub")
    model = build_pruned_size_model(names, grammar, layers, options=ScreenOptions())
    pool_sizes = {"inputs": 12, "u": 30}
    result = symscreen.screen(wide, pool_size=pool_sizes, search="exact", jobs=1)
    assert model.estimate(pool_sizes).n_features == pytest.approx(result.n_scored, rel=0.35)


def test_a_budget_is_read_from_texts_and_numbers():
    texts = ["1e9", " 250000 ", "none", "None"]
    assert [parse_budget_text(text, "budget") for text in texts] == [10**9, 250_000, "none", "none"]
    assert [ScreenOptions(budget=value).budget for value in (1e6, "none", None)] == [10**6, None, None]
    for text in ("much", "1.5", "inf", "nan"):
        with pytest.raises(OptionError, match=f"budget is '{text}'; give formulas × rows"):
            parse_budget_text(text, "budget")
    for value in (0, True, "much", 0.5):
        with pytest.raises(OptionError, match="budget is"):
            ScreenOptions(budget=value)
