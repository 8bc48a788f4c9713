from __future__ import annotations

import re
import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers.expansion_oracles import Problem, expand_by_hand, problems
from hypothesis import example, given, settings

from symscreen import _limits
from symscreen.config.screen_options import SpaceOptions
from symscreen.data import read_dataset
from symscreen.errors import DataError, MemoryLimitError, OptionError
from symscreen.expansion import CandidateStatus, expand, generation
from symscreen.expansion.feature_values import estimate_block_bytes
from symscreen.expressions.printing import to_text
from symscreen.expressions.tree import Column
from symscreen.grammar import OPERATORS, Grammar, load_grammar
from symscreen.grammar.custom_operators import define_operator


def expanded(problem, **options):
    return expand(*problem.arguments, also=problem.also, **options, options=SpaceOptions())


def described(space, numbers):
    features = space.get_metadata(numbers)
    keys = map(tuple, features.keys.tolist())
    return dict(
        zip(keys, zip(features.complexity.tolist(), features.layer.tolist(), strict=True), strict=True)
    )


def numbers_kept(space):
    return np.concatenate(
        (
            np.arange(space.n_materialized),
            space.n_materialized + np.flatnonzero(space.statuses == CandidateStatus.KEPT),
        )
    )


def streamed(space):
    blocks = list(space.evaluate_range(0, space.total))
    lost = sum((Counter(block.n_invalid) for block in blocks), Counter())
    return np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)]), lost


# one row is huge, so that x1 - x2 - (x1 + x2) is exact in the others and 0 there
ONE_HUGE_ROW = Problem(
    Grammar("drawn", OPERATORS, (OPERATORS["id"],), (OPERATORS["add"], OPERATORS["sub"])),
    layers="bb",
    pool_kind="cumulative",
    names=("x1", "x2"),
    columns=np.array([[290.0, 1.5e-07, 4.2e-06, 2.8e23, 8.1e14], [1.46, 0.9, 0.56, 1.72, 1.87]]),
    also=(),
)


@pytest.mark.slow
@settings(max_examples=90)
@given(problems())
@example(ONE_HUGE_ROW)
def test_a_run_has_the_features_and_counts_of_brute_force(problem):
    space = expanded(problem)
    items, counts = expand_by_hand(problem)
    numbers, lost = streamed(space)
    assert described(space, numbers) == {item.key: (item.complexity, item.layer) for item in items}
    assert len(numbers) == len(items)
    found = [(count.n_generated, count.n_excluded) for count in space.layer_counts]
    found[-1] = (found[-1][0], dict(Counter(found[-1][1]) + lost))
    assert found == counts


@settings(max_examples=40)
@given(problems())
def test_a_count_without_values_is_that_of_brute_force(problem):
    problem = replace(problem, columns=None)
    space = expanded(problem)
    items, counts = expand_by_hand(problem)
    numbers = numbers_kept(space)
    assert described(space, numbers) == {item.key: (item.complexity, item.layer) for item in items}
    assert len(numbers) == len(items) == space.size
    assert [(count.n_generated, count.n_excluded) for count in space.layer_counts] == counts


@pytest.mark.slow
@settings(max_examples=50)
@given(problems())
def test_a_count_without_values_bounds_the_run(problem):
    run, counted = expanded(problem), expanded(replace(problem, columns=None))
    assert set(described(run, streamed(run)[0])) <= set(described(counted, numbers_kept(counted)))
    assert run.size <= counted.size


@pytest.mark.slow
@settings(max_examples=50)
@given(problems())
def test_reasons_add_up_to_what_was_generated(problem):
    for columns in (problem.columns, None):
        space = expanded(replace(problem, columns=columns))
        old = 0
        for count in space.layer_counts[:-1]:
            left = count.n_generated - sum(count.n_excluded.values())
            assert count.n_features == left + (old if problem.pool_kind == "cumulative" else 0)
            assert all(number > 0 for number in count.n_excluded.values())
            old = count.n_features
        last = space.layer_counts[-1]
        left = last.n_generated - sum(last.n_excluded.values()) + len(space.user_formulas.expressions)
        assert last.n_features == space.size == left + (old if problem.pool_kind == "cumulative" else 0)
        assert last.n_generated == space.candidates.total
        assert [count.layer for count in space.layer_counts] == list(range(len(problem.layers) + 1))
        assert "".join(count.kind for count in space.layer_counts) == "inputs" + problem.layers


@pytest.mark.parametrize(
    ("layers", "inputs", "features", "without_x2"),
    [("bu", 3, 24, 12), ("ub", 3, 42, 20), ("bu", 2, 12, None), ("ub", 2, 20, None)],
)
@pytest.mark.parametrize("with_values", [True, False])
def test_counts_of_the_paper(layers, inputs, features, without_x2, with_values, rng):
    grammar = load_grammar("ablation")
    names = [f"x{place}" for place in range(1, inputs + 1)]
    columns = rng.uniform(0.5, 2.0, (inputs, 20)) if with_values else None
    space = expand(names, columns, grammar, grammar.resolve_layers(layers), "strict", options=SpaceOptions())
    assert space.size == space.total == features
    if without_x2 is not None:
        found = [to_text(space.build_expression(number)) for number in range(space.total)]
        assert sum("x2" not in formula for formula in found) == without_x2


@pytest.mark.slow
@given(problems(rules=False))
def test_algebra_does_not_see_the_order_of_the_inputs(problem):
    turned = replace(problem, columns=None, names=problem.names[::-1])
    one, other = expanded(replace(problem, columns=None)), expanded(turned)
    assert set(described(one, numbers_kept(one))) == set(described(other, numbers_kept(other)))
    assert [count.n_generated for count in one.layer_counts] == [
        count.n_generated for count in other.layer_counts
    ]


def test_a_table_with_its_columns_in_another_order_gives_the_same_bytes(rng):
    columns = {name: rng.uniform(0.5, 2.0, 30) for name in ("x1", "x2", "x3", "y")}
    grammar = load_grammar("basic")
    runs = []
    for names in (["x1", "x2", "x3", "y"], ["y", "x3", "x1", "x2"]):
        table = read_dataset({name: columns[name] for name in names}, target="y")
        space = expand(
            table.names, table.columns, grammar, grammar.resolve_layers("ub"), options=SpaceOptions()
        )
        runs.append([block.values.tobytes() for block in space.evaluate_range(0, space.total)])
    assert runs[0] == runs[1]


def grown(layers, columns=None, pool_kind="cumulative", operators=OPERATORS, names="xy"):
    names = list(names) if columns is None else list(names[: len(columns)])
    grammar = replace(load_grammar("basic"), operators=operators, forbid={}, forbid_within={})
    return expand(names, columns, grammar, grammar.resolve_layers(layers), pool_kind, options=SpaceOptions())


def formulas(space, numbers=None):
    numbers = numbers_kept(space) if numbers is None else numbers
    return [to_text(space.build_expression(number)) for number in numbers]


def test_of_formulas_with_one_key_the_simplest_is_kept():
    # in a strict pool x·y, of cost 5, and x/(1/y), of costs 1 and 1, meet in the same layer
    dear = OPERATORS | {"mul": replace(OPERATORS["mul"], cost=5)}
    assert "x*y" in formulas(grown("u[id,inv] b[mul,div]", pool_kind="strict"))
    found = formulas(grown("u[id,inv] b[mul,div]", pool_kind="strict", operators=dear))
    assert "x*y" not in found
    assert "y/(1/x)" in found


def test_of_equally_simple_formulas_the_first_is_kept():
    assert formulas(grown("b[add] b[add]", names="x")) == ["x", "x + x", "x + (x + x)", "x + x + (x + x)"]
    found = formulas(grown("b[add] b[add]", names="xyz"))
    # x + y is the first of the sums of two
    assert next(formula for formula in found if set("xyz") <= set(formula)) == "z + (x + y)"
    assert not {"x + (y + z)", "y + (x + z)"} & set(found)


def test_of_numeric_copies_in_one_layer_the_simplest_is_kept(rng):
    operators = OPERATORS | {"root": define_operator("root", "sqrt(x**2)", OPERATORS)}
    space = grown("u[root,abs] b[mul]", rng.normal(size=(1, 30)), operators=operators)
    assert formulas(space, range(space.n_materialized)) == ["x", "abs(x)"]
    assert space.layer_counts[1].n_excluded == {CandidateStatus.NUMERIC_DUPLICATE: 1}


def test_a_simpler_copy_by_value_takes_an_older_features_place(rng):
    space = grown("u[log] b[add,mul] u[log] b[add]", rng.uniform(0.5, 2.0, (2, 30)))
    found = formulas(space, range(space.n_materialized))
    assert "log(x) + log(y)" not in found
    assert "log(x*y)" in found


@pytest.mark.parametrize("with_values", [True, False])
def test_a_simpler_copy_by_algebra_takes_an_older_features_place(with_values, rng):
    columns = rng.uniform(0.5, 2.0, (2, 30)) if with_values else None
    space = grown("b[mul] u[square,inv] b[div]", columns)
    found = formulas(space, range(space.n_materialized))
    assert "x**2" in found
    assert "x*x" not in found
    assert space.layer_counts[2].n_excluded[CandidateStatus.DUPLICATE] == 2  # x*x and y*y
    last = grown("b[mul] u[square]", columns)
    found = formulas(last, numbers_kept(last))
    assert "x**2" in found
    assert "x*x" not in found
    assert last.layer_counts[2].n_features == len(found) == len(set(found))


@pytest.mark.parametrize("with_values", [True, False])
def test_what_was_tried_is_known_after_an_older_feature_has_left(with_values, rng):
    operators = OPERATORS | {"mul": replace(OPERATORS["mul"], cost=5)}
    grammar = Grammar("dear", operators, (), ())
    columns = rng.uniform(0.5, 2.0, (1, 6)) if with_values else None
    # x/(1/x) takes the place of x·x, which mul has been applied to
    problem = Problem(grammar, "b[mul] u[inv] b[mul,div] b[mul]", "cumulative", ("x",), columns)
    space, (items, counts) = expanded(problem), expand_by_hand(problem)
    assert "x*x" not in formulas(space)
    assert {formula.expression for formula in items} == {
        space.build_expression(n) for n in numbers_kept(space)
    }
    assert [count.n_generated for count in space.layer_counts] == [generated for generated, _ in counts]


def test_a_simpler_copy_that_cannot_be_computed_takes_no_place():
    # equal to x·x by algebra, but its fourth power overflows on the way
    cheap = define_operator("cheap", "x**3*x/(x*x)", OPERATORS, cost=0)
    space = grown(
        "b[mul] u[cheap]", np.array([np.linspace(1e100, 2e100, 9)]), operators=OPERATORS | {"cheap": cheap}
    )
    found = formulas(space, numbers_kept(space))
    assert "x*x" in found
    assert "cheap(x)" not in found
    assert space.layer_counts[2].n_excluded == {CandidateStatus.UNDEFINED: 1}


def test_old_features_stay_where_a_new_one_links_them():
    # the mean of the inputs equals each of them up to rounding, but they are not equal to each other
    x = np.linspace(1.0, 2.0, 10)
    operators = OPERATORS | {"mean": define_operator("mean", "(x + y)/2", OPERATORS)}
    space = grown("b[mean] u[square]", np.array([x, x * (1 + 1.8e-13)]), operators=operators)
    assert formulas(space, range(space.n_materialized)) == ["x", "y"]
    assert space.layer_counts[1].n_excluded[CandidateStatus.NUMERIC_DUPLICATE] == 1
    assert (space.compute_values(np.arange(2)) == [x, x * (1 + 1.8e-13)]).all()


def test_inputs_that_are_constant_or_copies_are_left_out(rng):
    x = rng.normal(size=20)
    columns = np.array([x, np.full(20, 7.0), x * (1 + 2e-16), 7 + 1e-15 * x, x + 1])
    grammar = load_grammar("ablation")
    space = expand(list("abcde"), columns, grammar, grammar.resolve_layers("u"), options=SpaceOptions())
    assert space.layer_counts[0].n_excluded == {
        CandidateStatus.CONSTANT: 2,
        CandidateStatus.NUMERIC_DUPLICATE: 1,
    }
    assert (space.layer_counts[0].n_generated, space.layer_counts[0].n_features) == (5, 2)
    assert [space.build_expression(place) for place in range(space.n_materialized)] == [
        Column("a"),
        Column("e"),
    ]


def test_large_constants_that_are_near_are_both_kept():
    grammar = replace(load_grammar("ablation"), constants=(10**15 - 1, 10**15 - 2))
    columns = np.linspace(1.0, 2.0, 8)[None]
    space = expand(["x"], columns, grammar, grammar.resolve_layers("b"), options=SpaceOptions())
    assert len(space.pool.constant_indices) == 2


def test_a_strict_pool_may_run_empty():
    space = grown("u[log] b[add]", -np.linspace(1.0, 2.0, 8)[None], "strict")
    assert (space.total, space.size) == (0, 0)
    assert list(space.evaluate_range(0, 0)) == space.split_chunks(10) == []


class TestErrors:
    grammar = load_grammar("ablation")
    layers = grammar.resolve_layers("bb")

    def test_every_input_constant(self):
        with pytest.raises(
            DataError,
            match=r"^every input is constant, so no features can be built; choose other inputs \(inputs=\)$",
        ):
            expand(["a", "b"], np.ones((2, 9)), self.grammar, self.layers, options=SpaceOptions())

    def test_unknown_pool(self):
        with pytest.raises(OptionError, match=r"^pool is 'loose'; give cumulative or strict$"):
            expand(["a"], None, self.grammar, self.layers, "loose", options=SpaceOptions())

    @pytest.fixture(autouse=True)
    def holding_nothing(self, monkeypatch):
        monkeypatch.setattr(_limits, "read_resident_bytes", lambda: 0)

    def refused(self, *arguments, max_bytes):
        tracemalloc.start()
        try:
            with pytest.raises(MemoryLimitError) as caught:
                expand(*arguments, max_bytes=max_bytes, options=SpaceOptions())
            return str(caught.value), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_too_many_candidates(self):
        names = [f"x{place}" for place in range(4000)]
        message, peak = self.refused(names, None, self.grammar, self.layers, max_bytes=50_000_000)
        assert re.fullmatch(
            r"a layer of 16,004,000 candidates would take this process to 1\d\d\.\d MB, "
            r"0\.0 kB of them held already; 50\.0 MB are allowed: use fewer operators, leave out inputs "
            r"\(exclude=\), or raise max_ram= to at least 1\d\dMB",
            message,
        )
        assert peak < 50_000_000

    def test_too_large_a_pool(self, rng):
        names, columns = [f"x{place}" for place in range(100)], rng.normal(size=(100, 500))
        message, peak = self.refused(names, columns, self.grammar, self.layers, max_bytes=50_000_000)
        assert message == (
            "a pool of 10,200 features after layer 1 would take this process to 85.3 MB, "
            "0.0 kB of them held already; 50.0 MB are allowed: use fewer operators, inputs or layers, prune "
            "the pool between layers with pool_size=200, or raise max_ram= to at least 86MB"
        )
        assert peak < 50_000_000

    def test_a_sieve_is_suggested_where_300_bytes_a_feature_and_100_megabytes_fit(self, rng, monkeypatch):
        asked = []
        monkeypatch.setattr(generation, "has_memory_for", lambda n_bytes, _: asked.append(n_bytes) or True)
        names, columns = [f"x{place}" for place in range(100)], rng.normal(size=(100, 500))
        message, _ = self.refused(names, columns, self.grammar, self.layers, max_bytes=50_000_000)
        assert "use search='sieve', which holds no pool" in message
        assert asked == [estimate_block_bytes(500) + 100_000_000 + 300 * (100 + 10_200)]

    def test_a_count_is_refused_before_the_pool_of_the_too_long_layer_is_made(self, rng, monkeypatch):
        made = []
        append_layer = generation.append_layer
        monkeypatch.setattr(
            generation, "append_layer", lambda *args, **given: made.append(1) or append_layer(*args, **given)
        )
        names = [f"x{place}" for place in range(60)]
        for columns, n_made in ((None, 0), (rng.normal(size=(60, 20)), 1)):
            message, _ = self.refused(names, columns, self.grammar, self.layers, max_bytes=60_000_000)
            assert message.startswith("a layer of 13,838,460 candidates would take this process to ")
            assert len(made) == n_made

    @pytest.mark.slow
    def test_large_amounts_are_told_in_gigabytes(self):
        names, grammar = [f"x{place}" for place in range(20_000)], load_grammar("basic")
        message, _ = self.refused(names, None, grammar, grammar.resolve_layers("b"), max_bytes=1_000_000_000)
        assert re.match(
            r"a layer of 1,200,020,000 candidates would take this process to 1\.\d GB, .* 1\.0 GB are",
            message,
        )
        assert re.search(r"or raise max_ram= to at least 1\.\dGB$", message)


@pytest.mark.parametrize("with_values", [True, False])
def test_growing_takes_no_more_memory_than_predicted(with_values, rng, monkeypatch):
    predicted = []
    for module in (generation, generation):
        monkeypatch.setattr(module, "check_memory", lambda needed, *_: predicted.append(needed))
    names, grammar = [f"x{place}" for place in range(12)], load_grammar("ablation")
    columns = rng.normal(size=(12, 100)) if with_values else None
    tracemalloc.start()
    try:
        expand(names, columns, grammar, grammar.resolve_layers("bbu"), options=SpaceOptions())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(predicted) / 3 <= peak <= max(predicted)


@pytest.mark.parametrize("binary", ["add,mul", "mul,add"])
def test_of_equally_simple_twins_the_one_that_rules_leave_free_is_kept(binary, rng):
    grammar = replace(
        load_grammar("basic"), forbid={"sin": frozenset({"add"})}, forbid_within={}, constants=(2,)
    )
    layers = grammar.resolve_layers(f"b[{binary}] u[sin]")
    space = expand(["x"], rng.uniform(0.0, 5.0, (1, 30)), grammar, layers, options=SpaceOptions())
    found = formulas(space, numbers_kept(space))
    assert {"sin(2*x)", "sin(x*2)"} & set(found)  # x + x is as simple, but sin may not have a sum inside


def test_copies_that_column_rules_open_to_different_operators_are_both_kept(rng):
    grammar = replace(
        load_grammar("basic"), forbid={}, forbid_within={}, max_range={}, columns={"sin": frozenset({"b"})}
    )
    x = rng.uniform(0.0, 5.0, 30)
    space = expand(
        ["a", "b"], np.array([x, x]), grammar, grammar.resolve_layers("u[sin]"), options=SpaceOptions()
    )
    assert formulas(space, numbers_kept(space)) == ["a", "b", "sin(b)"]


def test_a_sum_that_varies_by_the_rounding_of_its_larger_terms_is_constant():
    step = 80 * 2.0**-52  # more than the tolerance of terms of 1/2, less than that of 1
    for row, n_constant in ((1.0 + step, 1), (1.0 + 2.0 * step, 0)):
        columns = np.array([[1.0, 100.0, row], [-0.5, -99.5, -0.5]])
        grammar = load_grammar("basic")
        space = expand(["a", "b"], columns, grammar, grammar.resolve_layers("b[add]"), options=SpaceOptions())
        assert streamed(space)[1][CandidateStatus.CONSTANT] == n_constant


def test_one_row_of_huge_terms_does_not_make_a_difference_constant(rng):
    x, y = rng.normal(size=(2, 30))
    x[4] = y[4] = 1e20
    space = grown("b[sub]", np.array([x, y]))
    assert "x - y" in formulas(space, streamed(space)[0])


@pytest.mark.parametrize("layers", ["b[prod,mul]", "b[prod,mul] u[neg]", "b[prod,mul] b[prod,mul]"])
def test_a_candidate_without_values_stands_for_no_twin(layers, rng):
    # y/(1/x) is x·y by algebra and cheaper, but undefined where x is 0
    operators = OPERATORS | {"prod": define_operator("prod", "y/(1/x)", OPERATORS, cost=0)}
    x, y = rng.uniform(0.5, 2.0, (2, 30))
    x[3] = 0.0
    space = grown(layers, np.array([x, y]), operators=operators)
    assert "x*y" in formulas(space, streamed(space)[0])
    assert space.layer_counts[1].n_excluded[CandidateStatus.UNDEFINED] >= 1


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_every_candidate_is_accounted_for(problem):
    space = expanded(problem)
    _, lost = streamed(space)
    counts = list(space.layer_counts)
    before = 0
    for count in counts:
        pruned = sum(count.n_excluded.values())
        extra = len(space.user_formulas.expressions) if count is counts[-1] else 0
        assert count.n_features == before + extra + count.n_generated - pruned
        before = count.n_features if problem.pool_kind == "cumulative" else 0
    assert space.size - sum(lost.values()) == len(streamed(space)[0])
