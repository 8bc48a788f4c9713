"""Rows of fits of SRBench's problems, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

import msgspec

from symscreen.experiments.srbench.records import TrialRow

_ROW = TrialRow(
    problem="I_12_1",
    group="Feynman",
    noise_ratio=0.0,
    seed=1,
    units=False,
    table_seed=0,
    commit="0123456789ab",
    solved=True,
    reason="ratio",
    cause="",
    r2=1.0,
    seconds=2.0,
    stage=None,
    formula="mu*Nn",
    truth="mu*Nn",
)


def make_hit(**fields: Any) -> TrialRow:
    """Make the row of a solved fit."""
    return msgspec.structs.replace(_ROW, **fields)


def make_miss(cause: str = "not found", **fields: Any) -> TrialRow:
    """Make the row of a fit that missed."""
    return msgspec.structs.replace(_ROW, solved=False, cause=cause, reason="neither", **fields)
