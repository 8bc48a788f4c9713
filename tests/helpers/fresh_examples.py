"""The profile ``fuzz`` of hypothesis: fresh examples, and several times more of them.

``make fuzz`` runs the properties with it and prints the seed that repeats the run.
"""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test, settings

_PROFILE = "fuzz"
_FACTOR = 5

settings.register_profile(_PROFILE, derandomize=False, deadline=None, print_blob=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Multiply the number of examples of every property, also where a test states its own."""
    if config.getoption("--hypothesis-profile") != _PROFILE:
        return
    for test in {item.obj for item in items if is_hypothesis_test(getattr(item, "obj", None))}:
        own = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(own, max_examples=_FACTOR * own.max_examples)
