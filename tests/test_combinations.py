"""Options together: each pair against what the options come to by hand, or a line that refuses it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers.requirements import require

import symscreen
from symscreen.cli.command import command
from symscreen.errors import FormulaError, InputError, OptionError, OutputError
from symscreen.expressions.traversal import collect_columns
from symscreen.expressions.tree import Call, parse_expression
from symscreen.messages import COMMAND_LINE, render_message
from symscreen.results.ranking_files import write_ranking

SPACE = {"layers": "b", "binary": "add,mul", "jobs": 1}
KINDS = {
    "numeric": {"target": "y"},
    "classes": {"target": "level"},
    "several": {"target": ["a", "b"]},
    "survival": {"target": "time", "event": "died"},
    "stages": {"stages": ["viewed", "liked"]},
    "ranking": {"ranking": "taste"},
}
USED = {
    "numeric": ["y"], "classes": ["level"], "several": ["a", "b"], "survival": ["time", "died"],
    "stages": ["viewed", "liked"], "ranking": ["taste"],
}  # fmt: skip


@pytest.fixture
def every(rng):
    """A table with a response of each kind, and two columns of categories."""
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (80, 2)), columns=["x1", "x2"])
    frame["c"], frame["site"] = rng.choice(["p", "q", "r"], 80), rng.integers(0, 16, 80)
    z = np.where(frame.c == "p", frame.x1 + frame.x2, frame.x2) + rng.normal(0, 0.1, 80)
    seen = rng.uniform(0.5, 4.0, 80)
    return frame.assign(
        y=z,
        level=np.array(["low", "middle", "high"])[np.digitize(z, [1.0, 1.8])],
        a=z + rng.normal(0, 0.1, 80),
        b=3 - z**2,
        time=np.minimum(z.clip(0.1), seen),
        died=z <= seen,
        viewed=(z > 0.8).astype(float),
        liked=(z > 1.6).astype(float),
        taste=np.where(z > 1.4, "p>q", "q>p"),
    )


def _of(every, kind, *, gates=True):
    """The columns that one kind of response needs; the inputs' gates written out where categories are not."""
    own = every[["x1", "x2", "c", *USED[kind]]]
    return own if gates else _written_out(own)


def _written_out(frame):
    """What `--categorical c` comes to, by hand."""
    open_ = {level: (frame.c == level).astype(float) for level in "pqr"}
    gates = {f"{x}·1[c = {level}]": frame[x] * open_[level] for x in ("x1", "x2") for level in "pqr"}
    return frame.drop(columns="c").assign(**gates)


def _bytes(result):
    record = {name: value for name, value in result.record.items() if name not in {"options", "data"}}
    return json.dumps(record), result.table.to_csv()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_categories_are_their_written_out_columns_whatever_the_response(every, kind):
    found = symscreen.screen(_of(every, kind), **KINDS[kind], **SPACE, categorical="c", top="all")
    plain = symscreen.screen(_of(every, kind, gates=False), **KINDS[kind], **SPACE, top="all")
    assert _bytes(found) == _bytes(plain)
    assert "1[c = " in found.table.expression[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_why_ranks_whatever_the_response_and_its_options(every, kind, tmp_path):
    frame = _of(every, kind)
    options = {**SPACE, "categorical": "c", "layers": "b", "max_correlation": 1}
    table = symscreen.screen(frame, **KINDS[kind], **options, top=500).table
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = [f"--{name}" for name in KINDS[kind]]
    given = [value if isinstance(value, str) else ",".join(value) for value in KINDS[kind].values()]
    line = [part for pair in zip(asked, given, strict=True) for part in pair]
    for row in table.iloc[:: len(table) // 5].to_dict("records"):
        found = symscreen.why(frame, row["expression"], **KINDS[kind], **options)
        assert (found.status, found.rank) == ("ranked", row["rank"])
        assert found.direction == {"+": 1, "-": -1, "": 0}[row["direction"]]
        assert found.scores["t0"] == pytest.approx(row["t0"], abs=1e-15)
        done = CliRunner().invoke(
            command,
            ["why", str(tmp_path / "t.csv"), row["expression"], *line, "--categorical", "c", "--layers", "b",
             "--binary", "add,mul", "--max-correlation", "1", "--quiet"],
        )  # fmt: skip
        assert done.output.split() == render_message(found.text, COMMAND_LINE).split()


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"aggregate": "worst"}, {"stage_weight": "last"}])
def test_why_heeds_what_orders_features(every, options):
    kind = "several" if "aggregate" in options else "stages"
    space = {**KINDS[kind], **SPACE, "categorical": "c", "max_correlation": 1}
    table = symscreen.screen(_of(every, kind), **space, **options, top=90).table
    other = symscreen.screen(_of(every, kind), **space, top=90).table
    for row in table.tail(5).to_dict("records"):
        found = symscreen.why(
            _of(every, kind), row["expression"], **KINDS[kind], **SPACE, **options, categorical="c"
        )
        assert found.rank == row["rank"]
    assert kind == "stages" or not table.t0.equals(other.t0)


def test_a_column_of_categories_is_no_input_for_why(every):
    found = symscreen.why(_of(every, "numeric"), "c*x1", **KINDS["numeric"], **SPACE, categorical="c")
    assert (found.status, found.missing_inputs) == ("not generated", ("c",))
    assert found.text.splitlines()[1] == "its levels are inputs: `x1·1[c = p]`."
    by_default = symscreen.why(_of(every, "numeric"), "c*x1", **KINDS["numeric"], **SPACE)
    assert by_default.text.splitlines()[1] == "its levels are inputs: `c = p`."
    plain = symscreen.why(_of(every, "numeric"), "c*x1", **KINDS["numeric"], **SPACE, inputs=["x1", "x2"])
    assert (plain.status, plain.missing_inputs) == ("not generated", ("c",))
    assert plain.text.endswith("a text column needs categorical=.")


@pytest.mark.parametrize(
    ("kind", "name"), [("several", "b"), ("survival", "died"), ("stages", "liked"), ("numeric", "y")]
)
def test_a_formula_of_the_response_is_refused(every, kind, name):
    with pytest.raises(FormulaError, match=f"'{name}' is .*the target"):
        symscreen.why(_of(every, kind), f"{name}*x1", **KINDS[kind], **SPACE, categorical="c")


def _bh(p):
    """Benjamini and Hochberg's q-values."""
    order = np.argsort(p)
    ratio = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum(np.minimum.accumulate(ratio[::-1])[::-1], 1.0)
    return q


@pytest.mark.slow
def test_a_false_discovery_rate_counts_gates_as_any_feature(every):
    frame = _of(every, "numeric")
    options = {**KINDS["numeric"], **SPACE, "categorical": "c"}
    table = symscreen.screen(frame, **options, p_values=True, top="all").table
    assert len(table) == table["rank"].max()
    q = _bh(table.p_value.to_numpy())
    # a p-value that is told has four digits, rounded up; q-values come from those before
    np.testing.assert_allclose(table.q_value, q, rtol=2e-3)
    options |= {"max_correlation": 1}
    passing = symscreen.screen(frame, **options, fdr=0.05, top=1000).table
    every_class = symscreen.screen(frame, **options, p_values=True, top=1000).table
    assert passing.expression.tolist() == every_class[every_class.q_value <= 0.05].expression.tolist()
    assert 0 < len(passing) < len(every_class)
    asked = {**KINDS["numeric"], **SPACE, "fdr": 0.05, "top": 1000, "max_correlation": 1}
    by_hand = symscreen.screen(_written_out(frame), **asked).table
    pd.testing.assert_frame_equal(passing, by_hand)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"p_values": True, "permutations": 20},
        {"stability": 3, "groups": "site"},
        {"max_correlation": 0.9, "class_members": 3},
        {"intervals": True},
        {"pool_size": 6},
        {"rounds": 2},
        {"search": "sieve"},
        {"search": "race"},
        {"missing": "drop"},
        {"screener": "t0,xi,lasso"},
    ],
    ids=str,
)
def test_what_tells_more_of_a_ranking_takes_gates_for_columns(every, options):
    frame = every[["x1", "x2", "c", "site", "y"]]
    if options == {"missing": "drop"}:
        frame = frame.copy()
        frame.loc[5, "c"] = None
    if "groups" not in options:
        frame = frame.drop(columns="site")
    plain = _written_out(frame)
    if "missing" in options:
        plain.loc[5, [name for name in plain if "1[" in name]] = np.nan
    asked = {"target": "y", **SPACE, "layers": "bb" if "pool_size" in options else "b", "top": 8, **options}
    found, expected = symscreen.screen(frame, categorical="c", **asked), symscreen.screen(plain, **asked)
    assert _bytes(found) == _bytes(expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_near_duplicates_are_left_out_whatever_the_response(every, kind):
    """The oracle takes one feature after the other, unless one taken correlates by rank with it.

    A simpler feature may stand in the list for one that the oracle takes.
    """
    frame, cap = _of(every, kind), 0.9
    options = {**KINDS[kind], **SPACE, "categorical": "c"}
    whole = symscreen.screen(frame, **options, top=1000, max_correlation=1)
    values = whole.transform(frame).rank().to_numpy().T
    taken = []
    for place in range(len(whole)):
        if all(abs(np.corrcoef(values[place], values[other])[0, 1]) <= cap for other in taken):
            taken.append(place)
    thinned = symscreen.screen(frame, **options, top=7, max_correlation=cap, class_members=2)
    shown = [whole.table.expression.tolist().index(text) for text in thinned.table.expression]
    assert shown == sorted(shown)
    assert len(shown) == len(taken[:7])
    near = np.abs(np.corrcoef(values))
    assert near[np.ix_(shown, shown)][np.triu_indices(len(shown), 1)].max() <= cap + 1e-9
    assert (near[np.ix_(taken[:7], shown)].max(axis=1) > cap).all()
    listed = symscreen.classes(thinned)
    assert listed.expression[listed.member == 1].tolist() == thinned.table.expression.tolist()
    pd.testing.assert_frame_equal(symscreen.classes(thinned, frame, class_members=2), listed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_takes_up_any_response_with_categories(every, kind, tmp_path):
    asked = {**KINDS[kind], **SPACE, "layers": "bb", "categorical": "c", "top": 6, "chunk_size": 50}
    if kind == "numeric":
        asked |= {"p_values": True, "permutations": 5, "stability": 1, "categorical_as": "onehot"}
    frame, folder = _of(every, kind), tmp_path / "kept"
    whole = symscreen.screen(frame, **asked)

    def interrupt(standing):
        if standing.n_done > 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        symscreen.screen(frame, **asked, checkpoint=folder, on_progress=interrupt)
    again = symscreen.screen(frame, **asked, checkpoint=folder)
    assert _bytes(again) == _bytes(whole)
    assert again.record["options"]["run"]["resumed_chunks"] > 0
    other = frame.assign(**{name: frame[name].to_numpy()[::-1] for name in USED[kind]})
    with pytest.raises(OutputError, match=r"data\.digest was"):
        symscreen.screen(other, **asked, checkpoint=folder)


@pytest.mark.slow
def test_a_time_limit_with_a_checkpoint_goes_on_to_the_whole(every, tmp_path):
    frame = _of(every, "several")
    asked = {**KINDS["several"], **SPACE, "layers": "bb", "categorical": "c", "top": 6, "chunk_size": 50}
    part = symscreen.screen(frame, **asked, checkpoint=tmp_path / "kept", time_limit=1e-9)
    looked = part.record["partial"]["candidates_looked_at"]
    assert 0 < looked < part.record["partial"]["candidates"]
    done = [looked]
    for _ in range(2):
        part = symscreen.screen(frame, **asked, checkpoint=tmp_path / "kept", time_limit=1e-9)
        done.append(part.record["partial"]["candidates_looked_at"])
    assert done == sorted(set(done))
    whole = symscreen.screen(frame, **asked, checkpoint=tmp_path / "kept", time_limit="1h")
    assert _bytes(whole) == _bytes(symscreen.screen(frame, **asked))


def test_figures_of_a_partial_screen_count_what_was_looked_at(every):
    options = {**KINDS["numeric"], **SPACE, "categorical": "c", "top": "all", "chunk_size": 30}
    part = symscreen.screen(_of(every, "numeric"), **options, p_values=True, time_limit=1e-9)
    whole = symscreen.screen(_of(every, "numeric"), **options, p_values=True)
    assert "partial" in part.record
    assert 0 < part.n_scored < whole.n_scored
    assert len(part) == part.n_scored
    np.testing.assert_allclose(part.table.q_value, _bh(part.table.p_value.to_numpy()), rtol=2e-3)
    alone = dict(zip(whole.table.expression, whole.table.p_value, strict=True))
    assert [alone[text] for text in part.table.expression] == part.table.p_value.tolist()


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("several", {"stability": 3}, "stability= requires a numeric target"),
        ("classes", {"stability": 3}, "stability= requires a numeric target"),
        ("several", {"fdr": 0.1}, "fdr=0.1 is not available: the target is several targets"),
        ("survival", {"p_values": True}, "p_values= is not available: the target is a time"),
        ("several", {"intervals": True}, "intervals= .*numeric"),
        ("several", {"rounds": 2}, "in one round"),
        ("numeric", {"time_limit": 5, "stability": 3}, "time_limit= cannot be combined with stability="),
        ("numeric", {"checkpoint": "kept", "categorical": "x1,x2"}, "has no column 'x1,x2'"),
        ("survival", {"categorical": "died"}, "'died' is in categorical= and has another role"),
        ("stages", {"categorical": ["liked"]}, "'liked' is in categorical= and has another role"),
    ],
    ids=str,
)  # fmt: skip
def test_what_has_no_meaning_is_refused_in_a_line(every, kind, options, says):
    with pytest.raises(InputError, match=says) as told:
        symscreen.screen(_of(every, kind), **KINDS[kind], **SPACE, **options)
    assert "\n" not in str(told.value)


# Units


DIMENSIONS = {"mass": (1, 0), "speed": (0, 1), "pace": (0, 1)}
UNITS = {"mass": "g", "speed": "km/h", "pace": "m/s"}
FACTORS = {"mass": 1e-3, "speed": 1 / 3.6, "pace": 1.0}


@pytest.fixture
def bodies(rng):
    require("pint")
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (60, 3)), columns=list(DIMENSIONS))
    frame["kind"] = rng.choice(["p", "q"], 60)
    noise = rng.normal(0, 0.01, 60)
    return frame.assign(y=np.where(frame.kind == "p", frame.mass * frame.speed, frame.pace) + noise)


def _dimension(expression):
    """The dimension of a sum or product of columns and gates; None where it has none."""
    if isinstance(expression, Call):
        one, other = map(_dimension, expression.arguments)
        if one is None or other is None:
            return None
        if expression.operator.name == "mul":
            return tuple(np.add(one, other).tolist())
        return one if one == other else None
    name = expression.name.split("·")[0]
    return DIMENSIONS.get(name, (0, 0))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["gate", "onehot"])
@pytest.mark.parametrize("layers", ["b", "bb"])
def test_units_of_gates_are_those_of_what_passes(bodies, how, layers):
    """The oracle is the screen without units of the columns in base units, without what has no dimension."""
    options = {"layers": layers, "binary": "add,mul", "top": "all", "jobs": 1, "max_complexity": 6}
    categories = {"categorical": "kind", "categorical_as": how}
    found = symscreen.screen(bodies, **options, **categories, units=UNITS)
    base = bodies.assign(**{name: bodies[name] * factor for name, factor in FACTORS.items()})
    plain = symscreen.screen(base, **options, **categories)
    sound = {
        text: t0
        for text, t0, one in zip(plain.table.expression, plain.table.t0, plain.expressions, strict=True)
        if _dimension(one) is not None
    }  # fmt: skip
    mine = dict(zip(found.table.expression, found.table.t0, strict=True))
    assert mine.keys() <= sound.keys()
    assert mine == {text: pytest.approx(sound[text], abs=1e-9) for text in mine}
    # of formulas that are equal up to algebra or rounding another may stand for one that has no unit
    if layers == "b":
        assert mine.keys() == sound.keys()
    units = {"kg", "m/s", "1", "kg*m/s"}
    assert units <= set(found.table.unit) | {"1"}
    computed, by_hand = found.transform(bodies.head(9)), plain.transform(base.head(9))
    for name in list(mine)[::7]:
        np.testing.assert_allclose(computed[name], by_hand[name], rtol=1e-12)


def test_a_bundle_of_gates_with_units_computes_the_same(bodies, tmp_path):
    options = {"layers": "b", "binary": "add,mul", "top": 5, "categorical": "kind", "units": UNITS}
    result = symscreen.screen(bodies, **options, target_units="kg*m/s")
    assert set(result.table.unit) == {"kg*m/s"}
    bodies.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "units.json").write_text(json.dumps(UNITS))
    line = ["--layers", "b", "--binary", "add,mul", "--top", "5", "--categorical", "kind", "--quiet"]
    line += ["--units", str(tmp_path / "units.json"), "--target-units", "kg*m/s"]
    bundle = str(tmp_path / "b.json")
    CliRunner().invoke(command, ["screen", str(tmp_path / "t.csv"), *line, "--bundle", bundle])
    applied = symscreen.apply_bundle(bundle, bodies)
    np.testing.assert_array_equal(applied.to_numpy(), result.transform(bodies).to_numpy())
    assert any("·1[kind = " in name for name in applied)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_a_file_with_gates_and_units_is_read_back_and_its_classes_listed(bodies, tmp_path, ending):
    options = {"layers": "b", "binary": "add,mul", "top": 6, "categorical": "kind", "units": UNITS}
    result = symscreen.screen(bodies, **options)
    path = tmp_path / f"r{ending}"
    write_ranking(result, path)
    stored = symscreen.read_ranking(path)
    assert stored.table.unit.tolist() == result.table.unit.tolist()
    assert stored.table.unit.map(type).eq(str).all()
    bodies.to_csv(tmp_path / "t.csv", index=False)
    done = CliRunner().invoke(command, ["classes", str(path), "--data", str(tmp_path / "t.csv")])
    assert done.exit_code == 0
    assert all(text in done.output for text in result.table.expression)


def test_a_gate_of_degrees_celsius_is_refused(bodies):
    warm = bodies.rename(columns={"mass": "warmth"})
    asked = {"layers": "b", "binary": "mul", "categorical": "kind", "units": {"warmth": "degC"}}
    with pytest.raises(
        OptionError, match=r"'warmth' has the unit degC with an offset, .* give 'warmth' in K"
    ):
        symscreen.screen(warm, **asked)
    found = symscreen.screen(warm, **asked, categorical_as="onehot", top="all")
    name = "`kind = p`*warmth"
    expected = (warm.warmth + 273.15) * (warm.kind == "p")
    np.testing.assert_allclose(found.transform(warm)[name], expected, rtol=1e-14)


def test_formulas_of_ones_own_are_in_base_units_and_must_have_one(bodies):
    base = bodies.assign(**{name: bodies[name] * factor for name, factor in FACTORS.items()})
    plain = {"layers": "b", "binary": "add", "top": "all", "jobs": 1, "categorical": "kind"}
    asked = {**plain, "units": UNITS}
    own = ["mass*speed/pace", "`mass·1[kind = p]`*speed**2", "sqrt(speed*pace)"]
    found = symscreen.screen(bodies, **asked, also=own)
    expected = symscreen.screen(base, **plain, also=own)
    here, there = (one.table.set_index("expression") for one in (found, expected))
    for text in map(str, map(parse_expression, own)):
        assert here.t0[text] == pytest.approx(there.t0[text], abs=1e-12)
        np.testing.assert_allclose(found.transform(bodies)[text], expected.transform(base)[text], rtol=1e-12)
    assert here.unit[str(parse_expression(own[0]))] == "kg"
    with pytest.raises(FormulaError, match=r"also='mass \+ speed' has no unit: .* add requires equal units"):
        symscreen.screen(bodies, **asked, also="mass + speed")
    with pytest.raises(FormulaError, match=r"also=.* has no unit"):
        symscreen.screen(bodies, **asked, also="`mass·1[kind = p]` + speed")
    with pytest.raises(FormulaError, match=r"'mass\*speed' is in kg\*m/s, but target_units='J' requires"):
        symscreen.screen(bodies, **asked, also="mass*speed", target_units="J")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"p_values": True, "permutations": 10},
        {"stability": 2},
        {"max_correlation": 0.95},
        {"pool_size": 8},
        {"target": ["y", "z"]},
        {"target": "level", "screener": "t0,xi"},
    ],
    ids=str,
)
def test_what_tells_more_of_a_ranking_takes_base_units_for_columns(bodies, options):
    """With one dimension for all columns units bar nothing, and the oracle is a plain screen."""
    frame = bodies[["mass", "pace", "speed", "y"]].assign(
        z=bodies.y**2, level=np.where(bodies.y > 1, "p", "q")
    )
    frame = frame[["mass", "pace", "speed", *_targets_of(options)]]
    base = frame.assign(mass=frame.mass / 1000)
    asked = {"layers": "bb", "binary": "mul,div", "top": 6, "jobs": 1, "target": "y", **options}
    found = symscreen.screen(frame, **asked, units={"mass": "g"})
    plain = symscreen.screen(base, **asked)
    assert set(found.table.columns) - set(plain.table.columns) == {"unit"}
    pd.testing.assert_frame_equal(found.table.drop(columns="unit"), plain.table)


def _targets_of(options):
    target = options.get("target", "y")
    return [target] if isinstance(target, str) else target


@pytest.mark.slow
def test_plans_count_what_screens_score(bodies):
    asked = {"layers": "bb", "binary": "add,mul", "categorical": "kind", "units": UNITS}
    found = symscreen.screen(bodies, **asked, top=3)
    planned = symscreen.plan(bodies, **asked)
    assert planned.n_features >= found.n_scored  # what is undefined or constant shows only in values
    gates = {
        f"{x}·1[kind = {level}]": bodies[x] * (bodies.kind == level) for x in DIMENSIONS for level in "pq"
    }
    written_out = bodies.drop(columns="kind").assign(**gates)
    own = UNITS | {name: UNITS[name.split("·")[0]] for name in gates}
    assert (
        symscreen.plan(written_out, layers="bb", binary="add,mul", units=own).n_features == planned.n_features
    )


def test_a_header_with_a_unit_gives_its_gates_one(bodies):
    headed = bodies.rename(columns={"mass": "mass (g)", "speed": "speed (km/h)", "kind": "kind (a, b)"})
    asked = {"layers": "b", "binary": "add,mul", "top": "all", "categorical": "kind (a, b)"}
    found = symscreen.screen(headed, **asked, units="strict")
    told = found.record["units"]["columns"]
    assert told["mass (g)·1[kind (a, b) = p]"] == told["mass (g)"]
    assert all(one.count("kg") <= 2 for one in found.table.unit)
    sums = [one for one in found.expressions if str(one).count(" + ") == 1]
    assert sums
    for one in sums:
        assert len({name.split("·")[0] for name in collect_columns(one)}) == 1
