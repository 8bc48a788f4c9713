"""What tests of fits share: smaller searches for those whose subject is not how much is searched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws import search


@pytest.fixture
def change_effort(monkeypatch):
    """Return a function that changes limits of an effort."""

    def change(name, **limits):
        monkeypatch.setitem(EFFORTS, name, replace(EFFORTS[name], **limits))

    return change


@pytest.fixture
def run_only_stages(monkeypatch):
    """Return a function that leaves out the searches for laws without one of some names."""

    def leave_out_others(*names):
        kept = tuple(stage for stage in search._STAGES if stage.name in names)
        assert len(kept) == len(names)
        monkeypatch.setattr(search, "_STAGES", kept)

    return leave_out_others
