from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from helpers.expansion_oracles import expand_by_hand, problems
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import symscreen
from symscreen.backends import Threads
from symscreen.config.screen_options import ScreenOptions
from symscreen.data import read_dataset
from symscreen.errors import FormulaError, OptionError
from symscreen.expansion import EXCLUSION_REASONS, CandidateStatus, generation
from symscreen.expansion.nodes import build_expression
from symscreen.expansion.validity import is_equal_to_rounding
from symscreen.explain import EXPLANATION_STATUSES
from symscreen.explain.explain import explain_formula
from symscreen.explain.explanation import _FORMATTERS, format_explanation
from symscreen.explain.feature_lookup import find_by_key, generate_with_prunings
from symscreen.explain.missing import is_reachable
from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.expressions.tree import Constant, apply_operator, parse_expression
from symscreen.screeners import SCREENERS
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.task import ScreeningTask

WORDS = {
    CandidateStatus.FORBIDDEN: "forbidden",
    CandidateStatus.TOO_COMPLEX: "too complex",
    CandidateStatus.CONSTANT: "constant",
    CandidateStatus.UNDEFINED: "undefined",
    CandidateStatus.WIDE_RANGE: "forbidden",
}


def grown_of(problem):
    columns = dict(zip(problem.names, problem.columns, strict=True))
    task = ScreeningTask(
        dataset=read_dataset(columns, y=np.array([3.0, -1.0, 2.0, 7.0, 5.0, 4.0])),
        grammar=problem.grammar,
        layers=problem.grammar.resolve_layers(problem.layers),
        screeners=(SCREENERS["t0"],),
        backend=Threads(1),
        options=ScreenOptions(pool=problem.pool_kind, prescreen=100, chunk_size=1 << 14),
        formulas=problem.also,
    )
    return generate_with_prunings(task)


@settings(max_examples=25)
@given(problems())
def test_every_candidate_that_was_left_out_gets_its_reason(problem):
    grown = grown_of(problem)
    space = grown.space
    pruned = np.flatnonzero(space.statuses != CandidateStatus.KEPT)[:25]
    for candidate in pruned.tolist():
        formula = space.build_expression(space.n_materialized + candidate)
        if isinstance(formula, Constant):  # an `id` of one
            continue
        found = explain_formula(formula, grown)
        if found.status in {"ranked", "duplicate"}:
            assert found.found_as
            continue
        fate = CandidateStatus(space.statuses[candidate])
        if fate is CandidateStatus.CONSTANT and np.isnan(evaluate_expression(formula, grown.columns)).any():
            assert found.status == "undefined"  # x/0 - x/0 is both
            continue
        if found.status == "excluded":  # the rule is one on an operator that leaves no trace in the text
            assert found.rule == EXCLUSION_REASONS[fate]
            continue
        assert found.status == WORDS[fate], str(formula)


@pytest.mark.parametrize("status", EXCLUSION_REASONS)
def test_a_status_that_nothing_else_explains_is_named_by_its_reason(frame, status):
    options = ScreenOptions(layers="b", binary="mul", target="target")
    generated = generate_with_prunings(prepare_screen(frame, None, options))
    asked = parse_expression("x1*x2")
    space = generated.space
    (number,) = find_by_key(space, compute_key(asked), generated.task.backend).features
    space.statuses[number - space.n_materialized] = status
    found = explain_formula(asked, generated)
    assert (found.status, found.rule) == ("excluded", EXCLUSION_REASONS[status])
    text = format_explanation(found, generated.task)
    assert text == f"x1*x2 is not in the space: {EXCLUSION_REASONS[status]}."


@pytest.mark.parametrize("pool", ["cumulative", "strict"])
def test_a_part_that_an_earlier_layer_leaves_out_is_named_with_the_reason(frame, monkeypatch, pool):
    excluded = np.array(compute_key(parse_expression("x1*x2")), dtype=np.uint64)
    filter_layer = generation.filter_layer

    def filter_and_exclude(pool, *args, **options):
        candidates, statuses, carried_over = filter_layer(pool, *args, **options)
        codes, left, right = candidates.locate(np.arange(candidates.total))
        for number, (code, *arguments) in enumerate(zip(codes, left, right, strict=True)):
            parts = [build_expression(pool.symbols, pool.all_nodes, pool.member_nodes[i]) for i in arguments]
            formula = apply_operator(pool.symbols.operators[code], *parts)
            if (np.array(compute_key(formula), dtype=np.uint64) == excluded).all():
                statuses[number] = CandidateStatus.FORBIDDEN
        return candidates, statuses, carried_over

    monkeypatch.setattr(generation, "filter_layer", filter_and_exclude)
    options = {"layers": "b[add,mul] b[add]", "pool": pool}
    found = symscreen.why(frame, "x1*x2 + (x1 + x3)", target="target", **options)
    reason = EXCLUSION_REASONS[CandidateStatus.FORBIDDEN]
    assert (found.status, found.part, found.layer, found.rule) == ("excluded", "x1*x2", 1, reason)
    assert f"its part x1*x2 was left out of layer 1 ({reason})" in found.text
    deeper = symscreen.why(frame, "x1*x2*x3*x1*x2 + x3", target="target", **options)
    assert deeper.status == "not generated"


def test_every_status_has_a_text():
    assert set(_FORMATTERS) == set(EXPLANATION_STATUSES)


@st.composite
def asked_of(draw, problem):
    """Draw a formula that a problem's layers could write, whatever bars it."""
    pool = [parse_expression(f"`{name}`") for name in problem.names] + [
        Constant(value) for value in problem.grammar.constants
    ]
    for layer in problem.grammar.resolve_layers(problem.layers):
        operator = draw(st.sampled_from(layer.operators))
        pool.append(apply_operator(operator, *(draw(st.sampled_from(pool)) for _ in range(operator.arity))))
    return pool[-1]


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data())
def test_a_formula_that_the_layers_could_write_gets_the_answer_of_brute_force(data):
    problem = data.draw(problems())
    asked = data.draw(asked_of(problem))
    grown = grown_of(problem)
    assume(not isinstance(asked, Constant))
    found = explain_formula(asked, grown)
    items, _ = expand_by_hand(problem)
    values = evaluate_expression(asked, problem.by_name)[None]
    by_key = [item for item in items if item.key == compute_key(asked)]
    columns = [vars(item)["values"][None] for item in items]
    by_value = any(is_equal_to_rounding(column, values)[0] for column in columns)
    assert found.status in EXPLANATION_STATUSES
    assert (found.status == "ranked") == bool(by_key)
    if not by_key:
        assert (found.status == "duplicate") == by_value
    if is_reachable(asked, grown.task.layers, problem.grammar.constants, problem.pool_kind):
        assert found.status != "not generated", str(asked)


@pytest.fixture
def small(rng):
    """Rows of a grid, so that many features tie, split ties by rounding, or have the same ranks."""
    grid = np.array(list(itertools.product([1.0, 2.0, 3.0, 4.0, 6.0], [1.0, 2.0, 3.0, 5.0])))
    y = grid[:, 0] * grid[:, 1] + rng.normal(0, 2, 20)
    return pd.DataFrame({"a": grid[:, 0], "b": grid[:, 1], "y": y})


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"layers": "ub", "unary": "log,inv,neg", "binary": "add,mul"},
        {"layers": "ub", "unary": "log,inv", "binary": "sub", "sign": "positive"},
        {"layers": "bu", "unary": "log,square", "binary": "sub,mul", "screener": "pearson,t0"},
        {"layers": "bu", "unary": "id,exp", "binary": "mul", "screener": "xi", "pool": "strict"},
    ],
)
def test_every_feature_has_the_rank_that_a_screen_gives_it(small, options):
    options = options | {"max_correlation": 1, "p_values": False}
    every = symscreen.screen(small, top="all", **options)
    classes = symscreen.screen(small, top=10**6, **options)
    rows = every.table.to_dict("records")
    shown = dict(zip(classes.table["expression"], classes.table["rank"], strict=True))
    stood_for = {}
    for row in rows[:: max(1, len(rows) // 15)]:
        alone = symscreen.why(small, row["expression"], top="all", **options)
        assert (alone.status, alone.match, alone.rank) == ("ranked", "same", row["rank"])
        assert alone.n_features == every.n_scored
        assert alone.scores == pytest.approx({name: row[name] for name in alone.scores}, abs=1e-15)
        assert {1: "+", -1: "-", 0: ""}[alone.direction] == row["direction"]
        found = symscreen.why(small, row["expression"], top=3, **options)
        assert found.rank == shown[found.representative]
        if row["expression"] in shown:
            assert found.representative == row["expression"]
        stood_for.setdefault(found.representative, found.class_size)
    sizes = dict(zip(classes.table["expression"], classes.table["class_size"], strict=True))
    assert all(sizes[name] == size for name, size in stood_for.items())


@pytest.mark.slow
def test_a_rank_does_not_depend_on_threads_and_chunks(frame):
    plain = symscreen.why(frame, "x1*x2 + x1", layers="bb")
    assert plain == symscreen.why(frame, "x1*x2 + x1", layers="bb", jobs=1, chunk_size=7)
    turned = symscreen.why(frame[::-1][["x3", "target", "x1", "x2"]], "x1*x2 + x1", layers="bb")
    assert plain.text == turned.text


def first_line(found):
    return found.text.splitlines()[0]


def test_a_formula_is_found_as_its_equal_by_algebra(frame):
    found = symscreen.why(
        frame,
        "x1*(x2 + x3)",
        layers="bb",
        unary="id",
        binary="mul,add",
        also="x1*x2+x1*x3",
        max_correlation=1,
    )
    assert (found.status, found.match) == ("ranked", "algebra")
    assert found.found_as == "x1*x2 + x1*x3"
    assert first_line(found).startswith("x1*(x2 + x3) is in the space as x1*x2 + x1*x3: rank ")


def test_a_formula_with_the_values_of_another_is_its_duplicate(frame):
    frame["total"] = frame.x1 + frame.x2
    asked = {"target": "target", "layers": "ub", "unary": "sin", "binary": "mul"}
    found = symscreen.why(frame, "sin(x1 + x2)", **asked, max_correlation=1)
    assert (found.status, found.match, found.found_as) == ("duplicate", "values", "sin(total)")
    screened = symscreen.screen(frame, **asked, top="all")
    assert found.rank <= len(screened)
    assert first_line(found).startswith("sin(x1 + x2) has the values of sin(total) on these data: rank ")


@pytest.mark.parametrize(
    ("formula", "options", "missing", "layers"),
    [
        ("x1*x2 + x1*x3", {"layers": "b"}, ((), (), ()), "bb"),
        ("exp(x1*x2)", {"layers": "ub"}, ((), (), ()), "bu"),
        ("exp(x1*x2)", {"layers": "u"}, ((), (), ()), "bu"),
        ("tanh(x1)", {"layers": "u"}, (("tanh",), (), ()), "u"),
        ("tanh(x1 + 3)", {"layers": "u"}, (("tanh",), (3,), ()), "bu"),
        ("x1*x2", {"layers": "ub", "exclude": ["x2"]}, ((), (), ("x2",)), ""),
        ("x1", {"layers": "b", "pool": "strict"}, (("id",), (), ()), "u"),
    ],
)
def test_what_was_not_generated_is_told_with_what_is_missing(frame, formula, options, missing, layers):
    found = symscreen.why(frame, formula, **options)
    assert found.status == "not generated"
    told = (found.missing_operators, found.missing_constants, found.missing_inputs)
    assert (told, found.layers) == (missing, layers)
    if layers and not any(missing):
        assert f"layers={layers!r}" in first_line(found)
        assert symscreen.why(frame, formula, **options | {"layers": layers}).status in {"ranked", "redundant"}


@pytest.mark.parametrize(
    ("formula", "layers", "suggestion", "suggested"),
    [
        ("tanh(x1) + x2", "ub", "with_operators=['tanh'] generates it.", {}),
        (
            "cos(tanh(x1) + x2)",
            "u",
            "with_operators=['cos', 'tanh'] and layers='ubu' generate it.",
            {"layers": "ubu"},
        ),
    ],
)
def test_the_options_that_generate_a_formula_of_other_operators_do_so(
    frame, formula, layers, suggestion, suggested
):
    found = symscreen.why(frame, formula, layers=layers, unary="log", binary="add")
    assert found.text.splitlines()[1] == suggestion
    options = {"layers": layers, **suggested, "with_operators": found.missing_operators}
    again = symscreen.why(frame, formula, unary="log", binary="add", **options)
    assert again.status in {"ranked", "redundant"}


def test_as_many_layers_are_no_more(frame):
    found = symscreen.why(frame, "x1 + x2 + x3", layers="ub")
    assert found.text.splitlines() == [
        "x1 + x2 + x3 is not generated: it needs other layers, layers='bb'.",
        "this screen has ub.",
    ]
    longer = symscreen.why(frame, "x1 + x2 + x3", layers="b")
    assert "it needs more layers, layers='bb'." in longer.text
    listed = symscreen.why(frame, "x1 + x2", layers="b[mul]", operators="basic")
    assert listed.text.splitlines() == [
        "x1 + x2 is not generated: it needs layers='b' with all operators.",
        "this screen has b[mul].",
    ]


@pytest.mark.parametrize("operators", ["add,mul", "add,mul,div"])
def test_a_constant_part_comes_before_what_layers_would_mend(frame, operators):
    found = symscreen.why(frame, "exp(x1*x2 + x3/x3)", layers="ub", unary="log,exp", binary=operators)
    assert (found.status, found.part) == ("constant", "x3/x3")
    other = symscreen.why(frame, "exp(x1*x2 + x3 - x3)", layers="ub", unary="log,exp", binary=operators)
    assert other.status in {"constant", "not generated"}


def test_a_row_that_leaves_the_domain_is_shown(frame):
    frame.loc[6, "x1"] = 0.25
    found = symscreen.why(frame, "x2 + log(x1 - 0.3)", layers="ub")
    assert (found.status, found.part, found.n_undefined_rows, found.example_row) == (
        "undefined",
        "log(x1 - 0.3)",
        1,
        7,
    )
    assert found.argument_values == pytest.approx({"x1 - 0.3": -0.05, "x1": 0.25})
    assert found.text == (
        "x2 + log(x1 - 0.3) is undefined in 1 of 60 rows: log(x1 - 0.3) is.\n"
        "row 7: x1 - 0.3 = -0.05, x1 = 0.25."
    )


def test_a_huge_number_is_undefined_and_not_computed(frame):
    found = symscreen.why(frame, "9**9**9*x1", layers="b")
    assert (found.status, found.part, found.n_undefined_rows) == ("undefined", "9**9**9", 60)


def test_what_is_constant_is_told(frame):
    frame["k"] = 2.5
    found = symscreen.why(frame, "log(k)", target="target", layers="u")
    assert (found.status, found.part) == ("constant", "k")
    assert symscreen.why(frame, "x1/x1", layers="b").part == "x1/x1"
    whole = symscreen.why(frame, "k*x1", target="target", layers="b")
    assert (whole.status, whole.part, whole.affine_copy) == ("constant", "k", "x1")


def test_the_rule_that_bars_a_formula_is_named(frame):
    found = symscreen.why(frame, "log(x1**2)", layers="uu")
    assert (found.status, found.rule, found.affine_copy) == ("forbidden", "[forbid] log: square", "log(x1)")
    inside = symscreen.why(frame, "sin(x1*cos(x2))", layers="ub")  # of no use to add layers
    assert (inside.status, inside.rule) == ("forbidden", "[forbid_within] sin: cos")


def test_an_argument_of_too_wide_a_range_is_told(frame):
    frame["wide"] = np.linspace(0.0, 20.0, len(frame))
    found = symscreen.why(frame, "exp(wide)", target="target", layers="u")
    assert (found.status, found.rule) == ("forbidden", "[max_range] exp: 10, but the range is 20")
    assert symscreen.why(frame, "exp(x1)", target="target", layers="u").status == "ranked"
    counts = symscreen.screen(frame, target="target", layers="u").record["layers"][-1]["pruned"]
    assert counts["argument of too wide a range"] == 1


def test_a_formula_over_the_cap_is_told_its_complexity(frame):
    found = symscreen.why(frame, "x1*x2*x3", layers="bb", max_complexity=4)
    assert (found.status, found.complexity, found.max_complexity) == ("too complex", 5, 4)


def test_a_part_that_a_cut_took_is_told_with_its_place(frame):
    options = {"layers": "ub", "unary": "sin,exp", "binary": "mul", "pool_size": "u:3"}
    found = symscreen.why(frame, "sin(x3)*x2", **options)
    assert (found.status, found.part, found.layer, found.rank_cutoff) == ("pruned", "sin(x3)", 1, 3)
    one_layer = {"layers": "u", "unary": "sin,exp"}
    for name, place in found.screener_ranks.items():
        alone = symscreen.why(frame, "sin(x3)", screener=name, top="all", **one_layer)
        assert place <= alone.rank
        assert place > 1
    itself = symscreen.why(frame, "sin(x3)", **options)
    assert (itself.status, itself.part, itself.layer) == ("pruned", "sin(x3)", 1)
    assert symscreen.why(frame, "exp(x1)*x2", **options).status in {"ranked", "redundant"}


@pytest.mark.slow
def test_a_joint_screener_that_cuts_is_told_of(frame):
    rng = np.random.default_rng(0)
    noise = frame.assign(**{f"z{place}": rng.normal(size=60) for place in range(6)})
    options = {"target": "target", "layers": "ub", "unary": "sin", "binary": "mul", "prune_by": "lasso"}
    answers = [symscreen.why(noise, f"sin(z{place})*x2", **options) for place in range(6)]
    lost = [found for found in answers if found.status == "pruned"]
    assert lost
    for found in lost:
        assert found.selected == {"lasso": False}
        assert "lasso does not select it." in found.text


def test_what_a_joint_screener_was_not_shown_has_no_rank(frame):
    options = {"layers": "ub", "unary": "sin,square", "binary": "mul,add", "screener": "lasso"}
    found = symscreen.why(frame, "sin(x3)*sin(x3)", prescreen=5, **options)
    assert (found.status, found.rank, found.rank_cutoff) == ("not shown", None, 5)
    assert set(found.screener_ranks) == {"t0", "xi"}
    assert min(found.screener_ranks.values()) > 1
    assert first_line(found).startswith("sin(x3)*sin(x3) is not on the shortlist of lasso")


@pytest.mark.slow
def test_what_a_joint_screener_was_shown_has_the_rank_of_the_screen(frame):
    options = {"layers": "u", "unary": "sin,square,log", "screener": "lasso,t0"}
    table = symscreen.screen(frame, top=100, **options).table
    for row in table.to_dict("records"):
        found = symscreen.why(frame, row["expression"], top=2, **options)
        assert (found.status, found.rank) == ("ranked", row["rank"])
        assert found.scores == pytest.approx({"lasso": row["lasso"], "t0": row["t0"]})
        assert found.selected["lasso"] == row["lasso_selected"]


def test_a_joint_screener_beside_tells_what_it_says(frame):
    asked = {"layers": "u", "screener": "t0,lasso", "prescreen": 10, "max_correlation": 1}
    found = symscreen.why(frame, "x1**2", **asked)
    assert found.status == "ranked"
    assert set(found.scores) == {"t0", "lasso"}


@pytest.mark.slow
@pytest.mark.parametrize("search", ["sieve", "race"])
def test_what_a_search_dropped_is_told_with_its_place(frame, search, monkeypatch):
    monkeypatch.setattr("symscreen.screening.search.modes._MIN_SURVIVORS", 8)
    monkeypatch.setattr("symscreen.screening.search.modes._SURVIVORS_PER_CLASS", 1)
    options = {"layers": "ubb", "unary": "sin,square", "binary": "mul,add,sub", "top": 2}
    best = symscreen.screen(frame, search=search, **options).table.expression[0]
    assert symscreen.why(frame, best, search=search, **options).rank == 1
    answers = [symscreen.why(frame, f"{text}*x2 + sin(x3)", search=search, **options)
               for text in ("sin(x3)", "x3", "sin(x2)")]  # fmt: skip
    dropped = [found for found in answers if found.status == "dropped"]
    assert dropped or search == "race"
    for found in dropped:
        exact = symscreen.why(frame, found.formula, **options | {"top": "all"})
        assert found.screener_ranks["t0"] <= exact.rank
        assert f"dropped by the {search}" in first_line(found)


def test_a_ranking_for_a_response(rng):
    x = rng.normal(size=(30, 2))
    order = np.where(x[:, 0] > 0, "p>q", "q>p")
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "taste": order})
    options = {"ranking": "taste", "layers": "ub", "unary": "sin", "binary": "mul", "max_correlation": 1}
    table = symscreen.screen(frame, top=100, **options).table
    for row in table.head(5).to_dict("records"):
        assert symscreen.why(frame, row["expression"], **options).rank == row["rank"]


def test_of_several_rounds_the_first_is_meant(frame):
    found = symscreen.why(frame, "x1*x2", layers="b", rounds=2)
    assert "of 2 rounds the first is meant" in found.notices
    assert found.rank == symscreen.why(frame, "x1*x2", layers="b").rank


def test_any_column_name_works(frame):
    odd = frame.rename(columns={"x1": "a b", "x2": "λ", "x3": "lambda"})
    found = symscreen.why(odd, "`a b`*`lambda`", layers="b", max_correlation=1)
    assert found.status == "ranked"


def test_mistakes_are_told_in_one_line(frame):
    with pytest.raises(FormulaError, match="there is no column 'x9'"):
        symscreen.why(frame, "x9*x1", layers="b")
    with pytest.raises(FormulaError, match="'target' is the target"):
        symscreen.why(frame, "target*x1", layers="b")
    with pytest.raises(FormulaError, match="character"):
        symscreen.why(frame, "x1*", layers="b")
    with pytest.raises(OptionError, match="why has no option 'layer'; did you mean 'layers'"):
        symscreen.why(frame, "x1", layer="b")
