from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.screeners import JointInput, JointScores, JointScreener, ScreenerOption
from symscreen.targets import NumericTarget

FOLDS = ScreenerOption("folds", 10, "folds", min_value=2)
SHARE = ScreenerOption("share", 0.5, "a share", min_value=0.0, max_value=1.0)
ENGINE = ScreenerOption("engine", "quick", "who solves", choices=("quick", "exact"))
FREE = ScreenerOption("seeds", 3, "any integer")


def _judge(shown, settings):
    q = len(shown.values)
    return JointScores(
        np.zeros(q), np.zeros(q), np.ones(q, bool), np.zeros(q, np.int8), record={"settings": settings}
    )


def _screener(**changes):
    words = dict.fromkeys(("summary", "assumes", "fails", "cost", "source"), "made up")
    own = {
        "name": "own",
        "score_function": _judge,
        "capacity": lambda rows, settings: settings["folds"] * rows,
        "equivalence": "affine",
        "options": (FOLDS, SHARE, ENGINE),
    }
    return JointScreener(**own | words | changes)


@given(st.integers(2, 10**9))
def test_a_whole_number_is_read_from_text_and_from_itself(number):
    assert FOLDS.parse(number) == FOLDS.parse(str(number)) == number
    assert isinstance(FOLDS.parse(str(number)), int)


@given(st.floats(0, 1))
def test_a_number_is_read_back_to_the_last_bit(number):
    assert SHARE.parse(number) == SHARE.parse(repr(number)) == number


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (FOLDS, "1", "folds is '1'; give an integer of at least 2"),
        (FOLDS, 1.5, "folds is 1.5; give an integer of at least 2"),
        (FOLDS, "many", "folds is 'many'; give an integer of at least 2"),
        (FOLDS, True, "folds is True; give an integer of at least 2"),
        (FOLDS, None, "folds is None; give an integer"),
        (SHARE, "1.01", "share is '1.01'; give a number from 0 to 1"),
        (SHARE, "nan", "share is 'nan'; give a number from 0 to 1"),
        (SHARE, -1e-9, "share is -1e-09; give a number from 0 to 1"),
        (FREE, "x", "seeds is 'x'; give an integer"),
        (ENGINE, "exakt", "engine is 'exakt'; did you mean 'exact'?"),
        (ENGINE, 3, "engine is 3; known: quick, exact"),
    ],
)
def test_what_is_no_setting_is_told_with_what_would_be(option, value, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        option.parse(value)


def test_the_ends_of_a_range_belong_to_it():
    assert [SHARE.parse(value) for value in ("0", "1")] == [0.0, 1.0]
    assert FOLDS.parse(2) == 2
    assert FREE.parse("-7") == -7


def test_settings_are_read_kept_and_added_to():
    plain = _screener()
    some = plain.replace_settings({"folds": "5", "engine": "exact"})
    assert plain.settings == {}
    assert some.settings == {"folds": 5, "engine": "exact"}
    assert some.all_settings == {"folds": 5, "share": 0.5, "engine": "exact"}
    more = some.replace_settings({"folds": 6, "share": "0.25"})
    assert more.all_settings == {"folds": 6, "share": 0.25, "engine": "exact"}
    assert some.all_settings["folds"] == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fold": 5}, "the screener own has no option 'fold'; did you mean 'folds'?"),
        ({"q": 5}, "the screener own has no option 'q'; known: folds, share, engine"),
        ({"folds": 0}, "own: folds is 0; give an integer of at least 2"),
    ],
)
def test_bad_settings_are_told_with_the_screeners_name(given, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        _screener().replace_settings(given)


def test_capacity_and_verdict_follow_the_settings():
    some = _screener().replace_settings({"folds": 5})
    assert _screener().compute_max_features(7) == 70
    assert some.compute_max_features(7) == 35
    shown = JointInput(np.ones((2, 3)), NumericTarget(np.array([1.0, 2.0, 3.0])))
    assert some.score_features(shown).record["settings"] == {"folds": 5, "share": 0.5, "engine": "quick"}
