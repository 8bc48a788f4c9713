import datetime as dt
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symscreen.data.arrow_columns import convert_arrow_column
from symscreen.data.python_columns import convert_python_column

REPEATABLE = settings(deadline=None, derandomize=True)

NAN = float("nan")


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (pa.array([1, None, 3]), [1, NAN, 3]),
        (pa.array([2**60 + 1, None]), [2.0**60, NAN]),
        (pa.array([2**63 + 5], pa.uint64()), [2.0**63]),
        (pa.array(np.array([1.5, NAN], np.float16), from_pandas=True), [1.5, NAN]),
        (pa.array([True, None, False]), [1, NAN, 0]),
        (pa.array([Decimal("0.1"), None]), [0.1, NAN]),
        (pa.array([3, None, 3]).dictionary_encode(), [3, NAN, 3]),
        (pa.chunked_array([[1, 2], [3]]), [1, 2, 3]),
    ],
)
def test_arrow_numbers(cells, numbers):
    column = convert_arrow_column(cells)
    assert column.is_numeric
    np.testing.assert_array_equal(column.numbers, numbers)


@pytest.mark.parametrize(
    "cells",
    [
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, None], dtype="Float32"),
        pd.Series([1, 2, None], dtype="double[pyarrow]"),
        pd.Series([1, 2, None], dtype=object),
        pd.Series([1, 2, pd.NA], dtype=object),
        pd.Series([True, 2, None], dtype=object),
        pd.Series([1, 2, None], dtype="category"),
        pd.Series(pd.arrays.SparseArray([1, 2, NAN])),
        pd.Series([1, 2, NAN], index=[7, 7, 0]),
        np.ma.array([1, 2, 3], mask=[False, False, True]),
        np.array([1, 2, NAN], dtype=np.longdouble),
        np.array([1, 2, NAN], dtype=">f4"),
        [1, 2, None],
        (1, Fraction(2), NAN),
        [Decimal(1), 2.0, None],
    ],
    ids=lambda cells: f"{type(cells).__name__}-{getattr(cells, 'dtype', '')}",
)
def test_python_numbers(cells):
    column = convert_python_column(cells)
    assert column.is_numeric
    assert column.numbers.dtype == np.float64
    np.testing.assert_array_equal(column.numbers, [1, 2, NAN])


@REPEATABLE
@given(st.lists(st.decimals(-(10**9), 10**9, places=12), min_size=1))
@example([Decimal("-999999999.999999940396"), Decimal("-999999999.999999940397")])
def test_decimals_are_rounded_as_python_rounds_them_and_refused_where_two_become_one(cells):
    column = convert_arrow_column(pa.array(cells, pa.decimal128(38, 12)))
    expected = [float(cell) for cell in cells]
    if len({*expected}) < len({*cells}):
        assert not column.is_numeric
        assert column.kind == "too fine"
        assert "decimals" in column.description
    else:
        assert column.numbers.tolist() == expected


@pytest.mark.parametrize(
    ("cells", "kind", "holds"),
    [
        ([], "empty", "no values"),
        ([None, None], "empty", "no values"),
        ([NAN], "empty", "no values"),
        (pa.array([None], pa.string()), "empty", "no values"),
        (["a", None], "text", "text"),
        (pd.Series(["a", "b"], dtype="category"), "text", "text"),
        (np.array(["a", "b"]), "text", "text"),
        (["1", "2"], "numeric text", "numbers stored as text"),
        (["1", "b", "c"], "text", "text"),
        (
            ["1", "2", None, "c" * 99],
            "numeric text",
            r"text: 2 of 3 cells are numbers, but row 4 holds 'c{30}…c{29}'",
        ),
        (["1", "2", "a\nb"], "numeric text", r"text: 2 of 3 cells are numbers, but row 3 holds 'a\\nb'"),
        (["1,5", "2", None], "numeric text", "text: numbers with a decimal comma, such as '1,5' in row 1"),
        (
            [1, 2.5, "n/a", "?", 3],
            "other",
            r"a mix of Python objects \(float, int, str\): 3 of 5 .* row 3 holds 'n/a'",
        ),
        ([dt.date(2020, 1, 1)], "times", "dates or times"),
        ([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)], "times", "dates or times"),
        ([dt.timedelta(1)], "other", "durations"),
        ([1j], "other", "objects of type complex"),
        (np.array([1j]), "other", "complex numbers"),
        ([[1], [2, 3]], "other", "lists or records"),
        ([b"a"], "other", "values of type binary"),
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), "other", "values of type pandas.period"),
        ([object()], "other", "objects of type object"),
        ([2**2000], "other", "integers beyond the range of floating point"),
        (np.array([(1, 2)], dtype="i4,i4"), "other", "lists or records"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_else_a_column_holds(cells, kind, holds):
    convert = convert_arrow_column if isinstance(cells, pa.Array) else convert_python_column
    column = convert(cells)
    assert not column.is_numeric
    assert column.kind == kind
    assert re.fullmatch(holds, column.description), column.description
    assert (column.numbers is not None) == (kind == "empty")
