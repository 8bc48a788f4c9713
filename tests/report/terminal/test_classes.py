from __future__ import annotations

import io

import pandas as pd

from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.result_tables import build_class_table
from symscreen.screening.class_members import RELATIONS

COLUMNS = ["rank", "class_size", "member", "expression", "complexity", "layer", "direction", "relation"]


def _shown(rows):
    out = io.StringIO()
    print_table(build_class_table(pd.DataFrame(rows, columns=COLUMNS), RELATIONS), out)
    return out.getvalue()


def test_what_is_not_listed_is_counted():
    text = _shown([(1, 1234, 1, "x" * 90, 1, 0, "+", "shown"), (1, 1234, 2, "x**3", 2, 1, "+", "same ranks")])
    assert max(map(len, text.splitlines())) <= 80
    assert "2 of 1,234 members are listed" in text
    assert "same ranks: the same order of the rows." in text
    assert "mirrored" not in text


def test_nothing_shown_is_said():
    assert _shown([]) == "no equivalence class is shown.\n"
