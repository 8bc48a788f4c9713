import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symscreen
from symscreen.data import read_dataset, read_frame
from symscreen.data.column_selection import choose_inputs

REPEATABLE = settings(deadline=None, derandomize=True)

ROWS = list(range(1, 7))
FRACTIONS = [0.5, 2.5, 1.5, 4.5, 3.5, 9.5]


def numeric(*names):
    return {name: [value * (number + 1) for value in FRACTIONS] for number, name in enumerate(names)}


@pytest.mark.parametrize(
    ("names", "options", "target"),
    [
        ("y label target a", {}, "target"),
        ("y label a", {}, "label"),
        ("y a", {}, "y"),
        ("y a", {"target": "a"}, "a"),
        ("y a", {"exclude": ["y"], "target": "a"}, None),
        ("b y a", {"exclude": ["y"], "target": "b"}, "b"),
        ("Y b a", {}, "a"),
    ],
)
def test_target(refused, names, options, target):
    source = numeric(*names.split())
    if target is None:
        assert refused(source, **options).startswith("the dict has no numeric input left")
        return
    table = read_dataset(source, **options)
    by_default = target not in {"target", "label", "y"} and "target" not in options
    assert table.target.name == target
    assert table.notices == (
        (f"target: the last column, '{target}'; choose another with target=",) if by_default else ()
    )


def test_inputs_and_exclude():
    source = numeric("a", "b", "c", "y")
    assert read_dataset(source).names == ("a", "b", "c")
    assert read_dataset(source, inputs=["c", "a", "c"]).names == ("a", "c")
    assert read_dataset(source, inputs="c").names == ("c",)
    assert read_dataset(source, exclude=["b"]).names == ("a", "c")
    assert read_dataset(source, exclude="b", inputs=["a"]).names == ("a",)


def test_columns_left_out_make_one_notice():
    source = {
        "name": list("pqrstu"),
        "user_id": ROWS,
        "mostly": ["1", "2", "n0", "4", "5", "6"],
        "empty": [None] * 6,
        "when": np.array(ROWS, dtype="datetime64[D]"),
        "wave": np.full(6, 1j),
        "code": list("aabbcc"),
    }
    table = read_dataset(source | numeric("a", "y"))
    assert table.names == ("a", "when: days")
    parts, notice = table.notices
    assert parts.startswith("dates as numbers: 'when: days' (")
    assert notice == (
        "left out: 'name', 'code' (text), 'user_id' (an identifier), "
        "'mostly' (text: 5 of 6 cells are numbers, but row 3 holds 'n0'), 'empty' (no values), "
        "'wave' (complex numbers)"
    )


def test_the_notice_stays_short():
    words = {f"w{number}\n": list("pqrstu") for number in range(1000)}
    (notice,) = read_dataset(words | numeric("a", "y")).notices
    assert notice.endswith(r"'w9\n' and 990 more (text)")
    mixed = {f"m{number}": ["1", "2", "3", "4", f"bad{number}", "5"] for number in range(50)}
    (notice,) = read_dataset(mixed | numeric("a", "y")).notices
    assert notice.endswith("holds 'bad9'), …")


IDENTIFIERS = [
    "id",
    "ID",
    " Id ",
    "",
    "index",
    "row",
    "Row ID",
    "nr",
    "no",
    "key",
    "user_id",
    "Patient ID",
    "Unnamed: 0",
]


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_left_out(name):
    table = read_dataset({name: ROWS} | numeric("a", "y"))
    assert table.names == ("a",)
    assert table.notices == (f"left out: {name!r} (an identifier)",)
    assert read_dataset({name: ROWS} | numeric("a", "y"), inputs=[name]).names == (name,)


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("values", [FRACTIONS, [1, 2, 2, 3, 4, 5]], ids=["fractions", "repeated"])
def test_a_name_alone_makes_no_identifier(name, values):
    assert read_dataset({name: values} | numeric("a", "y")).names == tuple(sorted([name, "a"]))


@pytest.mark.parametrize("name", ["x", "rows", "idx2", "avoid", "humid", "number"])
def test_distinct_integers_alone_make_no_identifier(name):
    assert name in read_dataset({name: ROWS} | numeric("a", "y")).names


@pytest.mark.parametrize(
    "values", [[2**60 + each for each in ROWS], [1, 2, None, 4, 5, 6]], ids=["long", "gap"]
)
def test_long_and_gappy_identifiers(values):
    assert read_dataset({"id": values} | numeric("a", "y")).names == ("a",)


@REPEATABLE
@given(st.permutations(ROWS))
def test_identifiers_do_not_depend_on_row_order(order):
    assert read_dataset({"id": order} | numeric("a", "y")).names == ("a",)


def test_constant_inputs_stay():
    assert read_dataset({"c": [1] * 6} | numeric("a", "y")).names == ("a", "c")


TEXT = {"word": list("pqrstu"), "mostly": ["1", "2", "n0", "4", "5", "6"]} | numeric("height", "b", "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "hight"}, "the dict has no column 'hight' for target=; did you mean 'height'?"),
        ({"inputs": ["b", "hight"]}, "the dict has no column 'hight' for inputs=; did you mean 'height'?"),
        (
            {"exclude": ["q", "r", "s"]},
            ("the dict has no column 'q' for exclude= (nor 2 more); known: word, mostly, height, b, y"),
        ),
        (
            {"target": "word", "target_type": "numeric"},
            (
                "the dict: the target 'word' holds text; "
                "numbers are needed: correct it, or choose another column (target=)"
            ),
        ),
        (
            {"target": "mostly"},
            (
                "the dict: the target 'mostly' holds text: 5 of 6 cells are numbers, but row 3 holds 'n0'; "
                "numbers are needed: correct it, or choose another column (target=)"
            ),
        ),
        (
            {"inputs": ["b", "mostly"]},
            (
                "the dict: the column 'mostly' of inputs= holds text: 5 of 6 cells are numbers, but row 3 "
                "holds 'n0'; numbers are needed: correct it, or take it out of inputs="
            ),
        ),
        (
            {"inputs": ["b", "y"]},
            (
                "the dict: 'y' is both the target and in inputs=: "
                "name another target=, or take it out of inputs="
            ),
        ),
        ({"inputs": ["b"], "exclude": ["b"]}, "the dict: 'b' is in both inputs= and exclude=: keep one"),
        ({"target": "b", "exclude": ["b"]}, "the dict: 'b' is in both target= and exclude=: keep one"),
        ({"exclude": list(TEXT)}, "the dict: exclude= leaves no column for a target: exclude fewer"),
        (
            {"exclude": ["height", "b"]},
            (
                "the dict has no numeric input left: at least one is needed in addition to the target "
                "(left out: 'word' (text), 'mostly' (text: 5 of 6 cells are numbers, but row 3 holds 'n0'))"
            ),
        ),
        (
            {"inputs": []},
            (
                "the dict has no numeric input left: at least one is needed in addition to the target; "
                "give a column of numbers (inputs=), or categorical_as='onehot' for categories alone"
            ),
        ),
    ],
)
def test_choices_that_are_refused(refused, options, message):
    assert refused(TEXT, **options) == message


def test_known_names_stay_on_one_line(refused):
    assert refused(numeric("two\nlines", "y"), target="q").endswith(r"for target=; known: two\nlines, y")


def test_a_text_column_that_only_missing_values_keep_from_being_a_category_is_named_with_the_remedy():
    frame = {"a": [*range(30)], "alloy": [None, *"pqr" * 9, *"pq"], "y": [*range(30)]}
    _, notices = choose_inputs(read_frame(frame), ["y"], None, [])
    assert notices == [
        "left out: 'alloy' (text of 3 levels with 1 missing value: categorical=['alloy'] uses it)"
    ]


def test_rows_that_lack_a_category_are_dropped_with_one_name():
    frame = {"a": [*range(30)], "alloy": [None, *"pqr" * 9, *"pq"], "y": [i % 7 for i in range(30)]}
    result = symscreen.screen(frame, target="y", layers="b", categorical="alloy", binary="add", quiet=True)
    assert result.notices[0].startswith("dropped: 1 row of 30 with missing values (row 1; in 'alloy')")
