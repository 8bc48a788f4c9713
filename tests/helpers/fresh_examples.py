"""How many examples hypothesis tries, and which.

A property states a number of examples. ``make test`` and ``make test-all`` try a quarter of them, the same
ones on every run. ``make fuzz`` tries five times the number of fresh ones; it prints the seed that repeats
the run.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import is_hypothesis_test, settings

_FUZZ = "fuzz"

# Without a database: a failure is repeated by the seed, and then becomes an @example.
settings.register_profile(_FUZZ, derandomize=False, deadline=None, print_blob=True, database=None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Scale the number of examples of every property, also where a test states its own."""
    factor = _choose_factor(config)
    tests = [item.obj for item in items if is_hypothesis_test(getattr(item, "obj", None))]
    for test in {getattr(each, "__func__", each) for each in tests}:
        own = test._hypothesis_internal_use_settings
        count = max(1, round(factor * own.max_examples))
        test._hypothesis_internal_use_settings = settings(own, max_examples=count)


def _choose_factor(config) -> Fraction:
    """Return by how much the number of examples is multiplied."""
    if config.getoption("--hypothesis-profile") == _FUZZ:
        return Fraction(5)
    return Fraction(1, 4)
